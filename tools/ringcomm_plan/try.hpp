// SPDX-License-Identifier: Apache-2.0
// Early return of errors for this program's own code; the library's macros are not public.
#pragma once

#include <utility>

#include "ringcomm/core/result.hpp"

/// Returns from the enclosing function when `expression` (a Status) failed.
#define PLAN_TRY(expression)                                                                        \
  do {                                                                                              \
    if (::ringcomm::Status plan_status_ = (expression); !plan_status_.is_ok()) return plan_status_; \
  } while (false)

#define PLAN_TRY_JOIN_INNER(a, b) a##b
#define PLAN_TRY_JOIN(a, b) PLAN_TRY_JOIN_INNER(a, b)
/// `PLAN_TRY_ASSIGN(const auto split, choose());` declares or returns the Status.
#define PLAN_TRY_ASSIGN(declaration, expression) \
  PLAN_TRY_ASSIGN_INNER(declaration, expression, PLAN_TRY_JOIN(plan_result_, __LINE__))
#define PLAN_TRY_ASSIGN_INNER(declaration, expression, name) \
  auto name = (expression);                                  \
  if (!name.is_ok()) return name.status();                   \
  declaration = std::move(name).value()
