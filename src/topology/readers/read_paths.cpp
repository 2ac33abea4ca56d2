// SPDX-License-Identifier: Apache-2.0
// From paths to readings: files, directories of files, and trees that one reader takes whole.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/evidence_readers.hpp"

namespace ringcomm::inline v0 {
namespace {

namespace fs = std::filesystem;

/// Files of one directory; more are a wrong directory.
constexpr std::size_t kFilesMax = 4096;

class OpenFile {
 public:
  // Never blocks on a pipe without a writer and never becomes a terminal.
  explicit OpenFile(const fs::path& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

Status not_opened(const fs::path& path, int error) {
  if (error == ENOENT || error == ENOTDIR) return Status::not_found(concat("no such file: ", path.native()));
  return Status::not_available(concat(path.native(), " cannot be read (", std::strerror(error), ")"));
}

Result<std::string> read_whole_file(const fs::path& path) {
  const OpenFile file(path);
  if (file.fd() < 0) return not_opened(path, errno);
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0) return not_opened(path, errno);
  if (!S_ISREG(info.st_mode))
    return Status::not_available(
        concat(path.native(), " is neither a file nor a directory (a pipe or a device is not read)"));
  std::string text;
  std::array<char, 65536> block;
  // One byte more than the limit, so that the reader sees that there is more.
  while (text.size() <= topology::kTextBytesMax) {
    const ssize_t got = ::read(file.fd(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return not_opened(path, errno);
    if (got == 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  return text;
}

Result<Reading> read_file(const fs::path& path) {
  RINGCOMM_TRY_ASSIGN(const std::string text, read_whole_file(path));
  return read_evidence(text, path.native());
}

/// Everything in the directory but directories, sorted by name.
Result<std::vector<fs::path>> files_in(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unknown;
    if (entry->is_directory(unknown)) continue;
    if (files.size() == kFilesMax)
      return Status::corrupt_data(concat(directory.native(), " holds more than ", kFilesMax,
                                         " files (the limit). Name the files of this machine"));
    files.push_back(entry->path());
  }
  if (error) return not_opened(directory, error.value());
  if (files.empty())
    return Status::not_found(
        concat(directory.native(), " holds no files (directories in a directory are not read)"));
  std::ranges::sort(files);
  return files;
}

class PathReader {
 public:
  explicit PathReader(std::vector<UnreadFile>& unread) : unread_(unread) {}

  void read(const fs::path& path) {
    std::error_code error;
    if (!fs::is_directory(path, error)) return keep(path, read_file(path));
    for (const auto& tree : topology::evidence_tree_readers()) {
      if (tree.looks_like(path)) return keep(path, read_tree(tree, path));
    }
    const auto files = files_in(path);
    if (!files.is_ok()) return unread_.push_back({path.native(), files.status()});
    for (const auto& file : files.value()) keep(file, read_file(file));
  }

  std::vector<Reading> take() { return std::move(readings_); }

 private:
  static Result<Reading> read_tree(const topology::TreeReader& tree, const fs::path& path) {
    RINGCOMM_TRY_ASSIGN(Reading reading, tree.read(path));
    reading.file = path.native();
    reading.format = std::string(tree.name);
    return reading;
  }

  void keep(const fs::path& path, Result<Reading> reading) {
    if (reading.is_ok()) {
      readings_.push_back(std::move(reading).value());
    } else {
      unread_.push_back({path.native(), reading.status()});
    }
  }

  std::vector<UnreadFile>& unread_;
  std::vector<Reading> readings_;
};

}  // namespace

std::vector<Reading> read_evidence_paths(std::span<const fs::path> paths, std::vector<UnreadFile>& unread) {
  PathReader reader(unread);
  for (const auto& path : paths) reader.read(path);
  return reader.take();
}

}  // namespace ringcomm::inline v0
