// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>
#include <thread>

#include "core/try.hpp"
#include "faults/made/fault_case.hpp"
#include "ringcomm/core/deadline.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/diag/explain.hpp"
#include "ringcomm/diag/watchdog.hpp"
#include "support/temp_dir.hpp"

namespace ringcomm::test {
namespace {

using namespace std::chrono_literals;

CommunicatorOptions options_of(const FaultCase& fault, Medium medium, const FaultSite& site) {
  CommunicatorOptions options = patient(site.deadline);
  if (fault.transports) options.transports = fault.transports(medium, site);
  return options;
}

Status rounds_and_fault(Communicator& comm, const FaultCase& fault, const FaultSite& site,
                        const std::function<void()>& begins) {
  for (int round = 0; round < site.rounds; ++round) RINGCOMM_TRY(healthy_round(comm, round));
  RINGCOMM_TRY(barrier(comm.channel(), {.deadline = std::chrono::seconds(20)}).status());
  begins();
  return fault.body(comm, site);
}

/// Everybody but the culprit has given up or ended.
diag::Verdict read_verdict(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> records;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) records.push_back(entry.path());
  }
  std::sort(records.begin(), records.end());
  return diag::explain(diag::read_live_records(records));
}

void judge(const FaultCase& fault, const FaultSite& site, std::int64_t began_ns, FaultRun& run) {
  const std::int64_t passed_ms = (now_ns() - began_ns) / 1'000'000;
  run.late_ms = passed_ms - site.deadline.count();
  const std::string culprit = std::to_string(site.culprit);
  const auto& suspects = run.verdict.suspects;
  run.is_right_kind = run.verdict.kind == fault.kind;
  run.is_right_culprit = fault.named == Named::culprit
                             ? run.verdict.culprits == std::vector<std::string>{culprit}
                             : run.verdict.culprits.empty() &&
                                   std::find(suspects.begin(), suspects.end(), culprit) != suspects.end();
}

FaultRun run_threads_with(const FaultCase& fault, FaultSite site, const std::filesystem::path& folder) {
  FaultRun run;
  std::atomic<bool> is_over{false};
  site.is_over = &is_over;
  auto made = Communicator::create_local(site.ranks, options_of(fault, Medium::threads, site));
  check(made.status());
  std::vector<std::string> said(static_cast<std::size_t>(site.ranks));
  std::atomic<int> ended{0};
  std::atomic<std::int64_t> began_ns{now_ns()};  // a fault that shows before its call counts from here
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < said.size(); ++rank) {
    threads.emplace_back([&, rank, comm = std::move(made.value()[rank])]() mutable {
      try {
        Communicator own = std::move(comm);
        said[rank] = rounds_and_fault(own, fault, site, [&] { began_ns = now_ns(); }).to_string();
        if (static_cast<int>(rank) != site.culprit) ++ended;
        while (!is_over) std::this_thread::sleep_for(1ms);  // the record stays as it is
        FaultSite::drop_kept();
      } catch (const std::exception& error) {
        said[rank] = concat("raised ", error.what());
      }
    });
  }
  const std::int64_t limit = now_ns() + 20'000'000'000;
  while (ended < site.ranks - 1 && now_ns() < limit) std::this_thread::sleep_for(2ms);
  run.verdict = read_verdict(folder);
  judge(fault, site, began_ns, run);
  is_over = true;
  threads.clear();
  for (std::size_t rank = 0; rank < said.size(); ++rank)
    run.said += concat("    rank ", rank, ": ", said[rank], "\n");
  return run;
}

FaultRun run_processes_with(const FaultCase& fault, const FaultSite& site,
                            const std::filesystem::path& folder) {
  FaultRun run;
  auto made = ForkedMesh::create(site.ranks);
  check(made.status());
  std::optional<ForkedMesh> mesh(std::move(made).value());
  ProcessRanks processes(site.ranks, [&](int rank, const RankVoice& voice) -> std::string {
    auto bootstrap = mesh->take(rank);
    if (!bootstrap.is_ok()) return bootstrap.status().to_string();
    auto comm =
        Communicator::create(std::move(bootstrap).value(), options_of(fault, Medium::processes, site));
    if (!comm.is_ok()) return comm.status().to_string();
    const Status status = rounds_and_fault(comm.value(), fault, site, [&] { voice.say("begins"); });
    voice.say("ended");
    site.idle();
    FaultSite::drop_kept();
    return status.to_string();
  });
  mesh.reset();
  std::int64_t began_ns = now_ns();
  for (int rank = 0; rank < site.ranks; ++rank) {
    processes.has_said(rank, "begins", 10s);
    began_ns = now_ns();
  }
  for (int rank = 0; rank < site.ranks; ++rank) {
    if (rank != site.culprit && !processes.has_said(rank, "ended", 10s))
      run.said += concat("    rank ", rank, " has not ended\n");
  }
  run.verdict = read_verdict(folder);
  judge(fault, site, began_ns, run);
  return run;
}

}  // namespace

FaultRun run_fault(const FaultCase& fault, Medium medium, const FaultSite& site) {
  const TempDir folder;
  ::setenv("RINGCOMM_RECORD_DIR", folder.path().c_str(), 1);
  FaultRun run = medium == Medium::threads ? run_threads_with(fault, site, folder.path())
                                           : run_processes_with(fault, site, folder.path());
  ::unsetenv("RINGCOMM_RECORD_DIR");
  return run;
}

}  // namespace ringcomm::test
