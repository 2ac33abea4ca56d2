// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/core/env.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <utility>

#include <unistd.h>

#include "core/parse.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

constexpr std::array kVariables{
    EnvVariable{"RINGCOMM_RANK", EnvType::integer, "", "This process's rank, from 0; a launcher sets it."},
    EnvVariable{"RINGCOMM_SIZE", EnvType::integer, "", "Number of ranks; a launcher sets it."},
    EnvVariable{
        "RINGCOMM_STORE", EnvType::text, "",
        "Where the ranks meet: file:///dir (one host), tcp://host:port of rank 0, or id: and a unique id."},
    EnvVariable{"RINGCOMM_SECRET", EnvType::text, "",
                "Any text, the same on all ranks: keeps strangers out of a meeting at tcp://host:port."},
    EnvVariable{
        "RINGCOMM_SOCKET_IFNAME", EnvType::text, "",
        "Network interface as NCCL writes it: eth,ib are prefixes; = before exact names, ^ before excluded."},
    EnvVariable{"RINGCOMM_LOCAL_RANK", EnvType::integer, "",
                "This process's rank among those of its host; a launcher sets it."},
    EnvVariable{"RINGCOMM_LOCAL_SIZE", EnvType::integer, "",
                "Number of ranks of this host; a launcher sets it."},
    EnvVariable{"RINGCOMM_TIMEOUT", EnvType::milliseconds, "10m",
                "Deadline of each operation: 500ms, 30s, 10m, or plain milliseconds."},
    EnvVariable{"RINGCOMM_TRANSPORTS", EnvType::text, "inproc,shm,ucx",
                "Transports that may be used, best first: inproc, shm, ucx, mpi."},
    EnvVariable{"RINGCOMM_ARENA_BYTES", EnvType::bytes, "16M",
                "Arena of one rank (slots, flags, small exchanges), allocated once: 64K, 1M, 2G."},
    EnvVariable{
        "RINGCOMM_WAIT", EnvType::text, "automatic",
        "How ranks wait: own_core spins longer, oversubscribed yields soon, automatic counts the cores."},
    EnvVariable{"RINGCOMM_DISPATCH", EnvType::text, "",
                "Instruction level of the host kernels: scalar, avx2 or avx512_bf16; unset takes the best."},
    EnvVariable{"RINGCOMM_DEBUG", EnvType::text, "warn",
                "Lines written to standard error: off, warn, info or trace."},
    EnvVariable{"RINGCOMM_PIN", EnvType::flag, "1",
                "Lock the arena's pages in memory where RLIMIT_MEMLOCK allows it: 1 or 0."},
    EnvVariable{
        "RINGCOMM_RING_ORDER", EnvType::text, "auto",
        "Ring order: auto (planned), rank (0, 1, 2, ...), or all ranks as they follow each other: 0,2,1,3."},
    EnvVariable{
        "RINGCOMM_TOPO_FILE", EnvType::text, "",
        "File or directory that describes this host (lstopo or NCCL XML, ...), instead of what is live."},
    EnvVariable{
        "RINGCOMM_COSTS", EnvType::text, "",
        "What ringcomm-perf --calibrate wrote; rank 0's file decides on relays and how softmax merges go."},
    EnvVariable{"RINGCOMM_RECORD_DIR", EnvType::text, "",
                "Folder of the flight records, or off; unset takes /dev/shm/ringcomm-UID."},
    EnvVariable{"RINGCOMM_RECORD_ENTRIES", EnvType::integer, "4096",
                "Messages and operations that a rank's flight record holds, 64 bytes each."},
    EnvVariable{"RINGCOMM_WATCHDOG", EnvType::flag, "1",
                "On a timeout, mismatch or lost rank print one verdict from all flight records: 1 or 0."},
};

const EnvVariable* find(std::string_view name) {
  const auto at = std::ranges::find(kVariables, name, &EnvVariable::name);
  return at == kVariables.end() ? nullptr : &*at;
}

Status not_accepted(std::string_view name, std::string_view value, std::string_view accepted) {
  return Status::invalid_argument(
      concat(name, "=", value.substr(0, 100), " is not accepted (", accepted, ")."));
}

/// The text to parse: the variable's, else the default.
Result<std::string> text_of(std::string_view name, EnvType type) {
  const EnvVariable* const variable = find(name);
  if (variable == nullptr || variable->type != type) {
    return Status::internal(concat(name, " is not in the environment table with this type"));
  }
  if (auto text = env_text(name)) return *std::move(text);
  if (variable->default_value.empty()) {
    return Status::not_found(concat(name, " is not set. ", variable->sentence));
  }
  return std::string(variable->default_value);
}

