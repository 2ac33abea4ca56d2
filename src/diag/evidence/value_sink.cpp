// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/value_sink.hpp"

#include <charconv>
#include <cmath>

namespace ringcomm::inline v0::diag {

std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> Scalar::as_integer() const {
  if (kind == Kind::integer) return integer;
  if (kind == Kind::text) return integer_of(text);
  constexpr double kExact = 9007199254740992.0;  // 2^53: beyond it a float names no single integer
  if (kind == Kind::number && std::fabs(number) <= kExact && std::floor(number) == number)
    return static_cast<std::int64_t>(number);
  return std::nullopt;
}

}  // namespace ringcomm::inline v0::diag
