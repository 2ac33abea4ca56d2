// SPDX-License-Identifier: Apache-2.0
// A flight record whose bytes are anybody's: the checksum is put right, so that what is behind it is reached.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "diag/evidence/record/record_reader.hpp"
#include "diag/record/crc32.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace diag = ringcomm::diag;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  constexpr std::size_t kEnd = offsetof(diag::RecordHeader, checksum);
  if (bytes.size() >= sizeof(diag::RecordHeader)) {
    std::memcpy(bytes.data(), diag::kRecordMagic.data(), diag::kRecordMagic.size());
    const std::uint32_t sum = diag::crc32(std::as_bytes(std::span(bytes.data(), kEnd)));
    std::memcpy(bytes.data() + kEnd, &sum, sizeof sum);
  }
  diag::HangEvidence evidence;
  evidence.files.push_back({.path = "fuzz"});
  const ringcomm::Status status = diag::read_record({.bytes = bytes, .path = "fuzz"}, evidence);
  const bool is_named = status.is_ok() || !status.message().empty();
  for (const diag::OpFact& op : evidence.ops) {
    if (op.group.empty() || op.who.rank < 0) std::abort();
  }
  return is_named ? 0 : (std::abort(), 0);
}
