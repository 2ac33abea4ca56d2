// SPDX-License-Identifier: Apache-2.0
// The oracle is a table of texts with the value or the refusal that the documentation promises for each.
#include "ringcomm/core/env.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <set>

#include "core/env_guard.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"
#include "test_paths.hpp"

namespace ringcomm {
namespace {

using test::EnvGuard;

constexpr std::int64_t kRefused = -12345;

std::int64_t value_or_refused(const Result<std::int64_t>& result) {
  if (result.is_ok()) return result.value();
  EXPECT_EQ(result.status().code(), StatusCode::invalid_argument);
  return kRefused;
}

struct Case {
  std::string text;
  std::int64_t value;
};

TEST(EnvTest, BytesTakeBinarySuffixesInBothCasesAndRefuseTheRest) {
  const std::vector<Case> cases{{"17", 17},
                                {"0", 0},
                                {"64K", 65536},
                                {"64k", 65536},
                                {"1m", 1 << 20},
                                {"2G", 2LL << 30},
                                {"3t", 3LL << 40},
                                {"9223372036854775807", INT64_MAX},
                                {"8388607T", 8388607LL << 40},
                                {"8388608T", kRefused},
                                {"9223372036854775808", kRefused},
                                {"99999999999999999999", kRefused},
                                {"", kRefused},
                                {"K", kRefused},
                                {"-1", kRefused},
                                {"+1", kRefused},
                                {"-1K", kRefused},
                                {"1.5G", kRefused},
                                {" 1", kRefused},
                                {"1 ", kRefused},
                                {"1KB", kRefused},
                                {"1KK", kRefused},
                                {"0x10", kRefused},
                                {"1e3", kRefused},
                                {"64E", kRefused},
                                {std::string("1\0K", 3), kRefused}};
  for (const auto& [text, value] : cases) {
    EXPECT_EQ(value_or_refused(parse_bytes(text)), value) << "'" << text << "'";
  }
}

TEST(EnvTest, MillisecondsTakeUnitsAndNeverOverflowADeadline) {
  const std::vector<Case> cases{{"500ms", 500},
                                {"30s", 30'000},
                                {"10m", 600'000},
                                {"2h", 7'200'000},
                                {"250", 250},
                                {"0", 0},
                                {"ms", kRefused},
                                {"-1s", kRefused},
                                {"1.5s", kRefused},
                                {"10 m", kRefused},
                                {"1d", kRefused},
                                {"10M", kRefused},
                                {"9223372036854", 9223372036854},
                                {"9223372036855", kRefused},
                                {"9223372036s", 9223372036000},
                                {"9223372037s", kRefused},
                                {"9223372036854775807h", kRefused}};
  for (const auto& [text, value] : cases) {
    const EnvGuard guard("RINGCOMM_TIMEOUT", text);
    EXPECT_EQ(value_or_refused(env_milliseconds("RINGCOMM_TIMEOUT")), value) << text;
  }
}

TEST(EnvTest, IntegersAreDecimalAndWhole) {
  const std::vector<Case> cases{{"3", 3},         {"-3", -3},       {"007", 7},
                                {"+3", kRefused}, {"3x", kRefused}, {"9223372036854775808", kRefused}};
  for (const auto& [text, value] : cases) {
    const EnvGuard guard("RINGCOMM_RANK", text);
    EXPECT_EQ(value_or_refused(env_integer("RINGCOMM_RANK")), value) << text;
  }
}

TEST(EnvTest, FlagsTakeEightWordsInBothCases) {
  for (const auto& [text, value] : std::initializer_list<std::pair<const char*, int>>{{"1", 1},
                                                                                      {"on", 1},
                                                                                      {"True", 1},
                                                                                      {"YES", 1},
                                                                                      {"0", 0},
                                                                                      {"off", 0},
                                                                                      {"false", 0},
                                                                                      {"no", 0},
                                                                                      {"2", -1},
                                                                                      {"enable", -1}}) {
    const EnvGuard guard("RINGCOMM_PIN", text);
    const auto flag = env_flag("RINGCOMM_PIN");
    EXPECT_EQ(flag.is_ok() ? int{flag.value()} : -1, value) << text;
  }
}

TEST(EnvTest, UnsetAndEmptyGiveTheDefaultOfTheTable) {
  for (const auto& unset : {std::optional<std::string>(), std::optional<std::string>("")}) {
    const EnvGuard timeout("RINGCOMM_TIMEOUT", unset);
    const EnvGuard arena("RINGCOMM_ARENA_BYTES", unset);
    const EnvGuard pin("RINGCOMM_PIN", unset);
    EXPECT_EQ(check(env_milliseconds("RINGCOMM_TIMEOUT")), 600'000);
    EXPECT_EQ(check(env_bytes("RINGCOMM_ARENA_BYTES")), 16 << 20);
    EXPECT_TRUE(check(env_flag("RINGCOMM_PIN")));
    EXPECT_FALSE(env_text("RINGCOMM_TIMEOUT").has_value());
  }
}

TEST(EnvTest, UnsetWithoutADefaultIsNotFound) {
  const EnvGuard guard("RINGCOMM_RANK", std::nullopt);
  EXPECT_EQ(env_integer("RINGCOMM_RANK").status().code(), StatusCode::not_found);
}

TEST(EnvTest, RefusalNamesVariableValueAndWhatIsAccepted) {
  const EnvGuard guard("RINGCOMM_TIMEOUT", "ten");
  EXPECT_EQ(
      env_milliseconds("RINGCOMM_TIMEOUT").status().message(),
      "RINGCOMM_TIMEOUT=ten is not accepted (a time: 500ms, 30s, 10m, 1h or plain milliseconds, at most "
      "292 years).");
}

TEST(EnvTest, NameOrTypeOutsideTheTableIsInternal) {
  const EnvGuard guard("RINGCOMM_NO_SUCH", "1");
  EXPECT_EQ(env_integer("RINGCOMM_NO_SUCH").status().code(), StatusCode::internal);
  EXPECT_EQ(env_flag("RINGCOMM_TIMEOUT").status().code(), StatusCode::internal);
  EXPECT_FALSE(env_text("RINGCOMM_NO_SUCH").has_value());
}

TEST(EnvTest, ChoiceGivesTheIndexOfValueOrDefault) {
  constexpr std::array<std::string_view, 3> kWords{"automatic", "own_core", "oversubscribed"};
  {
    const EnvGuard guard("RINGCOMM_WAIT", "Own_Core");
    EXPECT_EQ(check(env_choice("RINGCOMM_WAIT", kWords)), 1U);
  }
  {
    const EnvGuard guard("RINGCOMM_WAIT", std::nullopt);
    EXPECT_EQ(check(env_choice("RINGCOMM_WAIT", kWords)), 0U);
  }
  const EnvGuard guard("RINGCOMM_WAIT", "own");
  EXPECT_EQ(env_choice("RINGCOMM_WAIT", kWords).status().message(),
            "RINGCOMM_WAIT=own is not accepted (automatic, own_core or oversubscribed).");
}

TEST(EnvTest, ThisProcessIsWarnedAboutOnce) {
  const EnvGuard guard("RINGCOMM_TIMOUT", "3s");
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, std::string_view text) { lines.emplace_back(text); });
  warn_unknown_env();
  warn_unknown_env();
  set_log_sink({});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("RINGCOMM_TIMOUT"), std::string::npos);
}

TEST(EnvTest, UnknownVariablesAreNamedWithTheNearestKnownOne) {
  const std::vector<std::string> environment{"PATH=/bin",          "RINGCOMM_TIMOUT=3s", "RINGCOMM_RANK=1",
                                             "RINGCOMM_TRANSPORT", "ringcomm_rank=1",    "=RINGCOMM_X",
                                             "XRINGCOMM_RANK=1"};
  const auto warnings = unknown_env_warnings(environment);
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_EQ(warnings[0],
            "environment variable RINGCOMM_TIMOUT is not known (it has no effect). Did you mean "
            "RINGCOMM_TIMEOUT?");
  EXPECT_NE(warnings[1].find("Did you mean RINGCOMM_TRANSPORTS?"), std::string::npos);
}

TEST(EnvTest, TableHasUniqueNamesAndWholeSentences) {
  std::set<std::string_view> names;
  for (const auto& variable : env_table()) {
    EXPECT_TRUE(names.insert(variable.name).second) << variable.name;
    EXPECT_TRUE(variable.name.starts_with("RINGCOMM_"));
    EXPECT_TRUE(variable.sentence.ends_with('.')) << variable.name;
    EXPECT_EQ(variable.sentence.find('|'), std::string_view::npos) << "breaks the table of the documentation";
  }
}

Status status_of_value(const EnvVariable& variable) {
  switch (variable.type) {
    case EnvType::text:
      return {};
    case EnvType::integer:
      return env_integer(variable.name).status();
    case EnvType::bytes:
      return env_bytes(variable.name).status();
    case EnvType::milliseconds:
      return env_milliseconds(variable.name).status();
    case EnvType::flag:
      return env_flag(variable.name).status();
  }
  return Status::internal("a type without a reader");
}

TEST(EnvTest, EveryDefaultIsAcceptedByItsOwnType) {
  for (const auto& variable : env_table()) {
    const EnvGuard guard(std::string(variable.name), std::nullopt);
    const Status status = status_of_value(variable);
    EXPECT_TRUE(status.is_ok() || (variable.default_value.empty() && status.code() == StatusCode::not_found))
        << variable.name << ": " << status.to_string();
  }
}

std::string_view word_for(EnvType type) {
  constexpr std::array<std::string_view, 5> kWords{"text", "integer", "bytes", "milliseconds", "flag"};
  return kWords[static_cast<std::size_t>(type)];
}

TEST(EnvDocumentationTest, PageHasExactlyTheRowsOfTheTable) {
  std::ifstream page(RINGCOMM_SOURCE_DIR "/docs/environment.md");
  std::vector<std::string> rows;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| `RINGCOMM_")) rows.push_back(line);
  }
  std::vector<std::string> expected;
  for (const auto& variable : env_table()) {
    const std::string fallback =
        variable.default_value.empty() ? "unset" : concat('`', variable.default_value, '`');
    expected.push_back(concat("| `", variable.name, "` | ", word_for(variable.type), " | ", fallback, " | ",
                              variable.sentence, " |"));
  }
  EXPECT_EQ(rows, expected) << "docs/environment.md and the table in src/core/env.cpp must agree";
}

}  // namespace
}  // namespace ringcomm
