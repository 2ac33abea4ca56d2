// SPDX-License-Identifier: Apache-2.0
// What is done with outside bytes, for libFuzzer and for the replay of the kept corpus alike. Each function
// aborts, with one line that says why, when a reader breaks a promise of machine.hpp.
#pragma once

#include <string_view>

namespace ringcomm::fuzz {

/// One reader, by the name of its format; a text that it refuses is fine.
void read_format(std::string_view format, std::string_view text);
/// Both halves of the text (split at a line "====") through detection, laid over each other, then paths.
void read_and_merge(std::string_view text);
/// Bus ids, link speeds, CPU lists and masks, path classes, numbers.
void parse_words(std::string_view text);
/// Files of measured costs and of the order of hosts.
void parse_costs(std::string_view text);

}  // namespace ringcomm::fuzz
