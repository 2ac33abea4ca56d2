// SPDX-License-Identifier: Apache-2.0
// Many ranks in few words.
#pragma once

#include <string>
#include <vector>

namespace ringcomm::inline v0::diag {

/// "0-6, 9, GPU 3 of nodeb": numbers sorted and joined, each once; then names as they came. At most `shown`
/// pieces, then "and 12 more".
std::string rank_list(const std::vector<std::string>& labels, std::size_t shown = 1000);

/// "rank 3", "ranks 0-6, 9"; names stand alone: "GPU 3 of nodeb".
std::string ranks_in_words(const std::vector<std::string>& labels, std::size_t shown = 1000);

}  // namespace ringcomm::inline v0::diag
