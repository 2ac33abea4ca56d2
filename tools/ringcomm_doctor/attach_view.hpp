// SPDX-License-Identifier: Apache-2.0
// One look at a live job, for people and for programs.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "ringcomm/diag/hang_evidence.hpp"
#include "ringcomm/diag/live.hpp"
#include "ringcomm/diag/verdict.hpp"

namespace ringcomm::doctor {

/// Two looks at one job, some time apart: what did not change between them stands still.
struct AttachView {
  std::vector<diag::LiveRank> ranks{};
  bool has_moved = true;  ///< some rank posted, completed or stepped between the looks
  /// unique_id of groups with an open operation in which nobody moved, although others of the job did.
  std::set<std::string> standing{};
  diag::Verdict verdict{};  ///< of all groups where nothing has moved, else of those that stand

  bool is_explained() const { return !has_moved || !standing.empty(); }
};

/// Whether any rank of `now` is further than in `before`, or new.
bool has_moved(const std::vector<diag::LiveRank>& before, const std::vector<diag::LiveRank>& now);

/// Groups with an operation that has been open for at least `age_ns`, and in which no rank has moved.
std::set<std::string> standing_groups(const std::vector<diag::LiveRank>& before,
                                      const std::vector<diag::LiveRank>& now, std::int64_t age_ns);

/// What is said of the groups with these unique_ids, and all that is said of processes.
diag::HangEvidence facts_of_groups(diag::HangEvidence evidence, const std::set<std::string>& unique_ids);

/// How far `rank` lies behind the one of `ranks` that has entered the most operations of the same group.
std::int64_t behind(const std::vector<diag::LiveRank>& ranks, const diag::LiveGroup& group);

std::string attach_text(const AttachView& view, std::size_t columns, bool is_verbose);
std::string attach_json(const AttachView& view);

/// One line for each job, for people who have to choose.
std::string job_list(const std::vector<diag::LiveRank>& ranks);

}  // namespace ringcomm::doctor
