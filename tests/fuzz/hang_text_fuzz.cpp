// SPDX-License-Identifier: Apache-2.0
// The line readers of hang evidence under libFuzzer.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "diag/evidence/reader.hpp"

namespace {

constexpr std::size_t kFactsMax = 2000;

void promise(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ringcomm::diag::HangEvidence evidence;
  evidence.files.push_back({.path = "rank_3.log"});
  ringcomm::diag::ReadLimits limits;
  limits.facts_per_file = kFactsMax;
  const ringcomm::diag::RawFile file{std::string_view(reinterpret_cast<const char*>(data), size),
                                     "rank_3.log", 0, limits};
  static_cast<void>(ringcomm::diag::read_text(file, evidence).is_ok());
  promise(evidence.events.size() + evidence.ops.size() + evidence.counters.size() + evidence.stacks.size() +
                  evidence.groups.size() + evidence.identities.size() <=
              kFactsMax,
          "facts are bounded");
  for (const auto& event : evidence.events) promise(event.text.size() <= 400, "quoted text is short");
  for (const auto& stack : evidence.stacks) promise(stack.frames.size() <= 256, "stacks are bounded");
  return 0;
}
