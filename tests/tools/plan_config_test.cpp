// SPDX-License-Identifier: Apache-2.0
// Configurations as people have them, written here; what is unknown is listed, what is wrong is named.
#include <gtest/gtest.h>

#include "config_file.hpp"

namespace ringcomm::planner {
namespace {

ConfigFile config_of(std::string_view text) {
  auto config = read_config(text, "c");
  EXPECT_TRUE(config.is_ok()) << config.status().to_string();
  return config.is_ok() ? std::move(config).value() : ConfigFile{};
}

TEST(PlanConfigTest, MegatronArgumentsOfALaunchScript) {
  const ConfigFile config = config_of(R"(torchrun --nproc_per_node 8 pretrain_gpt.py \
    --num-layers 40 --hidden-size 5120 \
    --num-attention-heads 40 --group-query-attention --num-query-groups=8 \
    --seq-length 32768 --max-position-embeddings 32768 \
    --tensor-model-parallel-size 2 --context-parallel-size 4 \
    --swiglu --untie-embeddings-and-output-weights --bf16 --use-distributed-optimizer --lr 1e-4
  )");
  const std::map<std::string, std::int64_t, std::less<>> expected{
      {"layers", 40}, {"hidden", 5120}, {"heads", 40}, {"kv-heads", 8}, {"seq", 32768}, {"tp", 2}, {"cp", 4}};
  EXPECT_EQ(config.numbers, expected);
  EXPECT_EQ(config.dtype, DType::bfloat16);
  EXPECT_EQ(config.is_gated, true);
  EXPECT_EQ(config.is_tied, false);
  EXPECT_TRUE(config.shards_optimizer);
  EXPECT_EQ(config.ignored, (std::vector<std::string>{"lr", "max-position-embeddings", "nproc_per_node"}));
}

TEST(PlanConfigTest, MegatronJsonAndYaml) {
  const ConfigFile json =
      config_of(R"({"model": {"num_layers": 2, "kv_channels": 64, "ffn_hidden_size": 512}, "fp16": true})");
  EXPECT_EQ(json.numbers.at("layers"), 2);
  EXPECT_EQ(json.numbers.at("head-dim"), 64);
  EXPECT_EQ(json.dtype, DType::float16);
  EXPECT_EQ(json.is_gated, false) << "Megatron-LM's default";
  EXPECT_EQ(json.is_tied, true) << "Megatron-LM's default";
  const ConfigFile yaml = config_of("num_layers: 2\nseq_length: 4096\nname: x\n");
  EXPECT_EQ(yaml.numbers.at("seq"), 4096);
  EXPECT_EQ(yaml.ignored, std::vector<std::string>{"name"});
}

TEST(PlanConfigTest, WhatADenseDecoderLacksIsSaid) {
  const ConfigFile config = config_of(
      R"({"num_hidden_layers": 2, "num_local_experts": 8, "sliding_window": null, "kv_lora_rank": 512})");
  ASSERT_EQ(config.not_modelled.size(), 2U);
  EXPECT_EQ(config.not_modelled[1],
            "num_local_experts 8 is not modelled: weights and compute are those of one dense feed-forward");
}

TEST(PlanConfigTest, WrongValuesAreNamed) {
  const auto sentence = [](std::string_view text) {
    return std::string(read_config(text, "c").status().message());
  };
  EXPECT_EQ(sentence(R"({"num_layers": "many"})"), "c: num_layers is \"many\", not an integer");
  EXPECT_EQ(sentence(R"({"num_layers": 2, "num_hidden_layers": 3})"),
            "c: num_layers says 2 and an earlier key 3 for --layers");
  EXPECT_EQ(sentence("{"), "c: not JSON, though it begins with '{'");
  EXPECT_EQ(sentence(""), "c: no key of Megatron-LM or Hugging Face is in it (num-layers, hidden_size, ...)");
  EXPECT_NE(sentence(R"({"num_layers": 2, "torch_dtype": "bf17"})").find("torch_dtype"), std::string::npos);
  EXPECT_EQ(sentence("--num-layers $LAYERS"), "c: num-layers is \"$LAYERS\", not an integer");
}

}  // namespace
}  // namespace ringcomm::planner
