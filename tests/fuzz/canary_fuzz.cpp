// SPDX-License-Identifier: Apache-2.0
// Must fail within seconds: a read behind the end that only coverage can find and only AddressSanitizer can
// see.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!text.starts_with("ring")) return 0;
  const auto copy = std::make_unique<char[]>(4);
  volatile const char* const behind = copy.get();
  return behind[size] == 0 ? 0 : 0;
}
