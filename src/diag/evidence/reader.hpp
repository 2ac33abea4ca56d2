// SPDX-License-Identifier: Apache-2.0
// What every reader of hang evidence is. Whole-file formats are tried first, in the order of the table;
// everything else is text, where line readers of all formats see every line.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ringcomm/diag/hang_evidence.hpp"

namespace ringcomm::inline v0::diag {

struct RawFile {
  std::string_view bytes;
  std::string path;
  int index = 0;  ///< in HangEvidence::files, which has an entry for it already
  ReadLimits limits{};
};

struct WholeFileReader {
  std::string_view name;  ///< "fr_pickle"
  bool (*looks_like)(const RawFile& file);
  /// Appends facts; an error means that nothing more could be read (what was read before it stays).
  Status (*read)(const RawFile& file, HangEvidence& evidence);
};
/// The table: own records, flight-recorder pickle, JSON dumps, RAS JSON, metrics csv.
std::span<const WholeFileReader> whole_file_readers();

/// Text of any kind (evidence/text/): logs, stacks, RAS text, pastes of several.
Status read_text(const RawFile& file, HangEvidence& evidence);

/// The last number of a file's name ("nccl_trace_rank_3", "rank_3.json", "x-container-node07_40"), or
/// kUnknown.
int rank_of_name(std::string_view path);

}  // namespace ringcomm::inline v0::diag
