// SPDX-License-Identifier: Apache-2.0
// The outputs that docs/topology.md shows are those of this program, to the letter.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "support/program.hpp"
#include "test_paths.hpp"

namespace ringcomm {
namespace {

std::string page() {
  std::ostringstream text;
  text << std::ifstream(RINGCOMM_SOURCE_DIR "/docs/topology.md").rdbuf();
  return text.str();
}

/// The text block behind the first console block that has this command.
std::string shown_behind(const std::string& command) {
  const std::string text = page();
  const std::size_t at = text.find(command);
  if (at == std::string::npos) return "no such command in docs/topology.md";
  const std::string fence = "```text\n";
  const std::size_t begin = text.find(fence, at);
  const std::size_t end = text.find("```\n", begin + fence.size());
  return text.substr(begin + fence.size(), end - begin - fence.size());
}

/// `files` are named from the repository's root; the report shows their last part only.
std::string printed(const std::string& files) {
  std::string command = RINGCOMM_BIN_DIR "/ringcomm-doctor topo";
  std::istringstream words(files);
  for (std::string word; words >> word;) command += " " RINGCOMM_SOURCE_DIR "/" + word;
  return test::run_program(command).output;
}

TEST(DoctorDocsTest, ExamplesAreWhatTheProgramPrints) {
  for (const std::string arguments :
       {"docs/examples/dgx1-topo.txt docs/examples/dgx1-nvlink.txt", "docs/examples/vm-4gpu.xml"}) {
    const std::string output = printed(arguments);
    EXPECT_EQ(
        shown_behind("ringcomm-doctor topo " + arguments + (arguments.ends_with("xml") ? ";" : "\n```")),
        output);
    EXPECT_NE(output.find("Verdict"), std::string::npos) << output;
  }
}

}  // namespace
}  // namespace ringcomm
