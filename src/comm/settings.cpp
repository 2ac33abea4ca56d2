// SPDX-License-Identifier: Apache-2.0
#include "comm/settings.hpp"

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "core/small_file.hpp"
#include "core/try.hpp"
#include "ringcomm/core/env.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/topology/cost_model.hpp"
#include "ringcomm/topology/evidence.hpp"
#include "transport/registry.hpp"

namespace ringcomm::inline v0::comm {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Result<WaitStyle> wait_style_of(std::string_view text) {
  if (text == "automatic") return WaitStyle::automatic;
  if (text == "own_core") return WaitStyle::own_core;
  if (text == "oversubscribed") return WaitStyle::oversubscribed;
  return Status::invalid_argument(
      concat("RINGCOMM_WAIT is \"", text, "\" (automatic, own_core and oversubscribed are known)"));
}

Status resolve_waits(Settings& settings, const CommunicatorOptions& options) {
  if (options.deadline.count() < 0) {
    return Status::invalid_argument(concat("CommunicatorOptions::deadline is ", options.deadline.count(),
                                           " ms (it may not be negative)"));
  }
  settings.deadline = options.deadline;
  if (settings.deadline.count() == 0) {
    RINGCOMM_TRY_ASSIGN(const std::int64_t milliseconds, env_milliseconds("RINGCOMM_TIMEOUT"));
    if (milliseconds <= 0)
      return Status::invalid_argument(
          concat("RINGCOMM_TIMEOUT is ", milliseconds, " ms (it must be positive)"));
    settings.deadline = std::chrono::milliseconds(milliseconds);
  }
  settings.transport.wait_style = options.wait_style;
  if (options.wait_style == WaitStyle::automatic) {
    if (const auto text = env_text("RINGCOMM_WAIT")) {
      RINGCOMM_TRY_ASSIGN(settings.transport.wait_style, wait_style_of(*text));
    }
  }
  return {};
}

Status resolve_memory(Settings& settings, const CommunicatorOptions& options) {
  settings.arena_bytes = options.arena_bytes;
  if (settings.arena_bytes == 0) {
    RINGCOMM_TRY_ASSIGN(const std::int64_t bytes, env_bytes("RINGCOMM_ARENA_BYTES"));
    if (bytes <= 0)
      return Status::invalid_argument(concat("RINGCOMM_ARENA_BYTES is ", bytes, " (it must be positive)"));
    settings.arena_bytes = static_cast<std::size_t>(bytes);
  }
  RINGCOMM_TRY_ASSIGN(settings.pin, env_flag("RINGCOMM_PIN"));
  return {};
}

Status resolve_record(Settings& settings, const CommunicatorOptions& options) {
  if (const auto folder = env_text("RINGCOMM_RECORD_DIR")) {
    settings.record.is_on = *folder != "off";
    settings.record.folder = *folder;
  }
  settings.record.entries = options.record_entries;
  if (options.record_entries == 0) {
    RINGCOMM_TRY_ASSIGN(const std::int64_t entries, env_integer("RINGCOMM_RECORD_ENTRIES"));
    constexpr std::int64_t kEntriesMax = std::int64_t{1} << 24;
    if (entries < 1 || entries > kEntriesMax) {
      return Status::invalid_argument(
          concat("RINGCOMM_RECORD_ENTRIES is ", entries, " (1 to ", kEntriesMax, " are possible)"));
    }
    settings.record.entries = static_cast<std::uint32_t>(entries);
  }
  RINGCOMM_TRY_ASSIGN(settings.record.has_watchdog, env_flag("RINGCOMM_WATCHDOG"));
  return {};
}

/// Evidence files of the machine that this host is said to be.
Result<std::shared_ptr<const Machine>> described_machine(const std::string& path) {
  const std::filesystem::path file(path);
  std::vector<UnreadFile> unread;
  auto readings = read_evidence_paths(std::span(&file, 1), unread);
  if (!unread.empty()) {
    return Status(unread.front().status.code(),
                  concat("RINGCOMM_TOPO_FILE: ", unread.front().file, ": ", unread.front().status.message()));
  }
  return std::make_shared<const Machine>(merge_evidence(std::move(readings)).machine);
}

Status read_costs(TopologyWish& wish, const std::string& path) {
  std::error_code missing;
  if (!std::filesystem::is_regular_file(path, missing))
    return Status::not_found(concat("RINGCOMM_COSTS: there is no file ", path));
  constexpr std::size_t kBytesMax = std::size_t{1} << 20;
  RINGCOMM_TRY_ASSIGN(const CostModel costs, CostModel::from_json(read_small_file(path, kBytesMax), path));
  const auto measured = [&](PathClass path_class) {
    const ClassCost& cost = costs.of(path_class);
    return cost.source == Source::measured ? cost.gb_per_s.value_or(0) : 0;
  };
  wish.speeds = {.inside = measured(PathClass::loc), .between = measured(PathClass::sys)};
  wish.merge = costs.merge_limits();
  return {};
}

}  // namespace

Result<std::vector<TransportFactory>> named_transports(std::string_view list, std::string_view source) {
  std::vector<TransportFactory> chosen;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view name = trimmed(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
    TransportFactory factory = transport_named(name);
    if (!factory) {
      return Status::invalid_argument(
          concat(source, " names the transport \"", name, "\" (", kTransportNames, " are known)"));
    }
    chosen.push_back(std::move(factory));
  }
  if (chosen.empty())
    return Status::invalid_argument(concat(source, " names no transport (", kTransportNames, " are known)"));
  return chosen;
}

Result<Settings> resolve_settings(const CommunicatorOptions& options) {
  static std::once_flag warned;
  std::call_once(warned, warn_unknown_env);
  Settings settings;
  RINGCOMM_TRY(resolve_waits(settings, options));
  RINGCOMM_TRY(resolve_memory(settings, options));
  RINGCOMM_TRY(resolve_record(settings, options));
  settings.transports = options.transports;
  if (settings.transports.empty()) {
    if (const auto text = env_text("RINGCOMM_TRANSPORTS")) {
      RINGCOMM_TRY_ASSIGN(settings.transports, named_transports(*text, "RINGCOMM_TRANSPORTS"));
    } else {
      settings.transports = default_transports();
    }
  }
  return settings;
}

Result<TopologyWish> resolve_topology(const CommunicatorOptions& options) {
  TopologyWish wish;
  wish.machine = options.machine;
  if (const auto path = env_text("RINGCOMM_TOPO_FILE"); path && !wish.machine) {
    RINGCOMM_TRY_ASSIGN(wish.machine, described_machine(*path));
  }
  if (const auto path = env_text("RINGCOMM_COSTS")) RINGCOMM_TRY(read_costs(wish, *path));
  wish.ring_order = options.ring_order;
  if (!wish.ring_order.empty()) {
    wish.order_source = "CommunicatorOptions::ring_order";
    return wish;
  }
  const auto text = env_text("RINGCOMM_RING_ORDER");
  if (!text || *text == "auto") return wish;
  wish.keeps_rank_order = *text == "rank";
  if (wish.keeps_rank_order) return wish;
  RINGCOMM_TRY_ASSIGN(wish.ring_order, parse_ring_order(*text, wish.order_source));
  return wish;
}

}  // namespace ringcomm::inline v0::comm
