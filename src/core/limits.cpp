// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/core/limits.hpp"

#include <sys/resource.h>

#include <algorithm>

#include "core/affinity.hpp"
#include "core/cgroup.hpp"
#include "core/parse.hpp"
#include "core/small_file.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

// glibc names resources by an enumeration, others by int.
std::optional<std::uint64_t> read_rlimit(auto resource) {
  rlimit value{};
  if (::getrlimit(resource, &value) != 0) return std::nullopt;
  if (value.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return value.rlim_cur;
}

std::uint64_t read_memory_available(const std::filesystem::path& root) {
  constexpr std::size_t kMeminfoBytesMax = 64U << 10;
  const std::string meminfo = read_small_file(root / "proc/meminfo", kMeminfoBytesMax);
  const auto kib = parse_decimal<std::uint64_t>(value_after(meminfo, "MemAvailable:"));
  return kib && *kib < (std::uint64_t{1} << 53) ? *kib * 1024 : 0;
}

std::string label(const CgroupPath& group) {
  if (group.version == CgroupVersion::none) return "none";
  return concat(group.version == CgroupVersion::v1 ? "v1:" : "v2:", group.path);
}

}  // namespace

int Limits::usable_cpus() const {
  const double quota = std::min(cpu_quota.value_or(cpus_allowed), static_cast<double>(cpus_allowed));
  return std::max(static_cast<int>(quota), 1);
}

Limits read_limits(const std::filesystem::path& root) {
  Limits limits;
  const CgroupPath memory_group = find_cgroup(root, "memory");
  const CgroupPath cpu_group = find_cgroup(root, "cpu");
  if (const auto memory = read_cgroup_memory(memory_group)) {
    limits.memory_limit_bytes = memory->limit_bytes;
    limits.memory_used_bytes = memory->used_bytes;
  }
  limits.memory_available_bytes = read_memory_available(root);
  limits.cpu_quota = read_cgroup_cpus(cpu_group);
  limits.cpus_allowed = static_cast<int>(allowed_cpus().size());
  limits.file_size_bytes = read_rlimit(RLIMIT_FSIZE);
  limits.locked_bytes = read_rlimit(RLIMIT_MEMLOCK);
  limits.cgroup = label(memory_group.version == CgroupVersion::none ? cpu_group : memory_group);
  return limits;
}

Status check_fits(const Limits& limits, std::uint64_t bytes, MemoryUse use, std::string_view what) {
  const auto refuse = [&](const auto&... reason) {
    return Status::out_of_memory(concat(what, " of ", format_bytes(bytes), " does not fit: ", reason...));
  };
  if (use == MemoryUse::memfd && limits.file_size_bytes && bytes > *limits.file_size_bytes) {
    return refuse("RLIMIT_FSIZE is ", format_bytes(*limits.file_size_bytes),
                  " (a larger memfd raises SIGXFSZ). Raise it with ulimit -f");
  }
  if (limits.memory_limit_bytes) {
    const std::uint64_t limit = *limits.memory_limit_bytes;
    if (bytes > limit - std::min(limit, limits.memory_used_bytes)) {
      const bool v1 = limits.cgroup.starts_with("v1:");
      return refuse("the cgroup's memory limit is ", format_bytes(limit), " with ",
                    format_bytes(limits.memory_used_bytes),
                    " in use (exceeding it kills the process). Raise ",
                    v1 ? "memory.limit_in_bytes" : "memory.max", " or ask for less");
    }
  }
  if (limits.memory_available_bytes != 0 && bytes > limits.memory_available_bytes) {
    return refuse("this machine has ", format_bytes(limits.memory_available_bytes),
                  " available (using more wakes the out-of-memory killer). Ask for less");
  }
  return {};
}

}  // namespace ringcomm::inline v0
