// SPDX-License-Identifier: Apache-2.0
// Early return of errors, for .cpp files only: these macros never reach a public header.
#pragma once

#include "ringcomm/core/result.hpp"

#define RINGCOMM_CONCAT_INNER(a, b) a##b
#define RINGCOMM_CONCAT(a, b) RINGCOMM_CONCAT_INNER(a, b)

/// Returns from the enclosing function when `expression` (a Status) failed.
#define RINGCOMM_TRY(expression)                                                     \
  do {                                                                               \
    if (::ringcomm::Status status_ = (expression); !status_.is_ok()) return status_; \
  } while (false)

/// `RINGCOMM_TRY_ASSIGN(auto window, comm.allocate(64));` declares or returns the Status.
#define RINGCOMM_TRY_ASSIGN(declaration, expression) \
  RINGCOMM_TRY_ASSIGN_INNER(declaration, expression, RINGCOMM_CONCAT(result_, __LINE__))
#define RINGCOMM_TRY_ASSIGN_INNER(declaration, expression, name) \
  auto name = (expression);                                      \
  if (!name.is_ok()) return name.status();                       \
  declaration = std::move(name).value()
