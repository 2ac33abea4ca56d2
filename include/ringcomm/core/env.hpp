// SPDX-License-Identifier: Apache-2.0
// The one table of environment variables: what programs print and docs/environment.md copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/core/result.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

enum class EnvType : std::uint8_t { text, integer, bytes, milliseconds, flag };

struct EnvVariable {
  std::string_view name;  ///< RINGCOMM_...
  EnvType type;
  std::string_view default_value;  ///< as one would write it
  std::string_view sentence;       ///< what it does, one sentence
};

std::span<const EnvVariable> env_table();

/// The variable's value, or nothing when it is unset, empty, or not in the table.
std::optional<std::string> env_text(std::string_view name);
/// The value or the table's default. invalid_argument names variable, value and what is accepted; not_found
/// when it is unset and has no default; internal when the table has no such name with this type.
Result<std::int64_t> env_integer(std::string_view name);  ///< decimal
Result<std::int64_t> env_bytes(std::string_view name);    ///< 64K, 1M, 2G: binary, both cases
Result<std::int64_t> env_milliseconds(
    std::string_view
        name);  ///< 500ms, 30s, 10m, 1h or plain milliseconds; never more than 64-bit nanoseconds can hold
Result<bool> env_flag(std::string_view name);  ///< 1/0, on/off, true/false, yes/no
/// For a variable of type text with a few values: the index of its value (or of the default) in `words`,
/// compared without case.
Result<std::size_t> env_choice(std::string_view name, std::span<const std::string_view> words);

/// One sentence for each RINGCOMM_* variable in `environment` ("NAME=value") that the table does not know,
/// with the nearest known name.
std::vector<std::string> unknown_env_warnings(std::span<const std::string> environment);
/// The same for this process, printed once to standard error.
void warn_unknown_env();

/// One line with name, type, value in force (its source), default, then the sentence: at most 100 columns.
std::string format_env_table();

/// Parses "64K", "1m", "2G", "1T", "17": binary suffixes. invalid_argument for signs, overflow and other
/// text.
Result<std::int64_t> parse_bytes(std::string_view text);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
