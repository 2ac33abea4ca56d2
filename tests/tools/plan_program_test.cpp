// SPDX-License-Identifier: Apache-2.0
// Runs ringcomm-plan as a user would: its help's examples, screens, JSON against the documented schema,
// picture, exit codes.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "../perf/json_schema.hpp"
#include "support/program.hpp"
#include "support/temp_dir.hpp"
#include "test_paths.hpp"

namespace ringcomm {
namespace {

const std::string kPlan = RINGCOMM_BIN_DIR "/ringcomm-plan";
const std::string kLlama =
    " --layers 32 --hidden 4096 --heads 32 --kv-heads 8 --ffn 14336 --vocab 128256 --seq 131072 ";
const std::string kRates = " --gb-per-s 370 --alpha-us 5 --tflops 600 ";

nlohmann::json planned(const std::string& arguments, int exit_code = 0) {
  const auto run = test::run_program(kPlan + arguments + " --json");
  EXPECT_EQ(run.exit_code, exit_code) << run.output;
  const auto json = nlohmann::json::parse(run.output, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << run.output;
  return json;
}

std::vector<std::string> schema_violations(const std::string& definition, const nlohmann::json& value) {
  auto schema = nlohmann::json::parse(std::ifstream(RINGCOMM_SOURCE_DIR "/docs/plan-schema.json"));
  if (!definition.empty()) {
    auto inner = schema["definitions"][definition];
    inner["definitions"] = schema["definitions"];
    schema = inner;
  }
  return test::violations(schema, value);
}

void expect_schema(const nlohmann::json& value, const std::string& definition = "") {
  for (const std::string& violation : schema_violations(definition, value)) ADD_FAILURE() << violation;
}

TEST(PlanProgramTest, TheExamplesOfItsHelpRun) {
  const auto help = test::run_program(kPlan + " --help");
  ASSERT_EQ(help.exit_code, 0);
  std::istringstream lines(help.output);
  int examples = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("  ringcomm-plan ") != 0) continue;
    const auto run = test::run_program(RINGCOMM_BIN_DIR "/" + line.substr(2));
    EXPECT_EQ(run.exit_code, 0) << line << "\n" << run.output;
    ++examples;
  }
  EXPECT_EQ(examples, 4);
}

TEST(PlanProgramTest, KnownKvOfThirtyTwoThousandTokens) {
  const auto json = planned(" --layers 40 --heads 32 --head-dim 128 --dtype fp16 --seq 32768 --cp 4");
  EXPECT_EQ(json["model"]["kv_bytes"].get<double>(), 21474836480.0);
  EXPECT_EQ(json["memory"]["items"][1]["id"], "kv");
  EXPECT_EQ(json["memory"]["items"][1]["bytes"].get<double>(), 5368709120.0);
  EXPECT_TRUE(json["memory"]["items"][0]["bytes"].is_null()) << "weights without --ffn are unknown";
  EXPECT_FALSE(json["time"]["known"].get<bool>());
  EXPECT_EQ(json["tiles"]["divides"], true);
  expect_schema(json);
  const auto screen =
      test::run_program(kPlan + " --layers 40 --heads 32 --head-dim 128 --dtype fp16 --seq 32768 --cp 4");
  for (const char* words :
       {"21.47 GB", "5.37 GB", "unknown (no GPU rate: give --tflops",
        "run ringcomm-perf --calibrate or give --gb-per-s", "Assumed   mask causal; phase forward"}) {
    EXPECT_NE(screen.output.find(words), std::string::npos) << words << " is missing in:\n" << screen.output;
  }
}

TEST(PlanProgramTest, AllCasesKeepTheSchema) {
  expect_schema(planned(kLlama + kRates + "--gpus 8"));
  expect_schema(
      planned(kLlama + kRates +
              "--gpus 8 --hosts 2 --nics 4 --nic-gb-per-s 50 --phase train --batch 16 --recompute full"));
  const auto far = planned(kLlama + kRates + "--gpus 8 --hosts 4 --nics 8 --nic-gb-per-s 50 --cp 32");
  EXPECT_TRUE(far["machine"]["between_hosts"].is_object());
  expect_schema(far);
  expect_schema(planned(kLlama + kRates + "--ranks 1"));
  expect_schema(planned(" check" + kLlama + "--cp 4"), "check");
  const auto broken = nlohmann::json{{"version", 1}};
  EXPECT_FALSE(schema_violations("", broken).empty());
}

TEST(PlanProgramTest, SchedulesAreProvedOrRefuted) {
  const test::TempDir folder;
  const std::string file = folder.path().string() + "/calls.json";
  const std::string call_a = R"({"op": "all_reduce", "group": "a"})",
                    call_b = R"({"op": "all_gather", "group": "b"})";
  const auto checked = [&](const std::string& second, const std::string& options = "") {
    std::ofstream(file)
        << R"({"ranks": 2, "groups": {"a": [0, 1], "b": [0, 1]}, "programs": [{"ranks": [0], "calls": [)"
        << call_a << ", " << call_b << R"(]}, {"ranks": [1], "calls": [)" << second << "]}]}";
    return test::run_program(kPlan + " check --schedule " + file + options);
  };
  const auto safe = checked(call_a + ", " + call_b);
  EXPECT_EQ(safe.exit_code, 0) << safe.output;
  EXPECT_EQ(safe.output, "PROVED    free of deadlock: 4 calls of 2 ranks meet in 2 places\n");
  const auto stuck = checked(call_b + ", " + call_a);
  EXPECT_EQ(stuck.exit_code, 1) << stuck.output;
  EXPECT_NE(stuck.output.find("rank 1 waits in b #1 (all_gather) for rank 0, before its a #1 (all_reduce)"),
            std::string::npos)
      << stuck.output;
  const auto json = nlohmann::json::parse(checked(call_a, " --json").output, nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["fault"], "missing_call");
  EXPECT_EQ(json["proved"], false);
  EXPECT_EQ(json["lines"][0]["waits_for"], 1);
  EXPECT_EQ(checked("7").exit_code, 64);
  EXPECT_EQ(test::run_program(kPlan + " check --schedule " + file + ".none").exit_code, 64);
}

TEST(PlanProgramTest, JsonTakesNoFileBehindIt) {
  const test::TempDir folder;
  const std::string topology = folder.path().string() + "/topo.txt";
  const std::string table = "\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX\n";
  std::ofstream(topology) << table;
  const std::string json = folder.path().string() + "/plan.json";
  const auto run = test::run_program(kPlan + kLlama + "-J " + json + " --json " + topology);
  EXPECT_EQ(run.exit_code, 0) << run.output;
  std::ostringstream kept;
  kept << std::ifstream(topology).rdbuf();
  EXPECT_EQ(kept.str(), table);
  const auto written = nlohmann::json::parse(std::ifstream(json));
  EXPECT_EQ(written, nlohmann::json::parse(run.output));
  EXPECT_EQ(written["machine"]["inside"]["name"], "NV4");
}

TEST(PlanProgramTest, AScreenIsNotLongerThanAScreen) {
  const auto run =
      test::run_program(kPlan + kLlama + kRates + "--gpus 8 --hosts 4 --nics 8 --nic-gb-per-s 50");
  EXPECT_LE(std::count(run.output.begin(), run.output.end(), '\n'), 62) << run.output;
}

TEST(PlanProgramTest, ThePictureMarksTheTransfersThatAreWaitedFor) {
  const test::TempDir folder;
  const auto draw = [&](const std::string& rates) {
    const std::string file = folder.path().string() + "/a.svg";
    const auto run = test::run_program(kPlan + kLlama + "--cp 4 --svg " + file + rates);
    EXPECT_EQ(run.exit_code, 0) << run.output;
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  };
  const auto count = [](const std::string& text, const std::string& word) {
    int found = 0;
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
    return found;
  };
  const std::string hidden = draw(kRates);
  const std::string waited = draw(" --gb-per-s 1 --tflops 600");
  EXPECT_EQ(count(hidden, "compute:"), 16);
  EXPECT_EQ(count(hidden, "transfer:"), 12);
  EXPECT_EQ(count(hidden, "#e45756"), 0);
  EXPECT_EQ(count(waited, "#e45756"), 13) << "all twelve, and the legend";
  const auto unknown =
      test::run_program(kPlan + kLlama + "--cp 4 --svg " + folder.path().string() + "/b.svg");
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_NE(unknown.output.find("no timeline, as the time is unknown"), std::string::npos) << unknown.output;
}

TEST(PlanProgramTest, CheckProvesEachStrategyThatHasAPlan) {
  for (const std::string arguments :
       {"--strategy ring", "--strategy ring --access message",
        "--strategy ring --mode relay --chunk-bytes 65536", "--strategy ring --direction -1",
        "--strategy all-gather", "--strategy all-to-all --access message", "--mask full",
        "--layout contiguous", "--micro-batch 2 --batch 2"}) {
    const auto run = test::run_program(
        kPlan + " check --heads 32 --kv-heads 8 --head-dim 128 --seq 1001 --cp 5 " + arguments);
    EXPECT_EQ(run.exit_code, 0) << arguments << "\n" << run.output;
    EXPECT_EQ(run.output.find("PROVED"), 0U) << run.output;
  }
  const auto far =
      planned(" check --heads 32 --kv-heads 8 --head-dim 128 --seq 1000 --cp 4 --access message");
  // Two slots for 250 tokens of 8 KV heads of K and V in bf16.
  EXPECT_EQ(far["slot_bytes"][0].get<double>(), 2.0 * 2 * 250 * 8 * 128 * 2);
  const auto none = test::run_program(
      kPlan + " check --heads 32 --head-dim 128 --seq 1000 --cp 4 --hosts 2 --strategy double-ring");
  EXPECT_EQ(none.exit_code, 1) << none.output;
  EXPECT_NE(none.output.find("this version has no plan for it"), std::string::npos) << none.output;
}

TEST(PlanProgramTest, ImpossibleSizesAreRefusedByName) {
  const std::pair<std::string, std::string> kRefused[] = {
      {"--heads 32 --hidden 4100 --layers 2 --seq 10", "heads 32 must divide hidden 4100"},
      {"--heads 32 --head-dim 128 --layers 2 --seq 10 --tp 3 --ranks 3", "tp 3 must divide heads 32"},
      {"--heads 32 --head-dim 128 --layers 2 --seq 10 --tp 2 --cp 3 --ranks 8",
       "tp 2 x cp 3 = 6 must divide ranks 8"},
      {"--heads 32 --head-dim 128 --layers 2 --seq 10 --ranks 9 --gpus 8",
       "ranks 9 exceed hosts 1 x GPUs 8 = 8"},
      {"--heads 32 --head-dim 128 --layers 2 --seq 10 --ranks 9 --hosts 2", "hosts 2 must divide ranks 9"},
      {"--heads 32 --head-dim 128 --layers 2", "the sequence length is not given: --seq"},
      {"--heads x", "--heads"},
      {"--no-such-flag", "--no-such-flag"},
      {"--dtype fp17 --heads 2 --head-dim 64 --layers 1 --seq 1", "fp17"},
      {"--config /nonexistent", "/nonexistent cannot be read"}};
  for (const auto& [arguments, sentence] : kRefused) {
    const auto run = test::run_program(kPlan + " " + arguments);
    EXPECT_EQ(run.exit_code, 64) << arguments << "\n" << run.output;
    EXPECT_NE(run.output.find(sentence), std::string::npos) << arguments << "\n" << run.output;
  }
  EXPECT_EQ(test::run_program(kPlan + kLlama + "/nonexistent.xml").exit_code, 3);
}

TEST(PlanProgramTest, AConfigurationFileGivesTheSizes) {
  const test::TempDir folder;
  const std::string file = folder.path().string() + "/config.json";
  std::ofstream(file) << R"({"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "torch_dtype": "bfloat16",
    "hidden_act": "silu", "rope_theta": 500000.0, "tie_word_embeddings": false})";
  const auto json = planned(" --config " + file + " --seq 8192 --ranks 1");
  EXPECT_EQ(json["memory"]["items"][0]["bytes"].get<double>(), 2 * 8030261248.0);
  EXPECT_EQ(json["ignored_keys"], nlohmann::json({"rope_theta"}));
  expect_schema(json);
}

}  // namespace
}  // namespace ringcomm
