// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/json/ras_json.hpp"

#include <algorithm>

#include "core/try.hpp"
#include "diag/evidence/flight_recorder/dump.hpp"
#include "diag/evidence/json/json_documents.hpp"
#include "diag/evidence/json/json_values.hpp"
#include "diag/evidence/json/ras_sink.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::string_view kReport = "\"communicators\"";
constexpr std::string_view kDump = "\"pg_status\"";

void add_note(FileRead& read, const std::string& note) {
  read.note += concat(read.note.empty() ? "" : "; ", note);
}

Status read_report(std::string_view text, int snapshot, const RawFile& file, HangEvidence& evidence) {
  RasSink sink(file, snapshot, evidence);
  const Status end = tell_json(text, sink);
  if (end.code() == StatusCode::not_available) return end;
  FileRead& read = evidence.files[static_cast<std::size_t>(file.index)];
  read.facts += sink.facts();
  if (sink.garbage() > 0)
    add_note(read, concat(sink.garbage(), " of ", sink.communicators(),
                          " communicators are no data (ranks outside of their size)"));
  if (sink.is_cut()) add_note(read, concat("report ", snapshot + 1, " ends early: ", end.message()));
  return {};
}

Status read_dump(std::string_view text, const RawFile& file, HangEvidence& evidence) {
  flight_recorder::Dump dump;
  flight_recorder::DumpSink sink(dump, file.limits.facts_per_file);
  const Status end = tell_json(text, sink);
  if (end.code() == StatusCode::not_available) return end;
  return flight_recorder::append_facts(dump, file, end, evidence);
}

/// What stands around the documents may be a log.
void read_rest(const std::vector<JsonPiece>& pieces, const RawFile& file, HangEvidence& evidence) {
  const std::string rest = without_pieces(file.bytes, pieces);
  if (rest.find_first_not_of(" \t\r\n") == std::string::npos) return;
  RawFile text = file;
  text.bytes = rest;
  // Lines of no known format are no fault of a file that has been read.
  static_cast<void>(read_text(text, evidence));
}

}  // namespace

bool looks_like_ras_json(const RawFile& file) {
  const bool is_report = file.bytes.find(kReport) != std::string_view::npos;
  return (is_report || file.bytes.find(kDump) != std::string_view::npos) &&
         !json_objects_with(file.bytes, {kReport, kDump}).empty();
}

Status read_ras_json(const RawFile& file, HangEvidence& evidence) {
  const std::vector<JsonPiece> pieces = json_objects_with(file.bytes, {kReport, kDump});
  read_rest(pieces, file, evidence);
  int reports = 0;
  Status problem;
  for (const JsonPiece& piece : pieces) {
    const std::string_view text = file.bytes.substr(piece.begin, piece.end - piece.begin);
    const Status status = text.find(kReport) != std::string_view::npos
                              ? read_report(with_missing_commas(text), reports++, file, evidence)
                              : read_dump(text, file, evidence);
    if (!status.is_ok()) problem = status;
  }
  FileRead& read = evidence.files[static_cast<std::size_t>(file.index)];
  if (reports == 0) std::ranges::replace(read.formats, std::string("ras_json"), std::string("fr_json"));
  if (read.facts > 0) return {};
  return problem.is_ok()
             ? Status::corrupt_data(concat("a RAS report with nothing to read in it; ", read.note))
             : problem;
}

}  // namespace ringcomm::inline v0::diag
