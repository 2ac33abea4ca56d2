// SPDX-License-Identifier: Apache-2.0
// Ranks that die, stop, raise or leave, in the middle of a rotation.
#include <signal.h>

#include <stdexcept>

#include "core/try.hpp"
#include "faults/made/fault_case.hpp"
#include "ringcomm/collectives/basic.hpp"

namespace ringcomm::test {
namespace {

/// Rotates; at the site's step the culprit does `act`.
Status rotate_until(Communicator& comm, const FaultSite& site, const std::function<void()>& act) {
  RINGCOMM_TRY_ASSIGN(const Block block, make_block(comm));
  RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), block.k, block.v));
  for (int round = 0; round < 20; ++round) {
    RINGCOMM_TRY(rotate_checked(comm, block, rotation, round, [&](int step) {
      if (site.is_culprit(comm) && round == site.rounds && step == site.step) act();
    }));
  }
  return {};
}

FaultCase signalled(std::string_view name, int signal, diag::FaultKind kind) {
  return {.name = name,
          .kind = kind,
          .has_threads = false,
          .body = [signal](Communicator& comm, const FaultSite& site) {
            return rotate_until(comm, site, [signal] {
              ::signal(signal, SIG_DFL);
              ::raise(signal);
            });
          }};
}

}  // namespace

void add_process_faults(std::vector<FaultCase>& cases) {
  using diag::FaultKind;
  cases.push_back(signalled("sigkill", SIGKILL, FaultKind::rank_died));
  cases.push_back(signalled("segfault", SIGSEGV, FaultKind::rank_died));
  cases.push_back(signalled("sigstop", SIGSTOP, FaultKind::rank_unresponsive));
  cases.push_back({.name = "exception",
                   .kind = FaultKind::rank_exception,
                   .body = [](Communicator& comm, const FaultSite& site) {
                     return rotate_until(comm, site,
                                         [] { throw std::runtime_error("tokens are out of vocabulary"); });
                   }});
  cases.push_back({.name = "teardown",
                   .kind = FaultKind::teardown_hang,
                   .body = [](Communicator& comm, const FaultSite& site) {
                     if (!site.is_culprit(comm)) return reduce_once(comm.channel(), 128);
                     { const Communicator leaves = std::move(comm); }
                     site.idle();
                     return Status();
                   }});
}

}  // namespace ringcomm::test
