// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <charconv>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "diag/evidence/file_list.hpp"
#include "diag/evidence/merge.hpp"
#include "diag/evidence/reader.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

namespace fs = std::filesystem;

// Files read at a time by each of the threads, so that the facts of a few files wait for their turn, not of
// all.
constexpr std::size_t kBatch = 256;
constexpr unsigned kThreadsMax = 4;

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
  // A NUL byte early on: no text. A log that was cut by a crash may end in them.
  constexpr std::size_t kLook = 4096;
  if (file.bytes.substr(0, kLook).find('\0') != std::string_view::npos)
    return Status::not_found("binary, of no known format");
  const Status status = read_text(file, evidence);
  if (status.code() != StatusCode::not_found) return status;
  // Notes and source files lie in such folders too: nothing is missing because of them.
  evidence.files[static_cast<std::size_t>(file.index)].note = status.message();
  return {};
}

FileEvidence read_one(std::string_view bytes, const std::string& path, const ReadLimits& limits) {
  FileEvidence part;
  HangEvidence& evidence = part.evidence;
  evidence.files.push_back({.path = path});
  RawFile file{bytes, path, 0, limits};
  Status status;
  try {
    part.content = {bytes.size(), std::hash<std::string_view>()(bytes)};
    status = read_bytes(file, evidence);
  } catch (const std::exception& problem) {  // memory ran out
    status = Status::not_available(concat("reading it failed: ", problem.what()));
  }
  if (!status.is_ok()) evidence.unread.push_back({path, std::move(status)});
  return part;
}

FileEvidence read_path(const fs::path& path, const ReadLimits& limits) {
  const auto failed = [&](Status status) {
    FileEvidence part;
    part.evidence.unread.push_back({path.string(), std::move(status)});
    return part;
  };
  try {
    const auto bytes = bytes_of(path, limits.file_bytes);
    return bytes.is_ok() ? read_one(bytes.value(), path.string(), limits) : failed(bytes.status());
  } catch (const std::exception& problem) {
    return failed(Status::not_available(concat("reading it failed: ", problem.what())));
  }
}

/// Each thread takes the next file; each file has its place, so the result is the same however they run.
std::vector<FileEvidence> read_batch(std::span<const fs::path> files, const ReadLimits& limits) {
  std::vector<FileEvidence> parts(files.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next.fetch_add(1); i < files.size(); i = next.fetch_add(1))
      parts[i] = read_path(files[i], limits);
  };
  std::vector<std::thread> threads;
  const unsigned cores = std::min(kThreadsMax, std::thread::hardware_concurrency());
  for (unsigned i = 1; i < cores && i < files.size(); ++i) {
    try {
      threads.emplace_back(work);
    } catch (const std::system_error&) {  // no more threads here: this one does the work
      break;
    }
  }
  work();
  for (std::thread& thread : threads) thread.join();
  return parts;
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
  Merger merger;
  HangEvidence listing;
  const std::vector<fs::path> files = files_of(paths, limits.files, listing.unread);
  merger.add({.evidence = std::move(listing)});
  const std::span<const fs::path> all(files);
  for (std::size_t at = 0; at < all.size(); at += kBatch) {
    for (FileEvidence& part : read_batch(all.subspan(at, std::min(kBatch, all.size() - at)), limits))
      merger.add(std::move(part));
  }
  return merger.finish();
}

HangEvidence read_hang_evidence(std::string_view bytes, const std::string& name, const ReadLimits& limits) {
  Merger merger;
  merger.add(read_one(bytes, name, limits));
  return merger.finish();
}

}  // namespace ringcomm::inline v0::diag
