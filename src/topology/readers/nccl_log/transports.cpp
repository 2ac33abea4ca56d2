// SPDX-License-Identifier: Apache-2.0
// "Channel 00/0 : 2[2] -> 3[3] [send] via NET/IB/0/GDRDMA", and what a rank says of its place in a ring.
#include "core/parse.hpp"
#include "topology/readers/nccl_log/collector.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::nccl_log {
namespace {

/// "2[3d000]" -> 2.
std::optional<int> rank_of(std::string_view word) {
  const auto rank = parse_decimal<int>(word.substr(0, word.find('[')));
  return rank && *rank >= 0 ? rank : std::nullopt;
}

/// The words behind "Channel 00/0 : " or "Ring 00 : ", and the channel's number.
std::optional<int> channel_of(std::string_view text, std::string_view& rest) {
  text = trimmed(text);
  for (const std::string_view start : {"Channel ", "Ring "}) {
    if (!text.starts_with(start)) continue;
    const std::size_t colon = text.find(" : ");
    if (colon == std::string_view::npos) return std::nullopt;
    rest = text.substr(colon + 3);
    const std::string_view number = text.substr(start.size(), colon - start.size());
    return parse_decimal<int>(trimmed(number.substr(0, number.find('/'))));
  }
  return std::nullopt;
}

}  // namespace

bool parse_transport(const Message& message, Collector& collector) {
  std::string_view rest;
  const auto channel = channel_of(message.text, rest);
  const auto via = between(rest, " via ", "");
  if (!channel || !via || message.is_torn) return false;
  const auto words = words_of(rest);
  if (words.size() < 4 || words[1] != "->") return false;
  const auto from = rank_of(words[0]);
  const auto to = rank_of(words[2]);
  if (!from || !to) return false;
  Values values{
      {"from", std::to_string(*from)}, {"to", std::to_string(*to)}, {"via", std::string(trimmed(*via))}};
  if (words[3] == "[send]" || words[3] == "[receive]")
    values.emplace_back("direction", words[3].substr(1, words[3].size() - 2));
  collector.add_event(message, LogEventKind::transport, std::move(values), Repeats::per_host);
  return true;
}

// "Ring 14 : 0 -> 2 -> 1": the rank in the middle has these neighbours.
bool parse_neighbours(const Message& message, Collector& collector) {
  std::string_view rest;
  const auto channel = channel_of(message.text, rest);
  const auto words = words_of(rest);
  if (!channel || words.size() != 5 || words[1] != "->" || words[3] != "->" || message.is_torn) return false;
  const auto rank = rank_of(words[2]);
  const auto next = rank_of(words[4]);
  if (!rank || !next) return false;
  collector.add_neighbour(message, *channel, *rank, *next);
  return true;
}

}  // namespace ringcomm::inline v0::topology::nccl_log
