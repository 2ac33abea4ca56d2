// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/record/plain_text.hpp"

#include <cstdint>

namespace ringcomm::inline v0::diag {
namespace {

/// Bytes of the UTF-8 character at the beginning of `text`; 0 where there is none.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t bytes = first < 0x80   ? 1
                            : first < 0xc2 ? 0
                            : first < 0xe0 ? 2
                            : first < 0xf0 ? 3
                            : first < 0xf5 ? 4
                                           : 0;
  if (bytes == 0 || bytes > text.size()) return 0;
  std::uint32_t code = bytes == 1 ? first : first & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return 0;
    code = (code << 6) | (byte(i) & 0x3fU);
  }
  const bool is_overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  const bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  return is_overlong || is_surrogate || is_control || code > 0x10ffff ? 0 : bytes;
}

}  // namespace

std::string plain_text(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const std::size_t bytes = character(text);
    if (bytes == 0) {
      plain += '?';
    } else {
      plain += text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return plain;
}

}  // namespace ringcomm::inline v0::diag
