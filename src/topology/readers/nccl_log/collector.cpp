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

void Collector::add_ring(const Message& message, int channel, std::vector<int> order) {
  std::string key = concat("ring ", channel);
  for (const int rank : order) key += concat(' ', rank);
  if (is_new(std::move(key))) job_.rings.push_back({channel, std::move(order), where(message)});
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
