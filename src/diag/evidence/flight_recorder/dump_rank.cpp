// SPDX-License-Identifier: Apache-2.0
// A dump does not say whose it is; its groups and its sends do, often enough to check the file's name.
#include "diag/evidence/flight_recorder/dump_rank.hpp"

#include <algorithm>
#include <charconv>

namespace ringcomm::inline v0::diag::flight_recorder {
namespace {

/// A rank lists the groups that it is in, so it is in all of them.
std::vector<int> in_all_groups(const Dump& dump) {
  std::vector<int> common;
  bool is_first = true;
  for (const auto& [key, group] : dump.groups) {
    if (group.ranks.empty()) continue;
    std::vector<int> ranks = group.ranks;
    std::ranges::sort(ranks);
    if (is_first) {
      common = std::move(ranks);
      is_first = false;
      continue;
    }
    std::vector<int> both;
    std::ranges::set_intersection(common, ranks, std::back_inserter(both));
    common = std::move(both);
  }
  return common;
}

/// The rank that all sends and receives name as their own end; unknown when they disagree.
int from_messages(const Dump& dump) {
  int rank = kUnknown;
  for (const Entry& entry : dump.entries) {
    const auto ends = message_ends(entry.op.name);
    const auto group = dump.groups.find(entry.op.group);
    if (!ends || group == dump.groups.end()) continue;
    const std::vector<int>& ranks = group->second.ranks;
    if (static_cast<std::size_t>(ends->own) >= ranks.size()) continue;
    const int own = ranks[static_cast<std::size_t>(ends->own)];
    if (rank != kUnknown && rank != own) return kUnknown;
    rank = own;
  }
  return rank;
}

bool holds(const std::vector<int>& ranks, int rank) { return std::ranges::find(ranks, rank) != ranks.end(); }

}  // namespace

std::optional<MessageEnds> message_ends(std::string_view name) {
  auto arrow = name.find("->");
  if (arrow == std::string_view::npos) arrow = name.find("<-");
  if (arrow == std::string_view::npos) return std::nullopt;
  const std::size_t begin = name.find_last_not_of("0123456789", arrow == 0 ? 0 : arrow - 1) + 1;
  const auto number = [](std::string_view text) {
    int value = kUnknown;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    return result.ec == std::errc() && value >= 0 ? value : kUnknown;
  };
  const MessageEnds ends{number(name.substr(begin, arrow - begin)), number(name.substr(arrow + 2))};
  if (ends.own == kUnknown || ends.peer == kUnknown) return std::nullopt;
  return ends;
}

int rank_of_dump(const Dump& dump, std::string_view path) {
  if (dump.rank != kUnknown) return dump.rank;
  const std::vector<int> common = in_all_groups(dump);
  const int by_messages = from_messages(dump);
  if (holds(common, by_messages)) return by_messages;
  if (common.size() == 1) return common[0];
  const int by_name = rank_of_name(path);
  return common.empty() || holds(common, by_name) ? by_name : kUnknown;
}

}  // namespace ringcomm::inline v0::diag::flight_recorder
