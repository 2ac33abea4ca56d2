// SPDX-License-Identifier: Apache-2.0
// What NCCL says of versions, variables and the network it chose.
#include <array>

#include "topology/readers/nccl_log/collector.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::nccl_log {
namespace {

std::string first_word(std::string_view text) {
  const auto words = words_of(text);
  return words.empty() ? std::string() : std::string(words.front());
}

bool parse_version(const Message& message, Collector& collector) {
  struct Known {
    std::string_view before;
    std::string_view library;
  };
  static constexpr std::array<Known, 5> kKnown{{{"RCCL version ", "RCCL"},
                                                {"NCCL version ", "NCCL"},
                                                {"cudaDriverVersion ", "CUDA driver"},
                                                {"Initializing aws-ofi-nccl ", "aws-ofi-nccl"},
                                                {"Using Libfabric version ", "libfabric"}}};
  for (const Known& known : kKnown) {
    const auto rest = between(message.text, known.before, "");
    if (!rest) continue;
    std::string version = first_word(*rest);
    if (version.empty()) return false;
    collector.add_event(message, LogEventKind::version,
                        {{"library", std::string(known.library)}, {"version", std::move(version)}},
                        Repeats::per_host);
    return true;
  }
  return false;
}

bool parse_environment(const Message& message, Collector& collector) {
  static constexpr std::string_view kSet = " set by environment to ";
  const std::size_t at = message.text.find(kSet);
  if (at == std::string_view::npos) return false;
  const std::string name(trimmed(message.text.substr(0, at)));
  std::string_view value = trimmed(message.text.substr(at + kSet.size()));
  // NCCL ends the sentence behind a number and not behind a path.
  if (value.ends_with('.')) value.remove_suffix(1);
  collector.add_event(message, LogEventKind::environment, {{"name", name}, {"value", std::string(value)}},
                      Repeats::per_host);
  if (name == "NCCL_TOPO_FILE")
    collector.add_event(message, LogEventKind::topology_file,
                        {{"variable", name}, {"path", std::string(value)}}, Repeats::per_host);
  return true;
}

bool parse_network(const Message& message, Collector& collector) {
  const std::string_view text = trimmed(message.text);
  static constexpr std::string_view kUsing = "Using network ";
  if (!text.starts_with(kUsing)) return false;
  collector.add_event(message, LogEventKind::network, {{"name", std::string(text.substr(kUsing.size()))}},
                      Repeats::per_host);
  return true;
}

}  // namespace

bool parse_info(const Message& message, Collector& collector) {
  static constexpr std::array kParsers{parse_version, parse_environment, parse_network};
  for (const auto parse : kParsers) {
    if (parse(message, collector)) return true;
  }
  return false;
}

}  // namespace ringcomm::inline v0::topology::nccl_log
