// SPDX-License-Identifier: Apache-2.0
#include "diag/record/verdict_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include <array>
#include <cerrno>

#include "core/small_file.hpp"
#include "diag/evidence/record/record_reader.hpp"
#include "ringcomm/core/deadline.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{1} << 20;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

/// The words of "culprits: 1, GPU 3 of nodeb".
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::string_view word : split(text, ',')) {
    while (word.starts_with(' ')) word.remove_prefix(1);
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

template <class T>
T value_of(std::string_view name, T last, T otherwise) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (name_of(static_cast<T>(i)) == name) return static_cast<T>(i);
  }
  return otherwise;
}

bool lock(int file, Deadline deadline) {
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if ((errno != EWOULDBLOCK && errno != EINTR) || deadline.is_expired()) return false;
    const timespec pause{0, 5'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return true;
}

}  // namespace

VerdictFile::VerdictFile(std::filesystem::path path, std::chrono::milliseconds patience,
                         std::int64_t newest_record_ns)
    : path_(std::move(path)),
      file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR)) {
  if (!file_) return;
  is_locked_ = lock(file_.get(), Deadline::after(patience));
  struct stat facts {};
  if (!is_locked_ || ::fstat(file_.get(), &facts) != 0) return;
  const std::int64_t written_ns = facts.st_mtim.tv_sec * std::int64_t{1'000'000'000} + facts.st_mtim.tv_nsec;
  // A job that went on after a hang and made new communicators may hang again.
  is_first_ = facts.st_size == 0 || written_ns < newest_record_ns;
}

void VerdictFile::write(const Verdict& verdict, std::string_view text) const {
  if (!is_first_) return;
  const std::string all =
      concat(kVerdictHead, "kind: ", name_of(verdict.kind), "\ngrade: ", name_of(verdict.grade),
             "\nculprits: ", joined(verdict.culprits), "\nvictims: ", joined(verdict.victims),
             "\ngroup: ", verdict.group, "\nop: ", verdict.op, "\nseq: ", verdict.seq,
             "\ntitle: ", verdict.title, "\n\n", text);
  std::string_view rest = all;
  off_t at = 0;
  if (::ftruncate(file_.get(), 0) != 0) return;
  while (!rest.empty()) {
    const ssize_t written = ::pwrite(file_.get(), rest.data(), rest.size(), at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(written));
    at += written;
  }
}

Verdict VerdictFile::read() const {
  Verdict verdict;
  if (!is_locked_) return verdict;
  const std::string text = read_small_file(path_, kFileBytesMax);
  if (!text.starts_with(kVerdictHead)) return verdict;
  const std::string_view head = std::string_view(text).substr(0, text.find("\n\n"));
  for (const std::string_view line : split(head, '\n')) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, colon);
    const std::string_view value = line.substr(colon + 2);
    if (key == "kind") verdict.kind = value_of(value, FaultKind::insufficient_evidence, verdict.kind);
    if (key == "grade") verdict.grade = value_of(value, Grade::certain, verdict.grade);
    if (key == "culprits") verdict.culprits = words_of(value);
    if (key == "victims") verdict.victims = words_of(value);
    if (key == "group") verdict.group = value;
    if (key == "op") verdict.op = value;
    if (key == "seq") verdict.seq = value;
    if (key == "title") verdict.title = value;
  }
  return verdict;
}

}  // namespace ringcomm::inline v0::diag
