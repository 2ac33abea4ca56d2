// SPDX-License-Identifier: Apache-2.0
// Rings and graphs: "Channel 00/24 : 0 3 2 1", "Ring 00 : 0 1 2 3", "Pattern 4, crossNic 0, ...".
#include <charconv>

#include "core/parse.hpp"
#include "core/small_file.hpp"
#include "topology/readers/nccl_log/collector.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::nccl_log {
namespace {

constexpr std::size_t kRanksMax = 131072;

std::optional<double> parse_number(std::string_view text) { return parse_decimal<double>(text); }

/// "12.0/8.0" or "NVL/PIX" -> both halves.
std::pair<std::string_view, std::string_view> halves(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {text, {}};
  return {text.substr(0, slash), text.substr(slash + 1)};
}

/// Bandwidth 0 means: no network in this graph.
std::optional<double> positive(std::optional<double> value) {
  return value && *value > 0 ? value : std::nullopt;
}

void read_pattern_field(ConfiguredGraph& graph, std::string_view key, std::string_view value) {
  const auto [intra, inter] = halves(value);
  if (key == "Pattern") graph.pattern = parse_decimal<int>(value).value_or(0);
  if (key == "nChannels") graph.channels = parse_decimal<int>(value).value_or(0);
  if (key == "crossNic") graph.cross_nic = parse_decimal<int>(value);
  if (key == "bw" || key == "speed") {
    graph.intra_gb_per_s = positive(parse_number(intra));
    graph.inter_gb_per_s = positive(parse_number(inter));
  }
  if (key == "type") {
    graph.intra_class = parse_path_class(intra).value_or(PathClass::unknown);
    graph.inter_class = parse_path_class(inter).value_or(PathClass::unknown);
  }
}

}  // namespace

bool parse_ring(const Message& message, Collector& collector) {
  std::string_view text = trimmed(message.text);
  const bool is_channel = text.starts_with("Channel ");
  if (!is_channel && !text.starts_with("Ring ")) return false;
  const auto colon = text.find(" : ");
  if (colon == std::string_view::npos || text.find("->") != std::string_view::npos) return false;
  text = text.substr(is_channel ? 8 : 5);
  const auto [channel, channels] = halves(trimmed(text.substr(0, text.find(" : "))));
  const auto number = parse_decimal<int>(channel);
  std::vector<int> order;
  for (const std::string_view word : words_of(text.substr(text.find(" : ") + 3))) {
    const auto rank = parse_decimal<int>(word);
    if (!rank || *rank < 0 || order.size() == kRanksMax) {
      collector.skip(message, "a ring of other things than ranks");
      return true;
    }
    order.push_back(*rank);
  }
  if (!number || *number < 0 || order.empty() || message.is_torn) {
    collector.skip(message, "a ring that is cut");
    return true;
  }
  collector.add_ring(
      message, {.channel = *number, .order = std::move(order), .channels = parse_decimal<int>(channels)});
  return true;
}

bool parse_pattern(const Message& message, Collector& collector) {
  const std::string_view text = trimmed(message.text);
  if (!text.starts_with("Pattern ")) return false;
  if (message.is_torn) {
    collector.skip(message, "a graph that is cut");
    return true;
  }
  ConfiguredGraph graph;
  for (const std::string_view field : split(text, ',')) {
    const auto words = words_of(field);
    if (words.size() == 2) read_pattern_field(graph, words[0], words[1]);
  }
  collector.add_graph(message, std::move(graph));
  return true;
}

}  // namespace ringcomm::inline v0::topology::nccl_log
