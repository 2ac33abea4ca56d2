// SPDX-License-Identifier: Apache-2.0
// How operations, groups and ranks are written in a verdict.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diag/explain/picture.hpp"

namespace ringcomm::inline v0::diag {

bool is_p2p(const OpFact& op);
/// A root may rightly be ahead of the others.
bool is_rooted(OpClass op);
/// Members may pass different sizes.
bool is_variable(OpClass op);

/// "all_reduce", "BROADCAST", "send 0->1": as printed, without the backend's prefix.
std::string op_name(const OpFact& op);
/// With its size: "BROADCAST(5056)", "_ALLGATHER_BASE(513 -> 2052)", "all_reduce(4096x1024)".
std::string op_text(const OpFact& op);
/// "80078", "0x28c", "p2p 4".
std::string seq_text(const OpFact& op);
std::optional<std::int64_t> elements_in(const OpFact& op);
std::optional<std::int64_t> elements_out(const OpFact& op);

/// "rank 3", "ranks 0, 1 and 2", "ranks 0..6"; at most 16 are spelt out.
std::string ranks_text(const std::vector<std::string>& labels);
/// Labels of ranks (indices into JobPicture::ranks), in the picture's order.
std::vector<std::string> labels_of(const JobPicture& picture, std::vector<int> ranks);
/// Labels of the ranks that took part and are not in `but`.
std::vector<std::string> others(const JobPicture& picture, const std::vector<int>& but);

Quote quote_of(const HangEvidence& evidence, const Source& source, std::string text, std::string says = {});
Quote quote_of(const HangEvidence& evidence, const OpFact& op, std::string says = {});

/// Groups with their members' counts, those that are stuck first; at most 16 groups of 64 members each.
void describe_groups(const JobPicture& picture, Verdict& verdict);

}  // namespace ringcomm::inline v0::diag
