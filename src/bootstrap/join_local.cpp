// SPDX-License-Identifier: Apache-2.0
// From a group over a network to one over Unix sockets, if all ranks are processes of one host: they say
// where they are, look into one private directory, and meet there.
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "bootstrap/hex.hpp"
#include "bootstrap/unix_socket.hpp"
#include "core/small_file.hpp"
#include "core/try.hpp"
#include "ringcomm/bootstrap/bootstrap.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

constexpr std::chrono::seconds kMeetingMax{30};
constexpr std::size_t kTextMax = 1024;
constexpr std::string_view kDirectoryStart = "/tmp/ringcomm-meeting-";

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kTextMax)};
}

/// Everybody's texts in rank order.
Result<std::vector<std::string>> gather_texts(Bootstrap& group, std::string_view mine, Deadline deadline) {
  RINGCOMM_TRY_ASSIGN(const auto all, group.all_gather(bytes_of(mine.substr(0, kTextMax)), deadline));
  std::vector<std::string> texts;
  for (const auto& bytes : all) texts.push_back(text_of(bytes));
  return texts;
}

std::string link_target(const char* path) {
  std::array<char, 64> text{};
  const ssize_t got = ::readlink(path, text.data(), text.size());
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

/// What two processes must have in common to be able to meet, each with the reason that its difference is.
struct HostFacts {
  std::array<std::string, 3> values;  ///< boot, pid name space, user

  static HostFacts of_this_process() {
    HostFacts facts;
    const std::string boot = read_small_file("/proc/sys/kernel/random/boot_id", 64);
    facts.values = {std::string(value_after("id " + boot, "id")), link_target("/proc/self/ns/pid"),
                    std::to_string(::geteuid())};
    return facts;
  }
  std::string to_text() const { return concat(values[0], "\n", values[1], "\n", values[2]); }
  static std::array<std::string_view, 3> differences() {
    return {"runs on another host than", "sees other process ids than", "runs as another user than"};
  }
};

/// Empty when all are alike; else who differs from rank 0, and in what.
std::string difference_of(const std::vector<std::string>& facts) {
  const auto first = split(facts[0], '\n');
  if (first.size() != 3) return "rank 0 does not know on which host it runs";
  for (std::size_t rank = 1; rank < facts.size(); ++rank) {
    const auto others = split(facts[rank], '\n');
    if (others.size() != 3) return concat("rank ", rank, " does not know on which host it runs");
    for (std::size_t i = 0; i < 3; ++i) {
      if (others[i] != first[i]) return concat("rank ", rank, " ", HostFacts::differences()[i], " rank 0");
    }
  }
  return {};
}

/// Mode 0700, with a file in it that shows which one it is.
std::string make_directory(std::string_view mark) {
  std::string path = concat(kDirectoryStart, "XXXXXX");
  if (::mkdtemp(path.data()) == nullptr) return {};
  if (::symlink(std::string(mark).c_str(), concat(path, "/mark").c_str()) == 0) return path;
  ::rmdir(path.c_str());
  return {};
}

/// Whether this rank sees the very directory that rank 0 made.
std::string look_into(const std::string& path, const std::string& mark) {
  struct stat info {};
  if (path.empty()) return concat("rank 0 could not make a directory ", kDirectoryStart, "*");
  if (!path.starts_with(kDirectoryStart) || path.find("..") != std::string::npos)
    return "a path that is none of ours";
  if (::lstat(path.c_str(), &info) != 0)
    return concat("it does not see ", path, ": ", bootstrap::describe_errno(errno));
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 0777U) != 0700U)
    return concat(path, " is not the private directory that rank 0 made");
  if (link_target(concat(path, "/mark").c_str()) != mark) return concat(path, " is another one here");
  return {};
}

/// The first rank's reason, or nothing when nobody has one.
std::string first_reason(const std::vector<std::string>& reasons) {
  for (std::size_t rank = 0; rank < reasons.size(); ++rank) {
    if (!reasons[rank].empty()) return concat("rank ", rank, ": ", reasons[rank]);
  }
  return {};
}

void remove_directory(const std::string& path) {
  std::error_code ignored;
  if (path.starts_with(kDirectoryStart)) std::filesystem::remove_all(path, ignored);
}

struct Joined {
  std::unique_ptr<Bootstrap> group;  ///< null: they cannot
  std::string reason;                ///< why not
};

/// A failure of `group` itself is an error; everything else is a reason.
Result<Joined> meet_in(const std::string& path, const std::string& mark, Bootstrap& group,
                       Deadline deadline) {
  RINGCOMM_TRY_ASSIGN(const auto seen, gather_texts(group, look_into(path, mark), deadline));
  if (std::string reason = first_reason(seen); !reason.empty()) return Joined{nullptr, std::move(reason)};
  const auto patience =
      std::min<std::int64_t>(deadline.remaining_ns(), std::chrono::nanoseconds(kMeetingMax).count());
  auto met = bootstrap_file_store(path + "/store", group.rank(), group.size(),
                                  Deadline::after(std::chrono::nanoseconds(patience)));
  RINGCOMM_TRY_ASSIGN(const auto outcomes,
                      gather_texts(group, met.is_ok() ? "" : met.status().message(), deadline));
  if (std::string reason = first_reason(outcomes); !reason.empty()) return Joined{nullptr, std::move(reason)};
  return Joined{std::move(met).value(), {}};
}

Result<Joined> join(Bootstrap& group, Deadline deadline) {
  RINGCOMM_TRY_ASSIGN(const auto facts,
                      gather_texts(group, HostFacts::of_this_process().to_text(), deadline));
  if (std::string reason = difference_of(facts); !reason.empty()) return Joined{nullptr, std::move(reason)};
  const std::string mark = group.rank() == 0 ? bootstrap::hex_of(bootstrap::make_nonce()) : std::string();
  const std::string made = group.rank() == 0 ? make_directory(mark) : std::string();
  auto told = gather_texts(group, made.empty() ? "" : concat(mark, "\n", made), deadline);
  if (!told.is_ok()) {
    remove_directory(made);
    return told.status();
  }
  const auto place = split(told.value()[0], '\n');
  const std::string path(place.size() == 2 ? place[1] : std::string_view());
  auto joined = meet_in(path, std::string(place.empty() ? std::string_view() : place[0]), group, deadline);
  remove_directory(joined.is_ok() ? path : made);
  return joined;
}

}  // namespace

Result<std::unique_ptr<Bootstrap>> join_local(std::unique_ptr<Bootstrap> group, Deadline deadline) {
  if (!group) return Status::invalid_argument("join_local got no group (null pointer)");
  if (group->kind() != GroupKind::network) return group;
  RINGCOMM_TRY_ASSIGN(Joined joined, join(*group, deadline));
  if (joined.group) {
    if (joined.group->rank() == 0) {
      log(LogLevel::info,
          concat("all ", joined.group->size(), " ranks are on this host, joined by Unix sockets"));
    }
    return std::move(joined.group);
  }
  // One line of the whole group.
  if (group->rank() == 0) {
    log(LogLevel::info,
        concat("the ", group->size(), " ranks are not joined by Unix sockets: ", joined.reason));
  }
  return group;
}

}  // namespace ringcomm::inline v0
