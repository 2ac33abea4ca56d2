// SPDX-License-Identifier: Apache-2.0
// Stacks of several ranks: the ones in a collective wait, the one elsewhere is waited for; all in one place
// with spinning GPUs is no host's fault.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "diag/explain/events/frames.hpp"
#include "diag/explain/events/side.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

struct RankStack {
  FrameFinding finding;
  const StackFact* said_by = nullptr;  ///< the thread of the finding
  const StackFact* main = nullptr;
};
using RankStacks = std::map<std::string, RankStack>;  ///< by label

RankStacks rank_stacks_of(const SideEvidence& side) {
  RankStacks ranks;
  for (const StackFact& stack : side.evidence().stacks) {
    if (stack.frames.empty() || is_library_thread(stack)) continue;
    const std::string label = side.label_of(stack.who);
    if (label.empty()) continue;
    RankStack& rank = ranks[label];
    const FrameFinding finding = finding_of(stack);
    const bool is_main = is_main_thread(stack);
    if (is_main && rank.main == nullptr) rank.main = &stack;
    // A collective counts in any thread (autograd has its own); the rest only says where the main thread is.
    const bool is_first_main = is_main && rank.main == &stack && rank.finding.role < StackRole::graph_launch;
    if (rank.said_by == nullptr || is_first_main || finding.role > rank.finding.role) {
      if (is_first_main && rank.finding.role > finding.role && rank.finding.role >= StackRole::graph_launch)
        continue;
      rank.finding = finding;
      rank.said_by = &stack;
    }
  }
  return ranks;
}

/// Last sample of each GPU against its limit or its own earlier samples.
struct GpuLook {
  bool is_idle = false, is_spinning = false;
};

double limit_of(const GpuSample& sample) {
  for (const auto& [name, value] : sample.columns) {
    if (!has_text(name, "power") || !has_text(name, "limit")) continue;
    double watts = 0;
    const auto result = std::from_chars(value.data(), value.data() + value.size(), watts);
    if (result.ec == std::errc()) return watts;
  }
  return 0;
}

std::map<std::string, GpuLook> gpu_looks_of(const SideEvidence& side) {
  std::map<std::string, GpuLook> looks;
  std::map<std::string, double> most_watts;
  for (const GpuSample& sample : side.evidence().gpus) {
    if (!sample.utilisation_percent) continue;
    // A table of one host numbers its GPUs as its launcher numbers the ranks.
    const bool is_number_only = side.rank_of(sample.who) == kUnknown && sample.who.host.empty();
    const std::string label = is_number_only && sample.who.gpu != kUnknown ? std::to_string(sample.who.gpu)
                                                                           : side.label_of(sample.who);
    double& most = most_watts[label];
    most = std::max({most, sample.power_watts.value_or(0), limit_of(sample)});
    GpuLook look;  // the later line of a GPU replaces the earlier one
    look.is_idle = *sample.utilisation_percent < 10;
    look.is_spinning =
        *sample.utilisation_percent >= 90 && sample.power_watts && most > 0 && *sample.power_watts < most / 2;
    looks[label] = look;
  }
  return looks;
}

std::vector<std::string> labels_with(const RankStacks& ranks, std::initializer_list<StackRole> roles) {
  std::vector<std::string> labels;
  for (const auto& [label, rank] : ranks) {
    if (std::find(roles.begin(), roles.end(), rank.finding.role) != roles.end()) labels.push_back(label);
  }
  return sorted_labels(std::move(labels));
}

void quote(const SideEvidence& side, Verdict& verdict, const RankStacks& ranks,
           const std::vector<std::string>& labels, std::string_view says) {
  constexpr std::size_t kMost = 4;
  for (std::size_t i = 0; i < std::min(labels.size(), kMost); ++i) {
    const RankStack& rank = ranks.at(labels[i]);
    add_quote(side, verdict, rank.said_by->source, rank.finding.frame, says);
  }
}

bool explain_graph(const SideEvidence& side, const RankStacks& ranks, std::vector<Candidate>& out) {
  const std::vector<std::string> launching = labels_with(ranks, {StackRole::graph_launch});
  const std::vector<std::string> syncing = labels_with(ranks, {StackRole::host_sync});
  if (launching.empty() || launching.size() + syncing.size() < ranks.size()) return false;
  Candidate candidate = candidate_of(side, FaultKind::graph_capture, Grade::possible, Weight::ordinary,
                                     "graph_replay", nullptr);
  Verdict& verdict = candidate.verdict;
  verdict.suspects = launching;
  verdict.suspects.insert(verdict.suspects.end(), syncing.begin(), syncing.end());
  verdict.suspects = sorted_labels(std::move(verdict.suspects));
  quote(side, verdict, ranks, launching, "launches a captured graph");
  quote(side, verdict, ranks, syncing, "waits on the host behind it");
  verdict.title = syncing.empty()
                      ? concat("All of ", text_of_labels(launching), " launch a CUDA graph and none returns")
                      : concat(text_of_labels(syncing), " waits on the host behind a graph that ",
                               text_of_labels(launching), " still launches");
  verdict.why = {
      "Operations inside a replayed graph leave no entry in a recorder: an empty one does not mean that "
      "nothing is in flight."};
  verdict.counter_check =
      "The step and graph numbers of each rank would show whether they replay the same graph.";
  verdict.op = "collective inside a CUDA graph";
  out.push_back(std::move(candidate));
  return true;
}

