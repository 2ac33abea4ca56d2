// SPDX-License-Identifier: Apache-2.0
// The oracle is the table itself: each variable's paragraph is taken apart again and compared.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "core/env_guard.hpp"
#include "ringcomm/core/env.hpp"

namespace ringcomm {
namespace {

using test::EnvGuard;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The head line of the variable with runs of spaces folded.
std::string head_of(std::string_view name) {
  for (const auto& line : lines_of(format_env_table())) {
    if (!line.starts_with(std::string(name) + ' ')) continue;
    std::string folded;
    for (const char c : line) {
      if (c != ' ' || !folded.ends_with(' ')) folded += c;
    }
    return folded;
  }
  return "";
}

TEST(EnvFormatTest, DefaultsAreSaidToBeDefaults) {
  const EnvGuard timeout("RINGCOMM_TIMEOUT", std::nullopt);
  const EnvGuard rank("RINGCOMM_RANK", "");
  EXPECT_EQ(head_of("RINGCOMM_TIMEOUT"), "RINGCOMM_TIMEOUT milliseconds 10m (default), default 10m");
  EXPECT_EQ(head_of("RINGCOMM_RANK"), "RINGCOMM_RANK integer unset (default), default unset");
}

TEST(EnvFormatTest, ValuesFromTheEnvironmentSayTheirSource) {
  const EnvGuard timeout("RINGCOMM_TIMEOUT", "3s");
  const EnvGuard store("RINGCOMM_STORE", "file:///tmp/x");
  EXPECT_EQ(head_of("RINGCOMM_TIMEOUT"), "RINGCOMM_TIMEOUT milliseconds 3s (environment), default 10m");
  EXPECT_EQ(head_of("RINGCOMM_STORE"), "RINGCOMM_STORE text file:///tmp/x (environment), default unset");
}

TEST(EnvFormatTest, WhatKeepsStrangersOutIsHidden) {
  const EnvGuard secret("RINGCOMM_SECRET", "swordfish");
  const EnvGuard store("RINGCOMM_STORE", "id:0123");
  EXPECT_EQ(head_of("RINGCOMM_SECRET"), "RINGCOMM_SECRET text (hidden) (environment), default unset");
  EXPECT_EQ(head_of("RINGCOMM_STORE"), "RINGCOMM_STORE text (hidden) (environment), default unset");
}

TEST(EnvFormatTest, ValuesThatWouldBeRefusedAreMarked) {
  const EnvGuard timeout("RINGCOMM_TIMEOUT", "soon");
  const EnvGuard arena("RINGCOMM_ARENA_BYTES", "-1");
  const EnvGuard rank("RINGCOMM_RANK", "one");
  const EnvGuard pin("RINGCOMM_PIN", "maybe");
  for (const char* name : {"RINGCOMM_TIMEOUT", "RINGCOMM_ARENA_BYTES", "RINGCOMM_RANK", "RINGCOMM_PIN"}) {
    EXPECT_NE(head_of(name).find("(NOT ACCEPTED)"), std::string::npos) << name;
  }
}

TEST(EnvFormatTest, NoValueMakesALineLongerThan100ColumnsOrMovesTheCursor) {
  std::vector<std::unique_ptr<EnvGuard>> guards;
  for (const auto& variable : env_table()) {
    guards.push_back(
        std::make_unique<EnvGuard>(std::string(variable.name), "\x1b[2J\n" + std::string(5000, 'v')));
  }
  for (const auto& line : lines_of(format_env_table())) {
    EXPECT_LE(line.size(), 100U) << line;
    EXPECT_TRUE(std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; })) << line;
  }
}

TEST(EnvFormatTest, EverySentenceIsPrintedWhole) {
  std::string folded;
  for (const auto& line : lines_of(format_env_table())) {
    folded += line.substr(std::min(line.find_first_not_of(' '), line.size())) + ' ';
  }
  for (const auto& variable : env_table()) {
    EXPECT_NE(folded.find(variable.sentence), std::string::npos) << variable.name;
  }
}

}  // namespace
}  // namespace ringcomm
