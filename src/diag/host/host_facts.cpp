// SPDX-License-Identifier: Apache-2.0
// What /proc, /sys and the C library say of this host and this process.
#include <netdb.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "core/affinity.hpp"
#include "core/cgroup.hpp"
#include "core/parse.hpp"
#include "core/small_file.hpp"
#include "diag/host/facts_text.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/diag/host_checks.hpp"
#include "ringcomm/version.hpp"

extern char** environ;

namespace ringcomm::inline v0 {
namespace {

using std::filesystem::path;

constexpr std::size_t kFileBytesMax = 64U << 10;

std::string first_line(const path& file) {
  std::string text = read_small_file(file, kFileBytesMax);
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

template <class T>
std::optional<T> number_in(HostFacts& facts, std::string_view name, const path& file) {
  const auto value = parse_decimal<T>(first_line(file));
  if (!value) facts.unread[std::string(name)] = concat("cannot read ", file.string());
  return value;
}

/// "[madvise]" of "always [madvise] never".
std::string chosen_word(const std::string& text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']', open == std::string::npos ? text.size() : open);
  return close == std::string::npos ? std::string() : text.substr(open + 1, close - open - 1);
}

std::optional<std::uint64_t> rlimit_of(auto resource) {
  rlimit value{};
  if (::getrlimit(resource, &value) != 0 || value.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return value.rlim_cur;
}

void read_identity(HostFacts& facts, const path& root) {
  facts.boot_id = first_line(root / "proc/sys/kernel/random/boot_id");
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0) facts.host_name = name.data();
  for (const char* const kind : {"ipc", "pid", "net", "user", "mnt"}) {
    std::array<char, 64> target{};
    const std::string link = concat("/proc/self/ns/", kind);
    if (::readlink(link.c_str(), target.data(), target.size() - 1) > 0)
      facts.namespaces[kind] = target.data();
  }
  addrinfo* found = nullptr;
  addrinfo wanted{};
  wanted.ai_family = AF_INET;
  if (!facts.host_name.empty() && ::getaddrinfo(facts.host_name.c_str(), nullptr, &wanted, &found) == 0) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(found->ai_addr, found->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0)
      facts.host_address = text.data();
    ::freeaddrinfo(found);
  }
}

void read_software(HostFacts& facts, const path& root) {
  utsname system{};
  if (::uname(&system) == 0) facts.versions["kernel"] = system.release;
  facts.versions["ringcomm"] = RINGCOMM_VERSION;
  const std::string driver = first_line(root / "sys/module/nvidia/version");
  if (!driver.empty()) facts.versions["nvidia driver"] = driver;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !diag::changes_communication(text.substr(0, equals))) continue;
    facts.variables[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  for (const char* const file : {"etc/nccl.conf", "root/.nccl.conf"}) {
    if (!read_small_file(root / file, 1).empty()) facts.config_files.push_back(concat("/", file));
  }
}

void read_memory(HostFacts& facts, const path& root) {
  struct statvfs shm {};
  if (::statvfs((root / "dev/shm").c_str(), &shm) == 0) {
    facts.shm_free_bytes = static_cast<std::uint64_t>(shm.f_bavail) * shm.f_frsize;
    facts.shm_total_bytes = static_cast<std::uint64_t>(shm.f_blocks) * shm.f_frsize;
  } else {
    facts.unread["shm"] = "there is no /dev/shm";
  }
  facts.transparent_hugepage = chosen_word(first_line(root / "sys/kernel/mm/transparent_hugepage/enabled"));
  facts.huge_pages = number_in<std::uint64_t>(facts, "huge_pages", root / "proc/sys/vm/nr_hugepages");
  facts.map_count_max = number_in<std::uint64_t>(facts, "map_count", root / "proc/sys/vm/max_map_count");
  const std::string maps = read_small_file(root / "proc/self/maps", std::size_t{64} << 20);
  if (!maps.empty()) facts.map_count = static_cast<std::uint64_t>(std::ranges::count(maps, '\n'));
  facts.overcommit_memory = number_in<int>(facts, "overcommit", root / "proc/sys/vm/overcommit_memory");
  facts.numa_balancing = number_in<int>(facts, "numa_balancing", root / "proc/sys/kernel/numa_balancing");
}

void read_cpus(HostFacts& facts, const path& root) {
  facts.cpus_allowed = allowed_cpus();
  std::string status = read_small_file(root / "proc/self/status", kFileBytesMax);
  std::ranges::replace(status, '	', ' ');
  facts.memory_nodes_allowed = diag::cpu_list(value_after(status, "Mems_allowed_list:"));
  const path nodes = root / "sys/devices/system/node";
  for (const int node : diag::cpu_list(first_line(nodes / "online")))
    facts.node_cpus[node] = diag::cpu_list(first_line(nodes / concat("node", node) / "cpulist"));
  const int cpu = facts.cpus_allowed.empty() ? 0 : facts.cpus_allowed.front();
  const path folder = root / concat("sys/devices/system/cpu/cpu", cpu);
  facts.governor = first_line(folder / "cpufreq/scaling_governor");
  facts.cpufreq_driver = first_line(folder / "cpufreq/scaling_driver");
  if (facts.governor.empty()) facts.unread["governor"] = "no cpufreq here (a virtual machine?)";
  for (int state = 0; state < 16; ++state) {
    const path idle = folder / concat("cpuidle/state", state);
    const auto latency = parse_decimal<int>(first_line(idle / "latency"));
    if (!latency || first_line(idle / "disable") == "1") continue;
    if (*latency < facts.idle_latency_us_max.value_or(-1)) continue;
    facts.idle_latency_us_max = latency;
    facts.idle_state = first_line(idle / "name");
  }
  if (!facts.idle_latency_us_max) facts.unread["idle_states"] = "no cpuidle here (a virtual machine?)";
}

void read_limit_facts(HostFacts& facts, const path& root) {
  facts.limits = read_limits(root);
  facts.open_files_max = rlimit_of(RLIMIT_NOFILE);
  facts.processes_max = rlimit_of(RLIMIT_NPROC);
  const CgroupPath group = find_cgroup(root, "cpu");
  for (const path& directory : group.directories) {
    const std::string stat = read_small_file(directory / "cpu.stat", kFileBytesMax);
    const auto throttled = parse_decimal<std::uint64_t>(value_after(stat, "nr_throttled"));
    if (throttled) facts.throttled_periods = std::max(facts.throttled_periods.value_or(0), *throttled);
  }
}

}  // namespace

HostFacts read_host_facts(const path& root) {
  HostFacts facts;
  read_identity(facts, root);
  read_software(facts, root);
  read_memory(facts, root);
  read_cpus(facts, root);
  read_limit_facts(facts, root);
  facts.ptrace_scope = number_in<int>(facts, "ptrace_scope", root / "proc/sys/kernel/yama/ptrace_scope");
  std::error_code missing;
  facts.has_sysfs = std::filesystem::is_directory(root / "sys/devices", missing);
  std::filesystem::directory_iterator devices(root / "sys/class/infiniband", missing);
  facts.rdma_devices = missing ? 0 : static_cast<int>(std::distance(devices, {}));
  return facts;
}

}  // namespace ringcomm::inline v0
