// SPDX-License-Identifier: Apache-2.0
// Our own flight records as evidence.
#pragma once

#include "diag/evidence/reader.hpp"
#include "diag/evidence/record/record_view.hpp"

namespace ringcomm::inline v0::diag {

bool looks_like_record(const RawFile& file);
Status read_record(const RawFile& file, HangEvidence& evidence);

/// What a verdict file (the watchdog's, beside the records) starts with. It quotes evidence and is none.
inline constexpr std::string_view kVerdictHead{"ringcomm verdict 1\n"};
bool looks_like_verdict(const RawFile& file);
Status read_verdict(const RawFile& file, HangEvidence& evidence);

/// The facts of a record whose file has the index `file` in HangEvidence::files. Takes the operations of each
/// channel that came last, and of their messages those that are not over, that show memory written too early,
/// and the latest: a record of thousands of operations costs little memory.
void append_facts(const RecordView& view, int file, HangEvidence& evidence);

/// "0123456789abcdef": how facts and file names print identifiers.
std::string hex_of(std::uint64_t value);
/// Joins the ranks of one channel: the communicator, the ordinal and the members.
std::string unique_id_of(const RecordView& view, const RecordView::Channel& channel);

}  // namespace ringcomm::inline v0::diag
