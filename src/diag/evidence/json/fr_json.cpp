// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/json/fr_json.hpp"

#include "diag/evidence/flight_recorder/dump.hpp"
#include "diag/evidence/json/json_values.hpp"

namespace ringcomm::inline v0::diag {

bool looks_like_fr_json(const RawFile& file) {
  std::string_view bytes = file.bytes;
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && bytes[first] == '{' && flight_recorder::has_dump_words(bytes);
}

Status read_fr_json(const RawFile& file, HangEvidence& evidence) {
  flight_recorder::Dump dump;
  flight_recorder::DumpSink sink(dump, file.limits.facts_per_file);
  const Status end = tell_json(file.bytes, sink);
  return flight_recorder::append_facts(dump, file, end, evidence);
}

}  // namespace ringcomm::inline v0::diag
