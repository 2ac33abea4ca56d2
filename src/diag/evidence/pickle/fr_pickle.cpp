// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/pickle/fr_pickle.hpp"

#include "diag/evidence/flight_recorder/dump.hpp"
#include "diag/evidence/pickle/pickle.hpp"

namespace ringcomm::inline v0::diag {

bool looks_like_pickle(const RawFile& file) {
  constexpr char kProto = '\x80';
  constexpr char kProtocolMax = 5;
  return file.bytes.size() >= 2 && file.bytes[0] == kProto && file.bytes[1] >= 0 &&
         file.bytes[1] <= kProtocolMax;
}

Status read_fr_pickle(const RawFile& file, HangEvidence& evidence) {
  const pickle::Tree tree = pickle::read(file.bytes);
  Status end = tree.end;
  flight_recorder::Dump dump;
  flight_recorder::DumpSink sink(dump, file.limits.facts_per_file);
  Status told;
  pickle::tell(tree, sink, told);
  if (end.is_ok()) end = told;
  return flight_recorder::append_facts(dump, file, end, evidence);
}

}  // namespace ringcomm::inline v0::diag