/// Ranks in a collective wait; the ones elsewhere are waited for.
bool explain_outliers(const SideEvidence& side, const RankStacks& ranks, std::vector<Candidate>& out) {
  const std::vector<std::string> inside =
      labels_with(ranks, {StackRole::collective, StackRole::cpu_collective});
  const std::vector<std::string> outside = labels_with(
      ranks, {StackRole::elsewhere, StackRole::host_sync, StackRole::teardown, StackRole::graph_launch});
  if (inside.empty() || outside.empty() || (inside.size() < 2 && ranks.size() > 2)) return false;
  const std::map<std::string, GpuLook> looks = gpu_looks_of(side);
  const auto look = [&looks](const std::string& label) {
    const auto found = looks.find(label);
    return found == looks.end() ? GpuLook{} : found->second;
  };
  const bool are_idle =
      std::all_of(outside.begin(), outside.end(), [&](const auto& l) { return look(l).is_idle; });
  const bool are_spinning =
      std::all_of(inside.begin(), inside.end(), [&](const auto& l) { return look(l).is_spinning; });
  const bool is_sync = labels_with(ranks, {StackRole::host_sync}).size() == outside.size();
  Candidate candidate =
      candidate_of(side, FaultKind::rank_not_entered, is_sync && !are_idle ? Grade::possible : Grade::likely,
                   are_idle || are_spinning ? Weight::strong : Weight::ordinary, "stack_outlier", nullptr);
  Verdict& verdict = candidate.verdict;
  verdict.culprits = outside;
  verdict.victims = inside;
  quote(side, verdict, ranks, outside, "outside the collective");
  quote(side, verdict, ranks, inside, "inside a collective");
  const RankStack& odd = ranks.at(outside.front());
  const RankStack& usual = ranks.at(inside.front());
  verdict.op = usual.finding.op;
  verdict.group = group_of_frames(usual.said_by->frames);
  if (verdict.group.empty() && usual.main != nullptr) verdict.group = group_of_frames(usual.main->frames);
  verdict.title = concat(text_of_labels(outside), " is at ", odd.finding.frame, " while ", inside.size(),
                         " of ", ranks.size(), " ranks wait in ", usual.finding.op);
  verdict.why = {concat(inside.size(), " ranks are inside ", usual.finding.op, "; ", text_of_labels(outside),
                        outside.size() == 1 ? " is" : " are", " not.")};
  if (are_idle) verdict.why.emplace_back("The GPUs outside are idle, so their hosts are what is late.");
  if (are_spinning) {
    verdict.why.emplace_back("The other GPUs are busy at low power: they spin in a communication kernel.");
  }
  verdict.counter_check = "A second stack of the same rank, seconds later, tells slow from stuck.";
  verdict.fix =
      concat("Look at ", odd.finding.frame, " on ", text_of_labels(outside),
             " (a loop that depends on data, a host synchronisation, work on the CPU, a lock): py-spy dump "
             "--native twice, to see whether it moves.");
  out.push_back(std::move(candidate));
  return true;
}

/// All inside, in different collectives.
bool explain_two_collectives(const SideEvidence& side, const RankStacks& ranks, std::vector<Candidate>& out) {
  std::map<std::string, std::vector<std::string>> by_op;
  for (const auto& [label, rank] : ranks) {
    const bool is_cpu = rank.finding.role == StackRole::cpu_collective;
    if (rank.finding.role < StackRole::cpu_collective) return false;
    by_op[concat(is_cpu ? "CPU " : "", rank.finding.op)].push_back(label);
  }
  if (by_op.size() != 2) return false;
  auto few = by_op.begin();
  auto many = std::next(few);
  if (few->second.size() > many->second.size()) std::swap(few, many);
  // A barrier on the CPU against a collective on the GPU is a matter of order, not of one call.
  const bool is_order = (few->first.rfind("CPU ", 0) == 0) != (many->first.rfind("CPU ", 0) == 0);
  Candidate candidate = candidate_of(side, is_order ? FaultKind::order_inversion : FaultKind::op_mismatch,
                                     Grade::possible, Weight::ordinary, "two_collectives", nullptr);
  Verdict& verdict = candidate.verdict;
  verdict.suspects = sorted_labels(few->second);
  verdict.victims = sorted_labels(many->second);
  quote(side, verdict, ranks, verdict.suspects, "in another call");
  quote(side, verdict, ranks, verdict.victims, "");
  verdict.op = concat(few->first, " / ", many->first);
  verdict.title =
      concat(text_of_labels(verdict.suspects), " is in ", few->first, ", the others in ", many->first);
  verdict.why = {"Each side waits for the other in a call that the other has not made."};
  out.push_back(std::move(candidate));
  return true;
}

