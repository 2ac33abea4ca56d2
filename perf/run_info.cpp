// SPDX-License-Identifier: Apache-2.0
#include "run_info.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/core/cpu_dispatch.hpp"
#include "ringcomm/core/text.hpp"
#include "try.hpp"

namespace ringcomm::perf {
namespace {

constexpr std::size_t kTextBytes = 64;  ///< per string that ranks exchange

/// Every rank's strings on every rank; longer ones are cut.
Result<std::vector<std::string>> gather_texts(Communicator& comm, const std::vector<std::string>& mine) {
  std::vector<char> sent(mine.size() * kTextBytes, '\0');
  for (std::size_t i = 0; i < mine.size(); ++i)
    std::strncpy(&sent[i * kTextBytes], mine[i].c_str(), kTextBytes - 1);
  std::vector<char> all(sent.size() * static_cast<std::size_t>(comm.size()));
  PERF_TRY(
      all_gather(comm.channel(),
                 TensorView::contiguous(sent.data(), DType::uint8, {static_cast<std::int64_t>(sent.size())}),
                 TensorView::contiguous(all.data(), DType::uint8, {static_cast<std::int64_t>(all.size())}))
          .status());
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < all.size(); i += kTextBytes) texts.emplace_back(&all[i]);
  return texts;
}

/// The "model name" of /proc/cpuinfo.
std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown CPU";
}

}  // namespace

Result<RunInfo> gather_run_info(Communicator& comm, const std::string& launch) {
  RunInfo run{.cpu_level = {}, .device = cpu_name(), .launch = launch};
  PERF_TRY_ASSIGN(const CpuLevel level, chosen_cpu_level());
  run.cpu_level = name_of(level);
  char host[kTextBytes] = {};
  gethostname(host, sizeof(host) - 1);
  std::string cpus;
  for (const int cpu : comm.placement().cpus) cpus += concat(cpus.empty() ? "" : ",", cpu);
  std::vector<std::string> mine{std::to_string(getpid()), host, cpus};
  for (int peer = 0; peer < comm.size(); ++peer) mine.emplace_back(comm.path_name(peer));
  PERF_TRY_ASSIGN(const auto texts, gather_texts(comm, mine));
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(comm.size()); ++rank) {
    const auto first = texts.begin() + static_cast<std::ptrdiff_t>(rank * mine.size());
    run.ranks.push_back({.rank = static_cast<int>(rank),
                         .pid = std::atoi(first->c_str()),
                         .host = first[1],
                         .cpus = first[2],
                         .paths = {first + 3, first + static_cast<std::ptrdiff_t>(mine.size())}});
  }
  return run;
}

Result<std::string> describe_memory(Communicator& comm) {
  const CommunicatorCounters counters = comm.counters();
  std::int64_t mine[3] = {static_cast<std::int64_t>(counters.arena_bytes),
                          static_cast<std::int64_t>(counters.arena_high_water_bytes),
                          static_cast<std::int64_t>(counters.bytes_packed)};
  std::vector<std::int64_t> all(3 * static_cast<std::size_t>(comm.size()));
  PERF_TRY(all_gather(comm.channel(), TensorView::contiguous(mine, DType::int64, {3}),
                      TensorView::contiguous(all.data(), DType::int64, {3 * comm.size()}))
               .status());
  std::uint64_t sums[3] = {};
  for (std::size_t i = 0; i < all.size(); ++i) sums[i % 3] += static_cast<std::uint64_t>(all[i]);
  return fmt::format("# {:<20} : arenas {} (used {}) | copied, not in a window {}\n", "Host memory usage",
                     format_bytes(sums[0]), format_bytes(sums[1]), format_bytes(sums[2]));
}

}  // namespace ringcomm::perf
