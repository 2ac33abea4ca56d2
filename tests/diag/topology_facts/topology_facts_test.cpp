// SPDX-License-Identifier: Apache-2.0
// Asserts the facts of shared/data/topology/README.md file by file. The README itself is the list: its
// clauses are counted, matched with the assertions by file, number and first words, and what is open is
// printed.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "diag/topology_facts/facts.hpp"

namespace ringcomm::topology_facts {
namespace {

struct Clause {
  std::string file;
  int number;
  std::string text;
};

std::string trimmed(std::string text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(trimmed(part));
  return parts;
}

/// Rows of the README's tables; the file's folder is the row's own or the first word of the section.
std::vector<Clause> clauses_of_readme() {
  std::vector<Clause> clauses;
  std::ifstream readme(data_root() / "README.md");
  std::string section;
  for (std::string line; std::getline(readme, line);) {
    if (line.starts_with("## ")) section = line.substr(3, line.find_first_of(" ,", 3) - 3);
    if (!line.starts_with("| ") || line.starts_with("| file")) continue;
    auto cells = split(line, '|');
    if (!cells.empty() && cells.back().empty()) cells.pop_back();
    if (cells.size() < 4) continue;
    const std::string file = cells[1].find('/') == std::string::npos ? section + "/" + cells[1] : cells[1];
    int number = 0;
    for (const std::string& text : split(cells.back(), ';')) clauses.push_back({file, ++number, text});
  }
  return clauses;
}

std::vector<Fact> all_facts() {
  std::vector<Fact> all;
  for (const auto facts : {hwloc_facts(), nccl_facts(), matrix_facts(), other_facts()})
    all.insert(all.end(), facts.begin(), facts.end());
  return all;
}

bool is_here() { return std::filesystem::exists(data_root() / "README.md"); }
#define SKIP_WITHOUT_DATA() \
  if (!is_here()) GTEST_SKIP() << "shared/data/topology is not here"

std::vector<std::string> files() {
  std::vector<std::string> names;
  for (const Fact& fact : all_facts()) {
    if (names.empty() || names.back() != fact.file) names.emplace_back(fact.file);
  }
  return names;
}

class TopologyFactsTest : public testing::TestWithParam<std::string> {};

TEST_P(TopologyFactsTest, FactsHold) {
  SKIP_WITHOUT_DATA();
  for (const Fact& fact : all_facts()) {
    if (fact.file != GetParam()) continue;
    SCOPED_TRACE(testing::Message() << fact.file << " clause " << fact.clause << ": " << fact.begins);
    fact.check(case_of_file(GetParam()));
  }
}

std::string readable(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& letter : name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return name;
}
INSTANTIATE_TEST_SUITE_P(Files, TopologyFactsTest, testing::ValuesIn(files()), readable);

TEST(TopologyFactsCountTest, NineTenthsOfTheClausesAreAsserted) {
  SKIP_WITHOUT_DATA();
  const auto clauses = clauses_of_readme();
  ASSERT_GT(clauses.size(), 100U);
  const auto facts = all_facts();
  std::size_t asserted = 0;
  for (const Clause& clause : clauses) {
    const auto is_it = [&](const auto& entry) {
      return entry.file == clause.file && entry.clause == clause.number;
    };
    const auto fact = std::ranges::find_if(facts, is_it);
    const auto open = std::ranges::find_if(open_facts(), is_it);
    if (fact != facts.end()) {
      ++asserted;
      EXPECT_TRUE(clause.text.starts_with(fact->begins))
          << clause.file << " clause " << clause.number << " is '" << clause.text << "'";
    } else if (open != open_facts().end()) {
      EXPECT_TRUE(clause.text.starts_with(open->begins))
          << clause.file << " clause " << clause.number << " is '" << clause.text << "'";
      std::printf("not asserted: %s clause %d (%s): %s\n", clause.file.c_str(), clause.number,
                  clause.text.c_str(), std::string(open->reason).c_str());
    } else {
      ADD_FAILURE() << clause.file << " clause " << clause.number
                    << " has neither an assertion nor a reason: " << clause.text;
    }
  }
  EXPECT_EQ(asserted, facts.size()) << "an assertion matches no clause";
  std::printf("facts asserted: %zu of %zu\n", asserted, clauses.size());
  EXPECT_GE(asserted * 10, clauses.size() * 9);
}

}  // namespace
}  // namespace ringcomm::topology_facts
