// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/file_list.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

namespace fs = std::filesystem;

constexpr int kDepthMax = 8;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_number(std::string_view& text) {
  const std::size_t zeros = std::min(text.find_first_not_of('0'), text.size());
  const std::size_t end = std::min(text.find_first_not_of("0123456789", zeros), text.size());
  const std::string_view digits = text.substr(zeros, end - zeros);
  text.remove_prefix(end);
  return digits;
}

class Lister {
 public:
  Lister(std::size_t files_max, std::vector<UnreadFile>& unread) : files_max_(files_max), unread_(unread) {}

  void add(const fs::path& path, int depth) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    const fs::path real = fs::weakly_canonical(path, error);
    // A folder that was seen is not entered again: links may make circles.
    if (!seen_.insert(error ? path.lexically_normal() : real).second) return;
    if (fs::is_directory(status)) return add_folder(path, depth);
    // Reading a pipe or a device that lies in a folder might never end.
    if (depth > 0 && fs::exists(status) && !fs::is_regular_file(status))
      return skip(path, "no ordinary file");
    if (files.size() >= files_max_) return skip(path, concat("beyond the first ", files_max_, " files"));
    files.push_back(path);
  }

  std::vector<fs::path> files;

 private:
  void skip(const fs::path& path, const std::string& why) {
    unread_.push_back({path.string(), Status::not_available(why)});
  }

  void add_folder(const fs::path& path, int depth) {
    if (depth == kDepthMax) return skip(path, concat("deeper than ", kDepthMax, " folders"));
    std::error_code error;
    std::vector<fs::path> inside;
    for (auto at = fs::directory_iterator(path, error); !error && at != fs::directory_iterator();
         at.increment(error))
      inside.push_back(at->path());
    if (error) skip(path, error.message());
    std::ranges::sort(
        inside, [](const fs::path& a, const fs::path& b) { return comes_before(a.native(), b.native()); });
    for (const fs::path& one : inside) add(one, depth + 1);
  }

  std::size_t files_max_;
  std::vector<UnreadFile>& unread_;
  std::set<fs::path> seen_;
};

}  // namespace

bool comes_before(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a;
  const std::string_view whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a[0]) && is_digit(b[0])) {
      const std::string_view first = take_number(a);
      const std::string_view second = take_number(b);
      if (first.size() != second.size()) return first.size() < second.size();
      if (first != second) return first < second;
      continue;
    }
    if (a[0] != b[0]) return static_cast<unsigned char>(a[0]) < static_cast<unsigned char>(b[0]);
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;
}

std::vector<fs::path> files_of(std::span<const fs::path> paths, std::size_t files_max,
                               std::vector<UnreadFile>& unread) {
  std::vector<fs::path> given(paths.begin(), paths.end());
  const auto by_name = [](const fs::path& a, const fs::path& b) {
    return comes_before(a.native(), b.native());
  };
  std::ranges::sort(given, by_name);
  Lister lister(files_max, unread);
  for (const fs::path& path : given) lister.add(path, 0);
  std::ranges::sort(lister.files, by_name);
  return std::move(lister.files);
}

}  // namespace ringcomm::inline v0::diag
