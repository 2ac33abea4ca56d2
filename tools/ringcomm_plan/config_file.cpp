// SPDX-License-Identifier: Apache-2.0
#include "config_file.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::planner {
namespace {

using nlohmann::json;
constexpr std::size_t kBytesMax = std::size_t{16} << 20;

/// Megatron-LM (arguments.py) and Hugging Face names of what one of our flags sets.
constexpr std::pair<std::string_view, std::string_view> kNumbers[] = {
    {"num_layers", "layers"},
    {"num_hidden_layers", "layers"},
    {"n_layer", "layers"},
    {"hidden_size", "hidden"},
    {"n_embd", "hidden"},
    {"d_model", "hidden"},
    {"num_attention_heads", "heads"},
    {"n_head", "heads"},
    {"num_query_groups", "kv-heads"},
    {"num_key_value_heads", "kv-heads"},
    {"kv_channels", "head-dim"},
    {"head_dim", "head-dim"},
    {"ffn_hidden_size", "ffn"},
    {"intermediate_size", "ffn"},
    {"n_inner", "ffn"},
    {"vocab_size", "vocab"},
    {"padded_vocab_size", "vocab"},
    {"seq_length", "seq"},
    {"encoder_seq_length", "seq"},
    {"global_batch_size", "batch"},
    {"micro_batch_size", "micro-batch"},
    {"tensor_model_parallel_size", "tp"},
    {"context_parallel_size", "cp"},
    {"pipeline_model_parallel_size", "pp"},
    {"data_parallel_size", "dp"},
    {"world_size", "ranks"},
};
/// Known, and without influence on a plan.
constexpr std::string_view kHarmless[] = {"group_query_attention"};
/// What a dense decoder lacks: what the plan gets wrong then.
constexpr std::pair<std::string_view, std::string_view> kNotModelled[] = {
    {"num_experts", "weights and compute are those of one dense feed-forward"},
    {"num_local_experts", "weights and compute are those of one dense feed-forward"},
    {"n_routed_experts", "weights and compute are those of one dense feed-forward"},
    {"kv_lora_rank", "K and V are counted as full heads, which latent attention does not keep"},
    {"sliding_window", "attention is counted over the whole sequence"},
    {"window_size", "attention is counted over the whole sequence"},
    {"num_layers_per_virtual_pipeline_stage", "the pipeline is counted without interleaving"},
    {"virtual_pipeline_model_parallel_size", "the pipeline is counted without interleaving"},
    {"expert_model_parallel_size", "experts are not counted"},
};

template <class Table>
const auto* find_key(const Table& table, std::string_view key) {
  const auto* found =
      std::find_if(std::begin(table), std::end(table), [&](const auto& row) { return row.first == key; });
  return found == std::end(table) ? nullptr : found;
}

std::string normalised(std::string_view key) {
  std::string name(key);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::optional<std::int64_t> number_of(const json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}
/// A flag is true when it stands alone, too.
bool truth_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_string()) return value != "false" && value != "False" && value != "0";
  return !value.is_number() || value != 0;
}

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  Status add(std::string_view raw, const json& value) {
    const std::string key = normalised(raw);
    if (value.is_null() || std::count(std::begin(kHarmless), std::end(kHarmless), key) > 0) return {};
    if (const auto* row = find_key(kNumbers, key)) return add_number(raw, row->second, value);
    if (const auto* row = find_key(kNotModelled, key)) return add_not_modelled(raw, row->second, value);
    if (add_switch(key, value)) return {};
    if (key == "torch_dtype" || key == "dtype" || key == "params_dtype") return add_dtype(raw, value);
    if (key == "tie_word_embeddings")
      config.is_tied = truth_of(value);
    else if (key == "hidden_act" || key == "activation_function")
      config.is_gated = value == "silu" || value == "swiglu";
    else if (key == "recompute_granularity")
      config.recomputes = value == "full";
    else
      config.ignored.emplace_back(raw);
    return {};
  }
  Result<ConfigFile> finish() {
    if (config.numbers.empty())
      return Status::corrupt_data(
          concat(file_, ": no key of Megatron-LM or Hugging Face is in it (num-layers, hidden_size, ...)"));
    // Megatron-LM's default is two matrices; Hugging Face's decoders name their activation.
    if (is_megatron_ && !config.is_gated) config.is_gated = false;
    if (is_megatron_ && !config.is_tied) config.is_tied = true;
    std::sort(config.ignored.begin(), config.ignored.end());
    return std::move(config);
  }
  ConfigFile config;

 private:
  Status add_number(std::string_view raw, std::string_view flag, const json& value) {
    const auto number = number_of(value);
    if (!number)
      return Status::corrupt_data(
          concat(file_, ": ", raw, " is ", value.dump().substr(0, 40), ", not an integer"));
    const auto [place, is_new] = config.numbers.try_emplace(std::string(flag), *number);
    if (!is_new && place->second != *number)
      return Status::corrupt_data(concat(file_, ": ", raw, " says ", *number, " and an earlier key ",
                                         place->second, " for --", flag));
    is_megatron_ = is_megatron_ || normalised(raw) == "num_layers";
    return {};
  }
  Status add_not_modelled(std::string_view raw, std::string_view consequence, const json& value) {
    const auto number = number_of(value);
    if (number && *number <= 1) return {};
    config.not_modelled.push_back(
        concat(raw, " ", value.dump().substr(0, 40), " is not modelled: ", consequence));
    return {};
  }
  bool add_switch(const std::string& key, const json& value) {
    const bool is_on = truth_of(value);
    if (key == "swiglu" || key == "gated_linear_unit")
      config.is_gated = is_on;
    else if (key == "untie_embeddings_and_output_weights")
      config.is_tied = !is_on;
    else if (key == "use_distributed_optimizer")
      config.shards_optimizer = is_on;
    else if (key == "bf16" && is_on)
      config.dtype = DType::bfloat16;
    else if (key == "fp16" && is_on)
      config.dtype = DType::float16;
    else
      return key == "bf16" || key == "fp16";
    return true;
  }
  Status add_dtype(std::string_view raw, const json& value) {
    std::string word = value.is_string() ? value.get<std::string>() : value.dump();
    if (word.starts_with("torch.")) word.erase(0, 6);
    const auto dtype = parse_dtype(word);
    if (!dtype.is_ok()) return Status::corrupt_data(concat(file_, ": ", raw, ": ", dtype.status().message()));
    config.dtype = dtype.value();
    return {};
  }

  const std::string& file_;
  bool is_megatron_ = false;
};

