// SPDX-License-Identifier: Apache-2.0
// The kept corpus through every reader, whole, cut short, and with seeded changes: what libFuzzer starts
// from, in every build. A broken promise or a memory error ends the program; a text that is refused is fine.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "core/small_file.hpp"
#include "diag/evidence/reader.hpp"
#include "fuzz/hang_inputs.hpp"
#include "fuzz/inputs.hpp"
#include "ringcomm/core/text.hpp"
#include "test_paths.hpp"
#include "topology/readers/evidence_readers.hpp"

namespace ringcomm {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> corpus() {
  std::vector<fs::path> files;
  for (const char* const folder : {"tests/data/topology", "tests/fuzz/corpus"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(RINGCOMM_SOURCE_DIR) / folder)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

/// The text, its beginnings, and copies with a few bytes changed, taken out or doubled.
std::vector<std::string> variants(const std::string& text) {
  std::vector<std::string> out{text};
  for (std::size_t i = 1; i <= 12; ++i) out.push_back(text.substr(0, text.size() * i / 13));
  std::minstd_rand random(static_cast<unsigned>(text.size()) + 1);
  const std::string bytes = "0123456789 \t\n\"<>/[]:,-xX\xff";
  for (int i = 0; i < 12 && !text.empty(); ++i) {
    std::string changed = text;
    for (int j = 0; j < 4; ++j) {
      const std::size_t at = random() % changed.size();
      const std::size_t length = std::min<std::size_t>(random() % 64, changed.size() - at);
      switch (random() % 3) {
        case 0:
          changed[at] = bytes[random() % bytes.size()];
          break;
        case 1:
          changed.insert(at, changed.substr(at, length));
          break;
        default:
          if (changed.size() > length) changed.erase(at, length);
      }
    }
    out.push_back(std::move(changed));
  }
  return out;
}

TEST(FuzzReplayTest, EveryFormatHasAFuzzer) {
  const std::string listed = concat(",", RINGCOMM_FUZZ_FORMATS, ",");
  for (const auto& reader : topology::evidence_readers())
    EXPECT_NE(listed.find(concat(",", reader.name, ",")), std::string::npos)
        << reader.name << ": add it to tests/fuzz/CMakeLists.txt";
}

TEST(FuzzReplayTest, EveryReaderKeepsItsPromisesOnTheCorpus) {
  const auto files = corpus();
  ASSERT_GT(files.size(), 5U);
  for (const auto& file : files) {
    SCOPED_TRACE(file.native());
    for (const std::string& text : variants(read_small_file(file, 1 << 20))) {
      for (const auto& reader : topology::evidence_readers()) fuzz::read_format(reader.name, text);
      fuzz::read_and_merge(text);
    }
  }
}

TEST(FuzzReplayTest, EvidenceOfHangsBreaksNeitherItsReadersNorTheVerdict) {
  for (const auto& file : corpus()) {
    SCOPED_TRACE(file.native());
    for (const std::string& text : variants(read_small_file(file, 1 << 20))) {
      for (const auto& reader : diag::whole_file_readers()) fuzz::read_dump(reader.name, text);
      fuzz::explain_hang(text);
    }
  }
}

TEST(FuzzReplayTest, TwoFilesOfTheCorpusMerge) {
  const auto files = corpus();
  for (const auto& first : files) {
    for (const auto& second : files)
      fuzz::read_and_merge(read_small_file(first, 1 << 20) + "\n====\n" + read_small_file(second, 1 << 20));
  }
}

TEST(FuzzReplayTest, WordsAndCosts) {
  for (const auto& file : corpus()) {
    if (file.native().find("/fuzz/corpus/") == std::string::npos) continue;
    for (const std::string& text : variants(read_small_file(file, 1 << 20))) {
      fuzz::parse_costs(text);
      for (const auto line : split(text, '\n')) fuzz::parse_words(line);
    }
  }
}

}  // namespace
}  // namespace ringcomm
