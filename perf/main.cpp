// SPDX-License-Identifier: Apache-2.0
// ringcomm-perf: nccl-tests' habits for ringcomm's operations.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "measure.hpp"
#include "options.hpp"
#include "plan_overhead.hpp"
#include "report_json.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/core/cpu_dispatch.hpp"
#include "ringcomm/core/env.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::perf {
namespace {

constexpr std::size_t kTextBytes = 64;  ///< per string that ranks exchange

std::unique_ptr<Case> make_case(Communicator& comm, const Options& options) {
  if (options.op == "ring_rotate") return make_ring_rotate(comm, options);
  if (options.op == "softmax_all_reduce") return make_softmax_all_reduce(comm, options);
  if (options.op == "all_gather") return make_all_gather(comm, options);
  return make_ring_attention(comm, options);
}

/// Every rank's strings on every rank; longer ones are cut.
Result<std::vector<std::string>> gather_texts(Communicator& comm, const std::vector<std::string>& mine) {
  std::vector<char> sent(mine.size() * kTextBytes, '\0');
  for (std::size_t i = 0; i < mine.size(); ++i)
    std::strncpy(&sent[i * kTextBytes], mine[i].c_str(), kTextBytes - 1);
  std::vector<char> all(sent.size() * static_cast<std::size_t>(comm.size()));
  auto done =
      all_gather(comm.channel(),
                 TensorView::contiguous(sent.data(), DType::uint8, {static_cast<std::int64_t>(sent.size())}),
                 TensorView::contiguous(all.data(), DType::uint8, {static_cast<std::int64_t>(all.size())}));
  if (!done.is_ok()) return done.status();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < all.size(); i += kTextBytes) texts.emplace_back(&all[i]);
  return texts;
}

Result<std::vector<RankInfo>> gather_ranks(Communicator& comm) {
  char host[kTextBytes] = {};
  gethostname(host, sizeof(host) - 1);
  std::string cpus;
  for (const int cpu : comm.placement().cpus) {
    if (!cpus.empty()) cpus += ',';
    cpus += std::to_string(cpu);
  }
  std::vector<std::string> mine{std::to_string(getpid()), host, cpus};
  for (int peer = 0; peer < comm.size(); ++peer) mine.emplace_back(comm.path_name(peer));
  auto texts = gather_texts(comm, mine);
  if (!texts.is_ok()) return texts.status();
  std::vector<RankInfo> ranks;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(comm.size()); ++rank) {
    const auto first = texts->begin() + static_cast<std::ptrdiff_t>(rank * mine.size());
    ranks.push_back({.rank = static_cast<int>(rank),
                     .pid = std::atoi(first->c_str()),
                     .host = first[1],
                     .cpus = first[2],
                     .paths = {first + 3, first + static_cast<std::ptrdiff_t>(mine.size())}});
  }
  return ranks;
}

/// wrong data has no StatusCode of its own: corrupt_data is what this program returns for it.
Status run_rank(Communicator& comm, const Options& options, const std::vector<std::string>& arguments) {
  auto ranks = gather_ranks(comm);
  if (!ranks.is_ok()) return ranks.status();
  if (comm.rank() == 0) {
    auto level = chosen_cpu_level();
    if (!level.is_ok()) return level.status();
    fmt::print("{}", format_header(options, ranks.value(), std::string(name_of(level.value()))));
  }
  const std::unique_ptr<Case> subject = make_case(comm, options);
  std::vector<Row> rows;
  auto wrong = measure(comm, options, *subject, [&](const Row& row) {
    if (rows.empty()) fmt::print("{}", format_titles(options, row.extras));
    fmt::print("{}", format_row(options, row));
    std::fflush(stdout);
    rows.push_back(row);
  });
  if (!wrong.is_ok()) return wrong.status();
  if (comm.rank() == 0) {
    fmt::print("{}", format_footer(options, wrong.value(), rows));
    std::fflush(stdout);
    if (!options.json.empty()) {
      Status written =
          write_file(options.json, format_json(options, arguments, ranks.value(), wrong.value(), rows));
      if (!written.is_ok()) return written;
    }
  }
  if (wrong.value() == 0) return {};
  return Status::corrupt_data(concat(wrong.value(), " elements are wrong"));
}

int exit_code_of(const Status& status) {
  switch (status.code()) {
    case StatusCode::ok:
      return kOk;
    case StatusCode::timeout:
      return kTimeout;
    case StatusCode::not_available:
      return kNotAvailable;
    case StatusCode::invalid_argument:
      return kUsage;
    case StatusCode::corrupt_data:
      return kWrongData;
    case StatusCode::internal:
      return kInternal;
    default:
      return kLibrary;
  }
}

int report_plan_overhead(int ranks) {
  const auto overhead = measure_plan_overhead(ranks, 20000);
  if (!overhead.is_ok()) {
    std::fprintf(stderr, "ringcomm-perf: %s\n", overhead.status().to_string().c_str());
    return exit_code_of(overhead.status());
  }
  fmt::print(
      "# ring_rotate --plan-overhead: one thread, flags already set, {} ranks, median of 7 interleaved "
      "runs\n",
      ranks);
  fmt::print(
      "plan and executor {:8.1f} ns per step\nhand-written loop {:8.1f} ns per step\noverhead          "
      "{:8.1f} ns per step\n",
      overhead->executor_ns, overhead->hand_written_ns, overhead->overhead_ns());
  return kOk;
}

int run(const Options& options, const std::vector<std::string>& arguments) {
  if (options.plan_overhead) return report_plan_overhead(std::max(4, std::min(options.ranks(), 16)));
  CommunicatorOptions comm_options;
  comm_options.deadline = std::chrono::milliseconds(options.timeout_ms);
  const auto body = [&](Communicator& comm) { return run_rank(comm, options, arguments); };
  const Status status = options.processes > 0 ? run_processes(options.processes, body, comm_options)
                                              : run_threads(options.threads, body, comm_options);
  if (!status.is_ok()) std::fprintf(stderr, "ringcomm-perf: %s\n", status.to_string().c_str());
  return exit_code_of(status);
}

}  // namespace
}  // namespace ringcomm::perf

int main(int argc, char** argv) {
  const auto parsed = ringcomm::perf::parse(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  ringcomm::warn_unknown_env();
  return ringcomm::perf::run(parsed.options, {argv, argv + argc});
}
