// SPDX-License-Identifier: Apache-2.0
// The lines that `nvidia-smi nvlink -s` and `-R` share: "GPU 3: name (UUID: ...)" and below it "Link 5:
// value".
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ringcomm/topology/evidence.hpp"

namespace ringcomm::inline v0::topology {

/// Reads what follows "Link 5:" into the port. A Status ends the reading.
using ReadNvLink = std::function<Status(std::string_view value, NvLinkPort& port, Gpu& gpu,
                                        const Where& where, std::vector<Skipped>& skipped)>;

/// corrupt_data: a GPU or a link without its number.
Result<Reading> read_nvlink_lines(std::string_view text, const std::string& file, const std::string& format,
                                  const ReadNvLink& read_link);

/// What the lines of a text are, for looks_like.
struct NvLinkLines {
  bool has_gpu = false;
  bool has_rate = false;    ///< "Link 5: 25 GB/s", "Link 5: <inactive>", or the sentence for no active link
  bool has_remote = false;  ///< "Link 5: Remote Device ..."
};
NvLinkLines find_nvlink_lines(std::string_view text);

}  // namespace ringcomm::inline v0::topology
