// SPDX-License-Identifier: Apache-2.0
// What NCCL says of versions, variables and the network it chose.
#include <array>

#include "ringcomm/core/text.hpp"
#include "topology/readers/nccl_log/collector.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::nccl_log {
namespace {

constexpr std::size_t kInterfacesMax = 4096;

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

/// A plugin sets the variable by itself.
bool parse_topology_file(const Message& message, Collector& collector) {
  const auto path = between(message.text, "Setting NCCL_TOPO_FILE environment variable to ", "");
  if (!path) return false;
  collector.add_event(message, LogEventKind::topology_file,
                      {{"variable", "NCCL_TOPO_FILE"}, {"path", std::string(trimmed(*path))}},
                      Repeats::per_host);
  return true;
}

// "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:192.0.2.1<0>", "Bootstrap : Using eth0:...".
bool parse_interfaces(const Message& message, Collector& collector) {
  const std::string_view text = trimmed(message.text);
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  std::string_view plugin = trimmed(text.substr(0, colon));
  if (plugin.starts_with("NET/")) plugin.remove_prefix(4);
  std::string_view rest = trimmed(text.substr(colon + 1));
  if (!rest.starts_with("Using ") || (plugin != "Bootstrap" && !rest.starts_with("Using ["))) return false;
  rest = rest.substr(6, rest.find(';') - 6);
  std::vector<std::string> names;
  std::string list;
  std::string layers;
  for (std::string_view word : words_of(rest)) {
    if (word.starts_with('[')) word.remove_prefix(std::min(word.size(), word.find(']') + 1));
    if (word.empty() || names.size() >= kInterfacesMax) continue;  // "[RO]"
    names.emplace_back(word.substr(0, word.find(':')));
    list += concat(list.empty() ? "" : ",", names.back());
    const std::size_t slash = word.find('/');
    if (slash != std::string_view::npos) layers += concat(layers.empty() ? "" : ",", word.substr(slash + 1));
    if (plugin == "Bootstrap") break;
  }
  if (names.empty() || message.is_torn) return false;
  if (plugin != "Bootstrap") collector.machine().add_interfaces(message.host, names, plugin != "Socket");
  Values values{{"plugin", std::string(plugin)}, {"list", std::move(list)}};
  if (!layers.empty()) values.emplace_back("layers", std::move(layers));
  collector.add_event(message, LogEventKind::interfaces, std::move(values), Repeats::per_host);
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
  static constexpr std::array kParsers{parse_version, parse_environment, parse_topology_file,
                                       parse_interfaces, parse_network};
  for (const auto parse : kParsers) {
    if (parse(message, collector)) return true;
  }
  return false;
}

}  // namespace ringcomm::inline v0::topology::nccl_log
