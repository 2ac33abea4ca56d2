// SPDX-License-Identifier: Apache-2.0
// A flight record as its bytes say, for tests; docs/record-format.md is the oracle.
#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "ringcomm/diag/record_format.hpp"

namespace ringcomm::test {

class RecordBytes {
 public:
  explicit RecordBytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
  }
  bool is_whole() const {
    return bytes_.size() >= sizeof(diag::RecordHeader) &&
           std::string_view(bytes_.data(), 8) == diag::kRecordMagic && bytes_.size() == header().file_bytes;
  }
  diag::RecordHeader header() const { return at<diag::RecordHeader>(0); }
  diag::ChannelRecord channel(std::size_t index) const {
    return at<diag::ChannelRecord>(header().channels_offset + index * sizeof(diag::ChannelRecord));
  }
  std::string name(std::uint32_t offset) const { return bytes_.data() + header().names_offset + offset; }
  std::vector<diag::RecordEntry> entries(diag::EntryKind kind) const {
    std::vector<diag::RecordEntry> found;
    for (std::uint64_t n = 0; n < header().entries_written; ++n) {
      const auto entry = at<diag::RecordEntry>(header().entries_offset + n * sizeof(diag::RecordEntry));
      if (entry.kind == static_cast<std::uint8_t>(kind)) found.push_back(entry);
    }
    return found;
  }

 private:
  template <class T>
  T at(std::size_t offset) const {
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::vector<char> bytes_;
};

}  // namespace ringcomm::test
