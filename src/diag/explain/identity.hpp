// SPDX-License-Identifier: Apache-2.0
// The names under which lines speak of one process.
#pragma once

#include <string>
#include <vector>

#include "diag/explain/picture.hpp"

namespace ringcomm::inline v0::diag {

/// "pid/nodea/3188", "bus/nodea/0000:dc:00.0", "gpu/nodea/3", "name/trainer22|6": strongest first, never the
/// rank. With `of_any_host`, those without the host as well, so that a line that names no host finds them.
std::vector<std::string> keys_of(const Who& who, bool of_any_host);
/// One text per process as far as this line tells: "rank/3", else the strongest key; "" where it tells
/// nothing.
std::string key_of(const Who& who);

/// Fills ranks, index_of_rank and index_of_key. Groups must be joined before: they resolve group ranks.
void join_identities(const HangEvidence& evidence, JobPicture& picture);
/// What a verdict calls each rank or process.
void name_ranks(const HangEvidence& evidence, JobPicture& picture);

}  // namespace ringcomm::inline v0::diag
