// SPDX-License-Identifier: Apache-2.0
// Which views of ranks are views of one group, and how far each member got in it.
#pragma once

#include "diag/explain/picture.hpp"

namespace ringcomm::inline v0::diag {

/// Global ranks in the order of group ranks; empty where no view tells them.
const std::vector<int>& list_of(const GroupPicture& group);
/// Fills groups (without members), group_index and world_size.
void join_groups(const HangEvidence& evidence, JobPicture& picture);
/// Fills the members of each group, once ranks are known.
void fill_members(const HangEvidence& evidence, JobPicture& picture);

}  // namespace ringcomm::inline v0::diag
