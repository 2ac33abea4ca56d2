// SPDX-License-Identifier: Apache-2.0
#include "fuzz/hang_inputs.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "diag/evidence/merge.hpp"
#include "diag/evidence/reader.hpp"
#include "diag/record/crc32.hpp"
#include "fuzz/machine_promises.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/diag/explain.hpp"
#include "ringcomm/diag/record_format.hpp"
#include "ringcomm/diag/watchdog.hpp"

namespace ringcomm::fuzz {
namespace {

constexpr std::size_t kFactsMax = 2000;
constexpr std::size_t kFilesMax = 8;

std::size_t facts_of(const diag::HangEvidence& evidence) {
  return evidence.groups.size() + evidence.ops.size() + evidence.steps.size() + evidence.counters.size() +
         evidence.events.size() + evidence.stacks.size() + evidence.gpus.size() + evidence.identities.size() +
         evidence.idle.size();
}

void check_sources(const diag::HangEvidence& evidence) {
  const auto check = [&](const auto& facts) {
    for (const auto& fact : facts)
      promise(fact.source.file >= diag::kUnknown &&
                  fact.source.file < static_cast<std::int32_t>(evidence.files.size()),
              "a fact's file is one that was read");
  };
  check(evidence.groups);
  check(evidence.ops);
  check(evidence.steps);
  check(evidence.counters);
  check(evidence.events);
  check(evidence.stacks);
  check(evidence.gpus);
}

/// What is behind the checksum of a record is reached only where that is right.
void mend_record(std::string& bytes) {
  constexpr std::size_t kEnd = offsetof(diag::RecordHeader, checksum);
  if (bytes.size() < sizeof(diag::RecordHeader)) return;
  if (std::memcmp(bytes.data(), diag::kRecordMagic.data(), diag::kRecordMagic.size()) != 0) return;
  const std::uint32_t sum = diag::crc32(std::as_bytes(std::span(bytes.data(), kEnd)));
  std::memcpy(bytes.data() + kEnd, &sum, sizeof sum);
}

void check_verdict(const diag::Verdict& verdict) {
  promise(!name_of(verdict.kind).empty() && !name_of(verdict.grade).empty(), "kind and grade have names");
  promise(!verdict.title.empty(), "every verdict has a sentence");
  promise(!verdict.fix.empty() || verdict.kind == diag::FaultKind::none, "every fault has a fix");
  const int code = exit_code_of(verdict.kind);
  promise(code >= 0 && code <= 3, "the exit code is one of four");
  for (const auto& culprit : verdict.culprits) {
    promise(!culprit.empty(), "culprits have names");
    for (const auto& victim : verdict.victims) promise(victim != culprit, "no culprit is a victim");
  }
  for (const auto& quote : verdict.evidence)
    promise(quote.text.size() <= std::size_t{4} * 200 + 3, "quotes are short");
}

}  // namespace

void read_dump(std::string_view name, std::string_view bytes) {
  for (const diag::WholeFileReader& reader : diag::whole_file_readers()) {
    diag::HangEvidence evidence;
    evidence.files.push_back({.path = "rank_3.json"});
    diag::ReadLimits limits;
    limits.facts_per_file = kFactsMax;
    const diag::RawFile file{bytes, "rank_3.json", 0, limits};
    reader.looks_like(file);
    if (reader.name != name) continue;
    const Status status = reader.read(file, evidence);
    promise(status.is_ok() || !status.message().empty(), "what cannot be read has a reason");
    promise(facts_of(evidence) <= kFactsMax + bytes.size(), "facts are bounded");
    check_sources(evidence);
    return;
  }
  promise(false, "the format has a reader");
}

void explain_hang(std::string_view bytes) {
  constexpr std::string_view kBetween = "\n====\n";
  diag::Merger merger;
  for (std::size_t i = 0; i < kFilesMax; ++i) {
    const std::size_t past = bytes.find(kBetween);
    std::string part(bytes.substr(0, past));
    mend_record(part);
    diag::FileEvidence file;
    file.evidence = diag::read_hang_evidence(part, concat("rank_", i, ".log"));
    file.content = {part.size(), std::hash<std::string>()(part)};
    merger.add(std::move(file));
    if (past == std::string_view::npos) break;
    bytes.remove_prefix(past + kBetween.size());
  }
  const diag::HangEvidence evidence = merger.finish();
  check_sources(evidence);
  const diag::Verdict verdict = diag::explain(evidence);
  check_verdict(verdict);
  promise(diag::explain(evidence).title == verdict.title, "the same evidence gives the same verdict");
  for (const bool is_verbose : {false, true})
    promise(!diag::to_text(verdict, evidence, 100, is_verbose).empty(), "every verdict has a text");
}

}  // namespace ringcomm::fuzz
