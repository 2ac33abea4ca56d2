// SPDX-License-Identifier: Apache-2.0
#include "faults/made/killed_records.hpp"

#include <signal.h>
#include <stdlib.h>

#include <map>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "core/try.hpp"
#include "faults/fault_ranks.hpp"
#include "ringcomm/core/text.hpp"
#include "support/temp_dir.hpp"

namespace ringcomm::test {
namespace {

using namespace std::chrono_literals;
using diag::StepFact;

/// Of one message: the call and its step. A rotation meets each peer at most once in a step.
using Place = std::pair<std::int64_t, int>;
struct Pair {
  std::set<Place> posted, returned;   ///< by the sender: outgoing posted, outgoing released
  std::set<Place> arrived, released;  ///< by the receiver
};

/// Those of `seen` that are not in `known`, of what `known` still holds (records are rings: old ones are
/// gone).
std::size_t missing_in(const std::set<Place>& seen, const std::set<Place>& known) {
  if (known.empty()) return seen.size();
  std::size_t missing = 0;
  for (const Place& place : seen) missing += place > *known.begin() && !known.contains(place) ? 1 : 0;
  return missing;
}

Status rotate_for_ever(Communicator& comm, const std::function<void()>& has_begun) {
  RINGCOMM_TRY_ASSIGN(const Block block, make_block(comm));
  RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), block.k, block.v));
  for (int round = 0;; ++round) {
    RINGCOMM_TRY(rotate_checked(comm, block, rotation, round));
    if (round == 2) has_begun();
  }
}

}  // namespace

std::string differences_of(const diag::HangEvidence& evidence, int dead, std::int64_t& compared) {
  std::map<std::pair<int, int>, Pair> pairs;  // sender, receiver
  for (const StepFact& step : evidence.steps) {
    const Place place{step.seq, step.step};
    if (step.is_incoming) {
      Pair& pair = pairs[{step.peer, step.who.rank}];
      if (step.arrived_ns) pair.arrived.insert(place);
      if (step.released_ns) pair.released.insert(place);
    } else {
      Pair& pair = pairs[{step.who.rank, step.peer}];
      pair.posted.insert(place);
      if (step.released_ns) pair.returned.insert(place);
    }
  }
  std::string text;
  const auto expect = [&](const std::pair<int, int>& ranks, std::string_view what,
                          const std::set<Place>& seen, const std::set<Place>& known, std::size_t allowed) {
    compared += static_cast<std::int64_t>(seen.size());
    const std::size_t missing = missing_in(seen, known);
    if (missing > allowed)
      text += concat("rank ", ranks.first, " to ", ranks.second, ": ", missing, " messages ", what, "; ");
  };
  for (const auto& [ranks, pair] : pairs) {
    if (ranks.first == dead)
      expect(ranks, "arrived that the dead rank has not recorded as posted", pair.arrived, pair.posted, 1);
    if (ranks.second == dead) {
      expect(ranks, "were given back that the dead rank has not recorded as released", pair.returned,
             pair.released, 1);
      expect(ranks, "arrived at the dead rank that nobody posted", pair.arrived, pair.posted, 0);
    }
  }
  return text;
}

KilledRun kill_one(std::uint64_t seed) {
  std::mt19937_64 random(seed + 17);
  const int ranks = 2 + static_cast<int>(random() % 3);
  const int dead = static_cast<int>(random() % static_cast<std::uint64_t>(ranks));
  const std::chrono::microseconds lives(random() % 20'000);
  const TempDir folder;
  ::setenv("RINGCOMM_RECORD_DIR", folder.path().c_str(), 1);
  auto made = ForkedMesh::create(ranks);
  check(made.status());
  std::optional<ForkedMesh> mesh(std::move(made).value());
  ProcessRanks processes(ranks, [&](int rank, const RankVoice& voice) -> std::string {
    auto bootstrap = mesh->take(rank);
    if (!bootstrap.is_ok()) return bootstrap.status().to_string();
    auto comm = Communicator::create(std::move(bootstrap).value(), patient());
    if (!comm.is_ok()) return comm.status().to_string();
    return rotate_for_ever(comm.value(), [&] { voice.say("rotates"); }).to_string();
  });
  mesh.reset();
  processes.has_said(dead, "rotates", 20s);
  std::this_thread::sleep_for(lives);
  processes.send_signal(dead, SIGKILL);
  for (int rank = 0; rank < ranks; ++rank) processes.wait(rank, 20s);
  ::unsetenv("RINGCOMM_RECORD_DIR");
  const std::vector<std::filesystem::path> paths{folder.path()};
  const diag::HangEvidence evidence = diag::read_hang_evidence(paths);
  KilledRun run;
  for (const StepFact& step : evidence.steps) run.messages_of_the_dead += step.who.rank == dead ? 1 : 0;
  run.was_read = run.messages_of_the_dead > 0;
  run.differences = differences_of(evidence, dead, run.states_compared);
  return run;
}

}  // namespace ringcomm::test
