// SPDX-License-Identifier: Apache-2.0
#include "core/small_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace ringcomm::inline v0 {

std::string read_small_file(const std::filesystem::path& path, std::size_t bytes_max) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return {};
  std::string text;
  std::array<char, 4096> block;
  while (text.size() < bytes_max) {
    const ssize_t got = ::read(fd, block.data(), std::min(block.size(), bytes_max - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  ::close(fd);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find(separator), text.size());
    if (length > 0) pieces.push_back(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return pieces;
}

std::string_view value_after(std::string_view text, std::string_view key) {
  for (const auto line : split(text, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() >= 2 && words[0] == key) return words[1];
  }
  return {};
}

}  // namespace ringcomm::inline v0
