// SPDX-License-Identifier: Apache-2.0
// The rules over groups; each appends what it finds.
#pragma once

#include "diag/explain/groups/waits.hpp"
#include "diag/explain/picture.hpp"

namespace ringcomm::inline v0::diag {

/// Sinks of the wait-for graph, cycles, and "all in, nothing moves".
void waits_rule(const HangEvidence& evidence, const JobPicture& picture, std::vector<Candidate>& out);
/// Operation, size, type and reduction at one sequence.
void signatures_rule(const HangEvidence& evidence, const JobPicture& picture, std::vector<Candidate>& out);
/// Sums of what an all_to_all sends and expects.
void splits_rule(const HangEvidence& evidence, const JobPicture& picture, std::vector<Candidate>& out);
/// Launch counts of RAS, two snapshots, and jobs that simply run.
void counts_rule(const HangEvidence& evidence, const JobPicture& picture, std::vector<Candidate>& out);
/// Calls without completions, as logs print them: whose calls end first.
void calls_rule(const HangEvidence& evidence, const JobPicture& picture, std::vector<Candidate>& out);
/// Groups of one name with different members.
void creation_rule(const HangEvidence& evidence, const JobPicture& picture, std::vector<Candidate>& out);
/// What only ringcomm's own records show: slots, plans, steps.
void records_rule(const HangEvidence& evidence, const JobPicture& picture, std::vector<Candidate>& out);

/// Parts of waits_rule; each is true where it has said something.
bool explain_cycles(const HangEvidence& evidence, const JobPicture& picture, const WaitGraph& graph,
                    std::vector<Candidate>& out);
bool explain_sinks(const HangEvidence& evidence, const JobPicture& picture, const WaitGraph& graph,
                   std::vector<Candidate>& out);
bool explain_p2p_sinks(const HangEvidence& evidence, const JobPicture& picture, const WaitGraph& graph,
                       const std::vector<int>& missing, std::vector<Candidate>& out);
/// Inside an operation of ringcomm: a rank that left it early, or that works on its block while others wait.
bool explain_steps(const HangEvidence& evidence, const JobPicture& picture, const WaitGraph& graph,
                   std::vector<Candidate>& out);
bool explain_silence(const HangEvidence& evidence, const JobPicture& picture, const WaitGraph& graph,
                     std::vector<Candidate>& out);

/// Label of several groups: "EXPERT... names 73 [8..11] and 74 [12..15]".
std::string groups_text(const JobPicture& picture, const std::vector<int>& groups);
/// Lines of the counters of a rank in a group.
void quote_counters(const HangEvidence& evidence, const JobPicture& picture, int rank, int group,
                    Verdict& verdict);
/// The graph as edges, at most 256.
void add_edges(const JobPicture& picture, const WaitGraph& graph, Verdict& verdict);

}  // namespace ringcomm::inline v0::diag