Status add_object(Reader& reader, const json& object, int depth) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object() && depth > 0)
      RINGCOMM_TRY(add_object(reader, value, depth - 1));
    else
      RINGCOMM_TRY(reader.add(key, value));
  }
  return {};
}

/// Words of a launch script: "--key value", "--key=value", "key: value".
Status add_words(Reader& reader, std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : concat(text, '\n')) {
    const bool is_break =
        c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\\' || c == '"' || c == '\'' || c == ',';
    if (!is_break)
      word += c;
    else if (!word.empty())
      words.push_back(std::exchange(word, {}));
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string key = words[i];
    const bool is_yaml = key.size() > 1 && key.back() == ':';
    if (!is_yaml && !key.starts_with("--")) continue;
    json value = true;
    if (is_yaml) key.pop_back();
    if (const auto equals = key.find('='); equals != std::string::npos) {
      value = key.substr(equals + 1);
      key.resize(equals);
    } else if (i + 1 < words.size() && !words[i + 1].starts_with("--")) {
      value = words[i + 1];
    }
    while (key.starts_with('-')) key.erase(0, 1);
    RINGCOMM_TRY(reader.add(key, value));
  }
  return {};
}

}  // namespace

Result<ConfigFile> read_config(std::string_view text, const std::string& file) {
  if (text.size() > kBytesMax)
    return Status::corrupt_data(
        concat(file, ": ", text.size(), " bytes; a configuration has at most 16 MiB"));
  Reader reader(file);
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') {
    const json object = json::parse(text, nullptr, false);
    if (object.is_discarded())
      return Status::corrupt_data(concat(file, ": not JSON, though it begins with '{'"));
    RINGCOMM_TRY(add_object(reader, object, 1));
  } else {
    RINGCOMM_TRY(add_words(reader, text));
  }
  return reader.finish();
}

}  // namespace ringcomm::planner
