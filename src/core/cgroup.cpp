// SPDX-License-Identifier: Apache-2.0
#include "core/cgroup.hpp"

#include <algorithm>

#include "core/parse.hpp"
#include "core/small_file.hpp"

namespace ringcomm::inline v0 {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMountinfoBytesMax = 4U << 20;
constexpr std::size_t kValueBytesMax = 64U << 10;
// Beyond any real nesting; bounds the walk on an invented path.
constexpr std::size_t kDepthMax = 64;
// v1 says "no limit" with the largest multiple of a page below 2^63.
constexpr std::uint64_t kNoLimitV1 = std::uint64_t{1} << 60;

struct Membership {
  CgroupVersion version = CgroupVersion::none;
  std::string path;
};

bool lists(std::string_view comma_list, std::string_view word) {
  return std::ranges::count(split(comma_list, ','), word) > 0;
}

/// "4:memory:/path" is v1, "0::/path" is v2.
Membership find_membership(std::string_view self_cgroup, std::string_view controller) {
  Membership found;
  for (const auto line : split(self_cgroup, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const auto path = line.substr(second + 1);
    if (lists(controllers, controller)) return {CgroupVersion::v1, std::string(path)};
    if (line.starts_with("0::")) found = {CgroupVersion::v2, std::string(path)};
  }
  return found;
}

/// The kernel writes spaces and backslashes in mount points as \040 and the like.
std::string unescape(std::string_view text) {
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
        is_octal(text[i + 3])) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

struct Mount {
  std::string root;   ///< group that the mount shows at its top
  std::string point;  ///< where
};

/// Of all mounts of the hierarchy. Fields of a line: id, parent, device, root, mount point, options, optional
/// fields, "-", type, source, options (proc_pid_mountinfo(5)).
std::vector<Mount> find_mounts(std::string_view mountinfo, CgroupVersion version,
                               std::string_view controller) {
  std::vector<Mount> mounts;
  for (const auto line : split(mountinfo, '\n')) {
    const auto fields = split(line, ' ');
    const auto dash = std::ranges::find(fields, std::string_view("-"));
    if (dash - fields.begin() < 6 || fields.end() - dash < 4) continue;
    const bool is_v2 = dash[1] == "cgroup2";
    const bool is_v1 = dash[1] == "cgroup" && lists(dash[3], controller);
    if (version == CgroupVersion::v2 ? is_v2 : is_v1)
      mounts.push_back({unescape(fields[3]), unescape(fields[4])});
  }
  return mounts;
}

/// `path` without the leading `mount_root`; nothing when it lies outside (other namespace).
std::optional<std::string> path_below(std::string_view path, std::string_view mount_root) {
  while (mount_root.ends_with('/')) mount_root.remove_suffix(1);
  if (!path.starts_with(mount_root)) return std::nullopt;
  path.remove_prefix(mount_root.size());
  if (!path.empty() && path.front() != '/') return std::nullopt;
  return std::string(path);
}

/// A group seen through a mount: the mount point, and the path below it ("" for the mount itself).
struct Location {
  std::string point;
  std::string below;
};

/// Prefers a mount that shows the group: containers in containers bind other parts of the tree elsewhere.
Location locate(const std::vector<Mount>& mounts, std::string_view group_path) {
  for (const auto& mount : mounts) {
    if (auto below = path_below(group_path, mount.root)) return {mount.point, *std::move(below)};
  }
  return {mounts.front().point, ""};
}

std::vector<fs::path> directories_of(const fs::path& mount_point, std::string_view relative) {
  std::vector<fs::path> directories{mount_point};
  const auto pieces = split(relative, '/');
  if (pieces.size() > kDepthMax || std::ranges::count(pieces, std::string_view("..")) > 0) return directories;
  for (const auto piece : pieces) directories.push_back(directories.back() / piece);
  std::error_code ignored;
  if (!fs::is_directory(directories.back(), ignored)) return {mount_point};
  std::ranges::reverse(directories);
  return directories;
}

std::optional<std::uint64_t> read_number(const fs::path& file) {
  const std::string text = read_small_file(file, kValueBytesMax);
  const auto words = split(std::string_view(text).substr(0, text.find('\n')), ' ');
  return words.empty() ? std::nullopt : parse_decimal<std::uint64_t>(words[0]);
}

std::uint64_t file_cache_bytes(const fs::path& directory, CgroupVersion version) {
  const std::string stat = read_small_file(directory / "memory.stat", kValueBytesMax);
  const std::string prefix = version == CgroupVersion::v1 ? "total_" : "";
  std::uint64_t sum = 0;
  for (const std::string_view list : {"inactive_file", "active_file"}) {
    const auto bytes = parse_decimal<std::uint64_t>(value_after(stat, prefix + std::string(list)));
    if (__builtin_add_overflow(sum, bytes.value_or(0), &sum)) return 0;
  }
  return sum;
}

std::optional<CgroupMemory> memory_of(const fs::path& directory, CgroupVersion version) {
  const bool v1 = version == CgroupVersion::v1;
  const auto limit = read_number(directory / (v1 ? "memory.limit_in_bytes" : "memory.max"));
  if (!limit || (v1 && *limit >= kNoLimitV1)) return std::nullopt;
  const std::uint64_t used =
      read_number(directory / (v1 ? "memory.usage_in_bytes" : "memory.current")).value_or(0);
  return CgroupMemory{*limit, used - std::min(used, file_cache_bytes(directory, version))};
}

std::uint64_t room_of(const CgroupMemory& group) {
  return group.limit_bytes - std::min(group.limit_bytes, group.used_bytes);
}

/// v2: "50000 100000" or "max 100000" in one file; v1: two files, -1 for none.
std::optional<double> cpus_of(const fs::path& directory, CgroupVersion version) {
  std::string quota_text = read_small_file(directory / "cpu.max", kValueBytesMax);
  if (version == CgroupVersion::v1) {
    quota_text = read_small_file(directory / "cpu.cfs_quota_us", kValueBytesMax) + " " +
                 read_small_file(directory / "cpu.cfs_period_us", kValueBytesMax);
  }
  std::ranges::replace(quota_text, '\n', ' ');
  const auto words = split(quota_text, ' ');
  if (words.size() != 2) return std::nullopt;
  const auto quota = parse_count(words[0]);
  const auto period = parse_count(words[1]);
  if (quota.value_or(0) <= 0 || period.value_or(0) <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

}  // namespace

CgroupPath find_cgroup(const fs::path& root, std::string_view controller) {
  const Membership member =
      find_membership(read_small_file(root / "proc/self/cgroup", kMountinfoBytesMax), controller);
  if (member.version == CgroupVersion::none) return {};
  auto mounts = find_mounts(read_small_file(root / "proc/self/mountinfo", kMountinfoBytesMax), member.version,
                            controller);
  if (mounts.empty()) {
    const bool v1 = member.version == CgroupVersion::v1;
    mounts.push_back({"/", v1 ? "/sys/fs/cgroup/" + std::string(controller) : "/sys/fs/cgroup"});
  }
  const Location group = locate(mounts, member.path);
  return {member.version, member.path,
          directories_of(root / fs::path(group.point).relative_path(), group.below)};
}

std::optional<CgroupMemory> read_cgroup_memory(const CgroupPath& group) {
  std::optional<CgroupMemory> tightest;
  for (const auto& directory : group.directories) {
    const auto memory = memory_of(directory, group.version);
    if (memory && (!tightest || room_of(*memory) < room_of(*tightest))) tightest = memory;
  }
  return tightest;
}

std::optional<double> read_cgroup_cpus(const CgroupPath& group) {
  std::optional<double> smallest;
  for (const auto& directory : group.directories) {
    const auto cpus = cpus_of(directory, group.version);
    if (cpus) smallest = std::min(*cpus, smallest.value_or(*cpus));
  }
  return smallest;
}

}  // namespace ringcomm::inline v0
