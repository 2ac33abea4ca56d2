// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/core/status.hpp"

#include "ringcomm/core/result.hpp"
#include "ringcomm/core/text.hpp"

#include <cstdio>
#include <cstdlib>

namespace ringcomm::inline v0 {

std::string_view name_of(StatusCode code) {
  switch (code) {
    case StatusCode::ok:
      return "ok";
    case StatusCode::invalid_argument:
      return "invalid_argument";
    case StatusCode::not_available:
      return "not_available";
    case StatusCode::not_found:
      return "not_found";
    case StatusCode::unreachable:
      return "unreachable";
    case StatusCode::timeout:
      return "timeout";
    case StatusCode::peer_lost:
      return "peer_lost";
    case StatusCode::mismatch:
      return "mismatch";
    case StatusCode::out_of_memory:
      return "out_of_memory";
    case StatusCode::aborted:
      return "aborted";
    case StatusCode::corrupt_data:
      return "corrupt_data";
    case StatusCode::internal:
      return "internal";
  }
  return "unknown";
}

Status::Status(StatusCode code, std::string message) {
  if (code != StatusCode::ok) rep_ = std::make_shared<const Rep>(Rep{code, std::move(message)});
}

std::string Status::to_string() const {
  return is_ok() ? std::string("ok") : concat(name_of(code()), ": ", message());
}

void check(const Status& status) {
  if (status.is_ok()) return;
  std::fprintf(stderr, "ringcomm: %s\n", status.to_string().c_str());
  std::exit(EXIT_FAILURE);
}

}  // namespace ringcomm::inline v0
