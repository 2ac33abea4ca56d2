// SPDX-License-Identifier: Apache-2.0
#include "diag/export/export_records.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <tuple>
#include <utility>

#include "diag/evidence/file_list.hpp"
#include "diag/evidence/record/plain_text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::size_t kFilesMax = 65536;
constexpr std::uintmax_t kBytesMax = std::uintmax_t{1} << 30;

}  // namespace

Result<std::vector<LoadedRecord>> load_records(std::span<const std::filesystem::path> paths,
                                               std::vector<UnreadFile>& unread) {
  std::vector<LoadedRecord> records;
  for (const std::filesystem::path& path : files_of(paths, kFilesMax, unread)) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    std::ifstream file(path, std::ios::binary);
    if (error || !file || size > kBytesMax) {
      unread.push_back({path.string(), Status::not_found("cannot be read, or is larger than a record")});
      continue;
    }
    auto bytes =
        std::make_unique<std::string>(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    auto view = RecordView::of(*bytes);
    if (!view.is_ok()) {
      unread.push_back({path.string(), view.status()});
      continue;
    }
    const RecordHeader& header = view.value().header();
    const int rank = header.world_rank >= 0 ? header.world_rank : header.rank;
    records.push_back({std::move(bytes), std::move(view).value(), rank});
  }
  if (records.empty()) return Status::not_found("no flight record of ringcomm in what was given");
  std::ranges::sort(records, {}, [](const LoadedRecord& record) {
    return std::tuple(record.rank, record.view.header().job, record.view.header().communicator);
  });
  return records;
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : plain_text(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace ringcomm::inline v0::diag
