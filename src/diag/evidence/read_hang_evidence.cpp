// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <utility>

#include "core/try.hpp"
#include "diag/evidence/reader.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

namespace fs = std::filesystem;

constexpr int kDepthMax = 8;

Result<std::string> bytes_of(const fs::path& path, std::size_t limit) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) return Status::not_found("cannot be opened");
  std::string bytes;
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  for (std::size_t got = kPiece; got == kPiece && bytes.size() <= limit;) {
    const std::size_t size = bytes.size();
    bytes.resize(size + kPiece);
    got = std::fread(bytes.data() + size, 1, kPiece, file.get());
    bytes.resize(size + got);
  }
  if (std::ferror(file.get()) != 0) return Status::not_available("reading it failed");
  return bytes;
}

Status read_bytes(RawFile& file, HangEvidence& evidence) {
  if (file.bytes.empty()) return Status::corrupt_data("empty (0 bytes)");
  if (file.bytes.size() > file.limits.file_bytes)
    return Status::not_available(concat("larger than ", format_bytes(file.limits.file_bytes)));
  for (const WholeFileReader& reader : whole_file_readers()) {
    if (!reader.looks_like(file)) continue;
    evidence.files[static_cast<std::size_t>(file.index)].formats.emplace_back(reader.name);
    return reader.read(file, evidence);
  }
  return read_text(file, evidence);
}

void read_one(std::string_view bytes, const std::string& path, const ReadLimits& limits,
              HangEvidence& evidence) {
  RawFile file{bytes, path, static_cast<int>(evidence.files.size()), limits};
  evidence.files.push_back({.path = path});
  Status status = read_bytes(file, evidence);
  if (!status.is_ok()) evidence.unread.push_back({path, std::move(status)});
}

void list(const fs::path& path, int depth, std::vector<fs::path>& out, HangEvidence& evidence) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return out.push_back(path);
  if (depth == kDepthMax) {
    evidence.unread.push_back({path.string(), Status::not_available("deeper than 8 folders")});
    return;
  }
  std::vector<fs::path> inside;
  for (auto at = fs::directory_iterator(path, error); !error && at != fs::directory_iterator();
       at.increment(error))
    inside.push_back(at->path());
  if (error) evidence.unread.push_back({path.string(), Status::not_available(error.message())});
  std::sort(inside.begin(), inside.end());
  for (const fs::path& one : inside) list(one, depth + 1, out, evidence);
}

}  // namespace

int rank_of_name(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const std::size_t end = name.find_last_of("0123456789");
  if (end == std::string_view::npos) return kUnknown;
  const std::size_t before = name.find_last_not_of("0123456789", end);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  int rank = kUnknown;
  const auto [last, error] = std::from_chars(name.data() + begin, name.data() + end + 1, rank);
  return error == std::errc() ? rank : kUnknown;
}

HangEvidence read_hang_evidence(std::span<const fs::path> paths, const ReadLimits& limits) {
  HangEvidence evidence;
  std::vector<fs::path> files;
  for (const fs::path& path : paths) list(path, 0, files, evidence);
  for (const fs::path& path : files) {
    if (evidence.files.size() == limits.files) {
      evidence.unread.push_back({path.string(), Status::not_available("too many files")});
      continue;
    }
    auto bytes = bytes_of(path, limits.file_bytes);
    if (bytes.is_ok()) {
      read_one(bytes.value(), path.string(), limits, evidence);
    } else {
      evidence.unread.push_back({path.string(), bytes.status()});
    }
  }
  return evidence;
}

HangEvidence read_hang_evidence(std::string_view bytes, const std::string& name, const ReadLimits& limits) {
  HangEvidence evidence;
  read_one(bytes, name, limits, evidence);
  return evidence;
}

}  // namespace ringcomm::inline v0::diag
