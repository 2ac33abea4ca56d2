// SPDX-License-Identifier: Apache-2.0
// Reads what the command line names: files, directories, standard input, or this machine.
#pragma once

#include <string>
#include <vector>

#include "ringcomm/topology/evidence.hpp"
#include "topo_json.hpp"

namespace ringcomm::doctor {

struct Evidence {
  MergedEvidence merged{};
  std::vector<UnreadFile> unread{};
  std::vector<SourceFile> sources{};
  /// Nothing was read, or a file that the user named was not. Files of a directory that are no evidence do
  /// not count.
  bool is_incomplete = false;
};

/// `files` empty: this machine. `format` empty: recognised by content.
Evidence gather_evidence(const std::vector<std::string>& files, const std::string& format);

}  // namespace ringcomm::doctor
