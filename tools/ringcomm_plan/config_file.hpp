// SPDX-License-Identifier: Apache-2.0
// Sizes out of the configuration that people have: Megatron-LM's arguments or JSON, Hugging Face's
// config.json.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model.hpp"

namespace ringcomm::planner {

struct ConfigFile {
  /// By the name of our flag without dashes in front: "layers", "kv-heads", "seq", "tp", ...
  std::map<std::string, std::int64_t, std::less<>> numbers{};
  std::optional<DType> dtype{};
  std::optional<bool> is_gated{};
  std::optional<bool> is_tied{};
  bool recomputes = false;
  bool shards_optimizer = false;
  std::vector<std::string> ignored{};       ///< keys, sorted
  std::vector<std::string> not_modelled{};  ///< a sentence each: the model has more than a dense decoder
};

/// JSON (also nested one level: "text_config", "model", ...), or "--key value", "--key=value" and "key:
/// value" words as in a launch script. '-' and '_' are the same in keys. At most 16 MiB. corrupt_data names
/// the key (not a number, not a type), or says that no known key is there.
Result<ConfigFile> read_config(std::string_view text, const std::string& file);

}  // namespace ringcomm::planner
