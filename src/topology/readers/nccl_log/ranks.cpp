// SPDX-License-Identifier: Apache-2.0
// What a rank says of itself: its communicator, GPU, CPUs, fabric, and whether its GPU reaches the network.
#include <array>

#include "core/parse.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/nccl_log/collector.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::nccl_log {
namespace {

/// The word behind `key` ("rank 3" -> "3"), where the key stands as a word of its own.
std::string_view word_after(std::string_view text, std::string_view key) {
  const auto words = words_of(text);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == key) return words[i + 1];
  }
  return {};
}

std::optional<int> number_after(std::string_view text, std::string_view key) {
  const auto number = parse_decimal<int>(word_after(text, key));
  return number && *number >= 0 ? number : std::nullopt;
}

std::optional<PciBusId> bus_after(std::string_view text, std::string_view key) {
  std::string_view word = word_after(text, key);
  if (word.starts_with("0x")) word.remove_prefix(2);
  const auto bus = parse_packed_bus_id(word);
  return bus.is_ok() ? std::optional(bus.value()) : std::nullopt;
}

bool parse_communicator(const Message& message, Collector& collector) {
  const std::string_view text = message.text;
  if (word_after(text, "comm").empty()) return false;
  const auto rank = number_after(text, "rank");
  auto ranks = number_after(text, "nRanks");
  if (!ranks) ranks = number_after(text, "nranks");
  if (!rank || !ranks || *rank >= *ranks) return false;
  Values values{{"rank", concat(*rank)}, {"ranks", concat(*ranks)}};
  if (const auto nodes = number_after(text, "nNodes")) values.emplace_back("nodes", concat(*nodes));
  if (const auto bus = bus_after(text, "busId")) {
    values.emplace_back("bus", bus->to_text());
    auto index = number_after(text, "nvmlDev");
    if (!index) index = number_after(text, "cudaDev");
    collector.machine().add_gpu(
        message.host, *bus,
        {.index = index, .rank = rank, .ranks = *ranks, .where = collector.where(message)});
  }
  collector.add_event(message, LogEventKind::communicator, std::move(values), Repeats::per_device);
  return true;
}

/// NVML's nvmlGpuFabricState_t.
std::string fabric_state(std::string_view number) {
  static constexpr std::array<std::string_view, 4> kWords{"not supported", "not started", "in progress",
                                                          "completed"};
  const auto state = parse_decimal<std::size_t>(number);
  return state && *state < kWords.size() ? std::string(kWords[*state]) : std::string();
}

bool parse_fabric(const Message& message, Collector& collector) {
  const std::string_view text = message.text;
  const std::string_view uuid = word_after(text, "UUID");
  const auto bus = bus_after(text, "busId");
  if (!trimmed(text).starts_with("MNNVL busId") || uuid.empty() || !bus) return false;
  const std::string clique(word_after(text, "cliqueId"));
  const std::string state(word_after(text, "state"));
  collector.add_event(message, LogEventKind::fabric,
                      {{"bus", bus->to_text()},
                       {"uuid", std::string(uuid)},
                       {"clique", clique},
                       {"state", state},
                       {"health", std::string(word_after(text, "healthMask"))}},
                      Repeats::per_device);
  collector.machine().add_gpu(message.host, *bus,
                              {.index = message.device,
                               .fabric_state = fabric_state(state),
                               .fabric_cluster = concat(uuid, " clique ", clique),
                               .where = collector.where(message)});
  return true;
}

bool parse_affinity(const Message& message, Collector& collector) {
  const auto rest = between(message.text, "Setting affinity for GPU ", "");
  if (!rest) return false;
  const auto words = words_of(*rest);
  // A mask that is cut reads as another mask.
  if (words.size() != 3 || words[1] != "to" || message.is_torn) return false;
  const bool is_list = words[2].find('-') != std::string_view::npos;
  const auto cpus = is_list ? parse_cpu_list(words[2]) : parse_cpu_mask(words[2]);
  if (!cpus) {
    collector.skip(message, "no CPU mask");
    return true;
  }
  collector.add_event(
      message, LogEventKind::affinity,
      {{"gpu", std::string(words[0])}, {"mask", std::string(words[2])}, {"cpus", cpu_list_text(*cpus)}},
      Repeats::per_device);
  return true;
}

bool parse_gpu_direct(const Message& message, Collector& collector) {
  const auto rest = between(message.text, "GPU Direct RDMA", "");
  if (!rest) return false;
  const bool is_enabled = rest->find("nabled") != std::string_view::npos;
  if (!is_enabled && rest->find("isabled") == std::string_view::npos) return false;
  const auto quoted = between(*rest, "'", "'");
  const std::string hca(quoted ? *quoted : word_after(*rest, "HCA"));
  collector.add_event(message, LogEventKind::gpu_direct,
                      {{"state", is_enabled ? "Enabled" : "Disabled"}, {"hca", hca}}, Repeats::per_device);
  return true;
}

bool parse_nvls(const Message& message, Collector& collector) {
  const std::string_view text = message.text;
  if (text.find("NVLS multicast support is ") == std::string_view::npos) return false;
  const auto channels = between(text, "(NVLS_NCHANNELS ", ")");
  const bool is_available = text.find("is available") != std::string_view::npos;
  collector.add_event(message, LogEventKind::nvls,
                      {{"state", is_available ? "available" : "not available"},
                       {"channels", std::string(channels.value_or(std::string_view()))}},
                      Repeats::per_device);
  return true;
}

}  // namespace

bool parse_rank(const Message& message, Collector& collector) {
  static constexpr std::array kParsers{parse_communicator, parse_fabric, parse_affinity, parse_gpu_direct,
                                       parse_nvls};
  for (const auto parse : kParsers) {
    if (parse(message, collector)) return true;
  }
  return false;
}

}  // namespace ringcomm::inline v0::topology::nccl_log
