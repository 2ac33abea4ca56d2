// SPDX-License-Identifier: Apache-2.0
// The small grammar that text readers share.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/topology/evidence.hpp"

namespace ringcomm::inline v0::topology {

std::string_view trimmed(std::string_view text);
/// Calls `visit(line, number)` for every line, from 1, without its end of line (\n or \r\n).
void for_each_line(std::string_view text, const std::function<void(std::string_view, int)>& visit);
/// Words between runs of spaces and tabs.
std::vector<std::string_view> words_of(std::string_view text);
/// At most 80 characters, control characters and bytes that are not UTF-8 as \xNN.
std::string shown(std::string_view text);
/// What stands between `before` and `after` (empty: the end of the text); nothing when either is missing.
std::optional<std::string_view> between(std::string_view text, std::string_view before,
                                        std::string_view after);
/// Appends unless kSkippedMax entries are there; then one last entry counts the rest.
void add_skipped(std::vector<Skipped>& skipped, Where where, std::string_view text, std::string reason);

/// "0-55,112-167", "6,14,22,30" -> CPU numbers, sorted, each once; nothing for other text or numbers above
/// kCpusMax.
std::optional<std::vector<int>> parse_cpu_list(std::string_view text);
/// "0003ff,f0003fff" (comma groups of 32 bits each, the first may be short; 0x allowed) -> CPU numbers.
std::optional<std::vector<int>> parse_cpu_mask(std::string_view text);
/// "0-3,8" of sorted numbers; empty for none.
std::string cpu_list_text(const std::vector<int>& cpus);
/// Decimal, or hexadecimal with 0x: what strtol with base 0 reads; the whole text.
std::optional<long long> parse_base0(std::string_view text);

}  // namespace ringcomm::inline v0::topology
