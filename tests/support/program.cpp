// SPDX-License-Identifier: Apache-2.0
#include "support/program.hpp"

#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "ringcomm/core/text.hpp"

namespace ringcomm::test {

ProgramResult run_program(const std::string& command, int seconds_max) {
  ProgramResult result;
  FILE* pipe = popen(concat("timeout -k 5 ", seconds_max, " ", command, " 2>&1 </dev/null").c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), pipe) != nullptr)
    result.output += buffer.data();
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

}  // namespace ringcomm::test
