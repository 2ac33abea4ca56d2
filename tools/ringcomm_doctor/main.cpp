// SPDX-License-Identifier: Apache-2.0
// ringcomm-doctor: says what is wrong with a machine or a job, from what people have.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "command.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/version.hpp"

namespace doctor = ringcomm::doctor;

namespace {

constexpr std::array kCommands{
    doctor::Command{"hang", "why a job hangs, from its logs, dumps and stacks: any library, any format",
                    doctor::run_hang},
    doctor::Command{"attach", "what a live job of ringcomm does now: who is where, who waits for whom",
                    doctor::run_attach},
    doctor::Command{"topo", "the machine, its best rings, and what is wrong; live or from files",
                    doctor::run_topo},
    doctor::Command{"export", "flight records of ringcomm in formats of other tools", doctor::run_export},
    doctor::Command{"env", "this host and the ranks on it: limits, memory, CPUs, software, probes",
                    doctor::run_env},
    doctor::Command{"selftest", "runs the library here, from two ranks and 4,096 tokens upwards",
                    doctor::run_selftest},
};

std::string help() {
  std::string text =
      "Says what is wrong with a machine or a job, from what people have.\n\n"
      "Usage: ringcomm-doctor COMMAND [OPTION...] [FILE...]\n\nCommands:\n";
  for (const doctor::Command& command : kCommands) {
    std::string name = command.name;
    name.resize(std::max<std::size_t>(name.size(), 10), ' ');
    text += ringcomm::concat("  ", name, " ", command.summary, "\n");
  }
  return text + "\nringcomm-doctor COMMAND --help tells more. --version prints the version.\n";
}

}  // namespace

int main(int argc, char** argv) {
  const std::string word = argc > 1 ? argv[1] : "";
  if (word == "--help" || word == "-h" || word == "help") {
    std::printf("%s", help().c_str());
    return 0;
  }
  if (word == "--version") {
    std::printf("ringcomm-doctor %s\n", RINGCOMM_VERSION);
    return 0;
  }
  std::vector<std::string> names;
  for (const doctor::Command& command : kCommands) {
    if (word == command.name) return command.run(argc - 1, argv + 1);
    names.emplace_back(command.name);
  }
  if (word.empty()) {
    std::fprintf(stderr, "%s", help().c_str());
    return doctor::kExitUsage;
  }
  return doctor::usage_error("ringcomm-doctor", ringcomm::concat("no command '", word, "'. Did you mean ",
                                                                 ringcomm::nearest_word(word, names), "?"));
}