// Bounded by what nanoseconds in 64 bits can hold, so that no deadline overflows.
constexpr std::int64_t kMillisecondsMax = std::numeric_limits<std::int64_t>::max() / 1'000'000;

std::optional<std::int64_t> parse_milliseconds(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 4> kUnits{
      {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}}};
  std::int64_t factor = 1;
  for (const auto& [suffix, milliseconds] : kUnits) {
    if (!text.ends_with(suffix)) continue;
    text.remove_suffix(suffix.size());
    factor = milliseconds;
    break;
  }
  const auto count = parse_count(text);
  if (!count || *count > kMillisecondsMax / factor) return std::nullopt;
  return *count * factor;
}

std::optional<bool> parse_flag(std::string_view text) {
  constexpr std::array<std::string_view, 8> kWords{"0", "1", "off", "on", "false", "true", "no", "yes"};
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    if (equals_ignoring_case(text, kWords[i])) return i % 2 == 1;
  }
  return std::nullopt;
}

}  // namespace

std::span<const EnvVariable> env_table() { return kVariables; }

std::optional<std::string> env_text(std::string_view name) {
  const EnvVariable* const variable = find(name);
  if (variable == nullptr) return std::nullopt;
  const char* const value = std::getenv(variable->name.data());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

Result<std::int64_t> env_integer(std::string_view name) {
  auto text = text_of(name, EnvType::integer);
  if (!text.is_ok()) return text.status();
  if (const auto value = parse_decimal<std::int64_t>(text.value())) return *value;
  return not_accepted(name, text.value(), "a decimal integer");
}

Result<std::int64_t> env_bytes(std::string_view name) {
  auto text = text_of(name, EnvType::bytes);
  if (!text.is_ok()) return text.status();
  auto value = parse_bytes(text.value());
  if (value.is_ok()) return value;
  return not_accepted(name, text.value(), "bytes below 2^63: a number with K, M, G or T, such as 16M");
}

Result<std::int64_t> env_milliseconds(std::string_view name) {
  auto text = text_of(name, EnvType::milliseconds);
  if (!text.is_ok()) return text.status();
  if (const auto value = parse_milliseconds(text.value())) return *value;
  return not_accepted(name, text.value(),
                      "a time: 500ms, 30s, 10m, 1h or plain milliseconds, at most 292 years");
}

Result<bool> env_flag(std::string_view name) {
  auto text = text_of(name, EnvType::flag);
  if (!text.is_ok()) return text.status();
  if (const auto value = parse_flag(text.value())) return *value;
  return not_accepted(name, text.value(), "1, 0, on, off, true, false, yes or no");
}

Result<std::size_t> env_choice(std::string_view name, std::span<const std::string_view> words) {
  auto text = text_of(name, EnvType::text);
  if (!text.is_ok()) return text.status();
  std::string accepted;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (equals_ignoring_case(text.value(), words[i])) return i;
    accepted += concat(i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  }
  return not_accepted(name, text.value(), accepted);
}

Result<std::int64_t> parse_bytes(std::string_view text) {
  constexpr std::string_view kSuffixes = "KMGT";
  std::string_view digits = text;
  int shift = 0;
  if (!text.empty()) {
    const char last = text.back();
    const auto at = kSuffixes.find(last >= 'a' ? static_cast<char>(last - 'a' + 'A') : last);
    if (at != std::string_view::npos) {
      shift = 10 * static_cast<int>(at + 1);
      digits.remove_suffix(1);
    }
  }
  const auto count = parse_count(digits);
  if (!count || *count > (std::numeric_limits<std::int64_t>::max() >> shift)) {
    return Status::invalid_argument(concat("'", text.substr(0, 100),
                                           "' is not a size in bytes (a number below 2^63 with K, M, G or "
                                           "T, binary). Write for example 64K or 1M"));
  }
  return *count << shift;
}

std::vector<std::string> unknown_env_warnings(std::span<const std::string> environment) {
  std::vector<std::string> warnings;
  for (const std::string_view entry : environment) {
    const std::string_view name = entry.substr(0, std::min<std::size_t>(entry.find('='), 100));
    if (!name.starts_with("RINGCOMM_") || find(name) != nullptr) continue;
    const auto nearest = std::ranges::min_element(
        kVariables, {}, [&](const EnvVariable& known) { return edit_distance(name, known.name); });
    warnings.push_back(concat("environment variable ", name,
                              " is not known (it has no effect). Did you mean ", nearest->name, "?"));
  }
  return warnings;
}

void warn_unknown_env() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::vector<std::string> environment;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
      environment.emplace_back(*entry);
    }
    for (const auto& warning : unknown_env_warnings(environment)) log(LogLevel::warn, warning);
  });
}

}  // namespace ringcomm::inline v0
