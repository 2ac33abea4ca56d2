// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/nccl_log/collector.hpp"

#include "ringcomm/core/text.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::nccl_log {
namespace {

/// Of events, rings and graphs together.
constexpr std::size_t kEntriesMax = 100000;

}  // namespace

bool Collector::is_new(std::string key) {
  if (seen_.size() >= kEntriesMax) {
    if (!seen_.contains(key)) ++dropped_;
    return false;
  }
  return seen_.insert(std::move(key)).second;
}

void Collector::add_event(const Message& message, LogEventKind kind, Values values, Repeats repeats) {
  std::string key = concat("event ", static_cast<int>(kind), '\n', message.host, '\n');
  if (repeats == Repeats::per_device && message.device) key += std::to_string(*message.device);
  for (const auto& [name, value] : values) key += concat('\n', name, '=', value);
  if (!is_new(std::move(key))) return;
  job_.events.push_back({.kind = kind,
                         .host = std::string(message.host),
                         .device = message.device,
                         .values = std::move(values),
                         .where = where(message)});
}

void Collector::add_ring(const Message& message, ConfiguredRing ring) {
  std::string key = concat("ring ", ring.channel);
  for (const int rank : ring.order) key += concat(' ', rank);
  if (!is_new(std::move(key))) return;
  ring.where = where(message);
  job_.rings.push_back(std::move(ring));
}

void Collector::add_neighbour(const Message& message, int channel, int rank, int next) {
  if (neighbour_count_ >= kEntriesMax) {
    ++dropped_;
    return;
  }
  Neighbours& known = neighbours_[channel];
  if (known.next.empty()) known.where = where(message);
  const auto [found, is_new] = known.next.emplace(rank, next);
  if (is_new) ++neighbour_count_;
  if (found->second != next) known.is_clear = false;
}

void Collector::finish_rings() {
  std::set<int> listed;
  for (const ConfiguredRing& ring : job_.rings) listed.insert(ring.channel);
  for (const auto& [channel, known] : neighbours_) {
    if (listed.contains(channel)) continue;
    std::vector<int> order;
    const int first = known.next.begin()->first;
    for (auto at = known.next.begin(); known.is_clear && order.size() < known.next.size();) {
      order.push_back(at->first);
      at = known.next.find(at->second);
      if (at == known.next.end() || at->first == first) break;
    }
    const auto last = order.empty() ? known.next.end() : known.next.find(order.back());
    if (last != known.next.end() && last->second == first && order.size() == known.next.size()) {
      job_.rings.push_back({channel, std::move(order), known.where});
    } else {
      add_skipped(skipped_, known.where, concat("channel ", channel),
                  concat(known.next.size(), " ranks told their neighbours, which is no whole ring"));
    }
  }
}

void Collector::add_graph(const Message& message, ConfiguredGraph graph) {
  // What the ranks of one communicator print alike.
  if (!is_new(concat("graph ", message.text))) return;
  graph.where = where(message);
  job_.graphs.push_back(std::move(graph));
}

void Collector::skip(const Message& message, std::string reason) {
  add_skipped(skipped_, where(message), message.text, std::move(reason));
}

}  // namespace ringcomm::inline v0::topology::nccl_log