/// The caller of a synchronisation: the innermost frame that is not of the framework.
std::string site_of(const StackFact& stack) {
  for (const std::string& frame : stack.frames) {
    const bool is_framework =
        has_text(frame, "torch/") || has_text(frame, "libcuda") || has_text(frame, "cuda");
    if (!is_framework) return frame;
  }
  return stack.frames.empty() ? std::string() : stack.frames.back();
}

/// All hosts wait for their GPU, at two places of the program.
bool explain_two_syncs(const SideEvidence& side, const RankStacks& ranks, std::vector<Candidate>& out) {
  std::map<std::string, std::vector<std::string>> by_site;
  for (const auto& [label, rank] : ranks) {
    if (rank.finding.role != StackRole::host_sync) return false;
    by_site[site_of(*rank.said_by)].push_back(label);
  }
  if (by_site.size() != 2) return false;
  const auto one = by_site.begin();
  const auto other = std::next(one);
  Candidate candidate = candidate_of(side, FaultKind::order_inversion, Grade::possible, Weight::ordinary,
                                     "two_host_syncs", nullptr);
  Verdict& verdict = candidate.verdict;
  const bool is_one_fewer = one->second.size() < other->second.size();
  verdict.suspects = sorted_labels(is_one_fewer ? one->second : other->second);
  verdict.victims = sorted_labels(is_one_fewer ? other->second : one->second);
  quote(side, verdict, ranks, verdict.suspects, "waits for its GPU here");
  quote(side, verdict, ranks, verdict.victims, "waits for its GPU there");
  verdict.title = concat("All hosts wait for their GPU at two places: ", one->first, " and ", other->first);
  verdict.why = {"Each side waits for an operation that the other side can only issue after its own wait."};
  out.push_back(std::move(candidate));
  return true;
}

void explain_one_place(const SideEvidence& side, const RankStacks& ranks, std::vector<Candidate>& out) {
  if (ranks.size() < 2) return;
  const RankStack& first = ranks.begin()->second;
  const bool is_inside = first.finding.role >= StackRole::cpu_collective;
  for (const auto& [label, rank] : ranks) {
    if (rank.finding.role != first.finding.role) return;
    if (is_inside ? rank.finding.op != first.finding.op : rank.finding.frame != first.finding.frame) return;
  }
  const std::map<std::string, GpuLook> looks = gpu_looks_of(side);
  const bool are_spinning = !looks.empty() && std::all_of(looks.begin(), looks.end(), [](const auto& look) {
    return look.second.is_spinning;
  });
  // Without a collective in the stacks only the GPUs tell that they communicate.
  if (!is_inside && !are_spinning) return;
  Candidate candidate =
      candidate_of(side, FaultKind::all_entered_no_progress, Grade::cannot_tell,
                   are_spinning ? Weight::ordinary : Weight::weak, "all_in_one_place", nullptr);
  Verdict& verdict = candidate.verdict;
  for (const auto& [label, rank] : ranks) verdict.victims.push_back(label);
  verdict.victims = sorted_labels(std::move(verdict.victims));
  quote(side, verdict, ranks, verdict.victims, "the same place on all ranks");
  verdict.op = first.finding.op;
  verdict.group = is_inside ? group_of_frames(first.said_by->frames) : std::string("all ranks");
  verdict.title = concat("All ", ranks.size(), " ranks are at ", first.finding.frame, " and nothing moves");
  verdict.why = {"Nobody is missing at host level: what stands still is on a device or on the fabric."};
  if (are_spinning) {
    verdict.why.emplace_back("All GPUs are busy at low power: they spin in a communication kernel.");
  }
  out.push_back(std::move(candidate));
}

}  // namespace

void explain_stacks(const SideEvidence& side, std::vector<Candidate>& out) {
  const RankStacks ranks = rank_stacks_of(side);
  if (ranks.size() < 2) return;
  if (explain_graph(side, ranks, out) || explain_outliers(side, ranks, out)) return;
  if (explain_two_collectives(side, ranks, out) || explain_two_syncs(side, ranks, out)) return;
  explain_one_place(side, ranks, out);
}

}  // namespace ringcomm::inline v0::diag
