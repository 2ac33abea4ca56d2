// SPDX-License-Identifier: Apache-2.0
// Early return of errors for the programs' own code; the library's macros are not public.
#pragma once

#include <utility>

#include "ringcomm/core/result.hpp"

/// Returns from the enclosing function when `expression` (a Status) failed.
#define PERF_TRY(expression)                                                                        \
  do {                                                                                              \
    if (::ringcomm::Status perf_status_ = (expression); !perf_status_.is_ok()) return perf_status_; \
  } while (false)

#define PERF_TRY_JOIN_INNER(a, b) a##b
#define PERF_TRY_JOIN(a, b) PERF_TRY_JOIN_INNER(a, b)
/// `PERF_TRY_ASSIGN(const auto row, measure());` declares or returns the Status.
#define PERF_TRY_ASSIGN(declaration, expression) \
  PERF_TRY_ASSIGN_INNER(declaration, expression, PERF_TRY_JOIN(perf_result_, __LINE__))
#define PERF_TRY_ASSIGN_INNER(declaration, expression, name) \
  auto name = (expression);                                  \
  if (!name.is_ok()) return name.status();                   \
  declaration = std::move(name).value()
