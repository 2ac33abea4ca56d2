// SPDX-License-Identifier: Apache-2.0
// The work is done and only heartbeat monitors complain: closing the communicators hangs.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "diag/explain/events/side.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

bool is_timed_out(const OpFact& op) { return op.is_timed_out; }

/// "several EXPERT groups" of EXPERT_MODEL_PARALLEL_GROUP and EXPERT_TENSOR_PARALLEL_GROUP.
std::string text_of_groups(const std::set<std::string>& groups) {
  if (groups.empty()) return {};
  if (groups.size() == 1) return *groups.begin();
  const auto first_word = [](const std::string& text) {
    const auto end = text.find_first_of("_ ");
    return end == std::string::npos ? std::string() : text.substr(0, end);
  };
  const std::string word = first_word(*groups.begin());
  const bool is_common =
      !word.empty() && std::all_of(groups.begin(), groups.end(),
                                   [&](const std::string& group) { return first_word(group) == word; });
  return is_common ? concat("several ", word, " groups") : std::string("several groups");
}

/// What the keys of groups are called in each file: the description where there is one.
using GroupNames = std::map<std::pair<std::int32_t, std::string>, std::string>;

GroupNames group_names_of(const SideEvidence& side) {
  GroupNames names;
  for (const GroupFact& group : side.evidence().groups) {
    names.try_emplace({group.source.file, group.key}, !group.description.empty() ? group.description
                                                      : !group.name.empty()      ? group.name
                                                                                 : group.key);
  }
  return names;
}

}  // namespace

void explain_teardown(const SideEvidence& side, std::vector<Candidate>& out) {
  const auto& stuck = side.of(EventKind::heartbeat_stuck);
  if (stuck.empty() || side.has(EventKind::timeout)) return;
  const auto& ops = side.evidence().ops;
  if (std::any_of(ops.begin(), ops.end(), is_timed_out)) return;
  const auto& finished = side.of(EventKind::finished);
  const bool is_finished = std::any_of(finished.begin(), finished.end(), [&stuck](const EventFact* event) {
    return !is_before(*stuck.front(), *event);
  });
  Candidate candidate = is_finished
                            ? candidate_of(side, FaultKind::teardown_hang, Grade::likely, Weight::strong,
                                           "after_the_work", finished.front(), "the work was done")
                            : candidate_of(side, FaultKind::teardown_hang, Grade::possible, Weight::weak,
                                           "heartbeat_only", nullptr);
  Verdict& verdict = candidate.verdict;
  const GroupNames names = group_names_of(side);
  std::set<std::string> labels;
  std::set<std::string> groups;
  constexpr std::size_t kMost = 4096;
  for (const EventFact* event : stuck) {
    if (labels.size() >= kMost) break;
    labels.insert(side.label_of(event->who, event->group));
    const auto named = names.find({event->source.file, event->group});
    const std::string& group = named == names.end() ? event->group : named->second;
    if (!group.empty()) groups.insert(group);
    add_quote(side, verdict, event->source, event->text, "no collective timed out");
  }
  verdict.victims = sorted_labels({labels.begin(), labels.end()});
  verdict.title =
      is_finished ? concat("The work was finished; ", labels.size(), " ranks hang while communicators close")
                  : concat("Watchdog threads of ", labels.size(),
                           " ranks stand still, and no collective timed out: a host or driver call blocks");
  verdict.why = {"Only heartbeat monitors complain; no collective has timed out."};
  verdict.group = text_of_groups(groups);
  if (is_finished) verdict.op = "communicator destroy";
  out.push_back(std::move(candidate));
}

}  // namespace ringcomm::inline v0::diag
