// SPDX-License-Identifier: Apache-2.0
// One libFuzzer program per input: CMake names the function and the format.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/hang_inputs.hpp"
#include "fuzz/inputs.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ringcomm::fuzz::RINGCOMM_FUZZ_CALL;
  return 0;
}
