// SPDX-License-Identifier: Apache-2.0
// What a job's log says went wrong (spec checks 41, 46 to 49, 52, 53, 66).
#include <algorithm>
#include <map>
#include <set>

#include "diag/topology/lookup.hpp"
#include "diag/topology/themes.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

/// Warnings that hold one of the words.
void judge_warnings(const TopologyCase& input, Report& report, std::initializer_list<std::string_view> words,
                    std::string_view wanted) {
  for (const LogEvent* event : events_of(input, LogEventKind::warning)) {
    report.looked();
    const std::string_view text = event->value("text");
    if (std::ranges::none_of(words,
                             [&](std::string_view word) { return contains_ignoring_case(text, word); }))
      continue;
    report.problem({.read = std::string(text), .wanted = std::string(wanted), .where = event->where}, {});
  }
}

bool has_words(std::string_view list, std::initializer_list<std::string_view> prefixes) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view name = list.substr(0, comma);
    if (std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); }))
      return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

}  // namespace

void check_rails_not_connected(const TopologyCase& input, Report& report) {
  for (const LogEvent* event : events_of(input, LogEventKind::qp_failure)) {
    report.looked();
    // 110 is ETIMEDOUT: the packets of the connection got no answer.
    if (event->value("code") != "110" && !contains_ignoring_case(event->value("error"), "timed out"))
      continue;
    report.problem({.read = concat(event->value("call"), " failed with ", event->value("code"), " ",
                                   event->value("error"), " on ", event->value("device")),
                    .wanted = "NICs of different rails that reach each other, or rings that keep their rail",
                    .where = event->where},
                   {});
  }
  report.word(
      {.title =
           "a NIC got no answer from the NIC of another host: rails that are not connected, or a wrong GID",
       .fix = "export NCCL_CROSS_NIC=0"});
}

void check_qp_failure(const TopologyCase& input, Report& report) {
  for (const LogEvent* event : events_of(input, LogEventKind::qp_failure)) {
    report.looked();
    if (event->value("code") == "110" || contains_ignoring_case(event->value("error"), "timed out")) continue;
    report.problem({.read = concat(event->value("call"), " failed with ", event->value("code"), " ",
                                   event->value("error")),
                    .wanted = "a queue pair",
                    .where = event->where},
                   {});
  }
  report.word({.title = "a verbs call failed",
               .fix = "show_gids; then export NCCL_IB_GID_INDEX=<a RoCE v2 index with an IPv4 address>"});
}

void check_verbs_missing(const TopologyCase& input, Report& report) {
  for (const LogEvent* event : events_of(input, LogEventKind::verbs_missing)) {
    report.problem({.read = concat("cannot open ", event->value("library")),
                    .wanted = "libibverbs",
                    .where = event->where},
                   {});
  }
  report.word(
      {.title = "libibverbs is missing, so InfiniBand cannot be used",
       .fix = "apt-get install libibverbs1 ibverbs-providers (containers also: --device=/dev/infiniband)",
       .needs_root = true});
}

void check_socket_network(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  const bool has_rdma = std::ranges::any_of(machine.nics, &Nic::is_rdma);
  const bool has_no_verbs = !events_of(input, LogEventKind::verbs_missing).empty();
  for (const LogEvent* event : events_of(input, LogEventKind::interfaces)) {
    if (event->value("plugin") != "Socket") continue;
    report.looked();
    // IP over InfiniBand shows that an HCA is there.
    const bool is_ipoib = has_words(event->value("list"), {"ib"});
    if (!has_rdma && !is_ipoib && !has_no_verbs) continue;
    report.problem({.read = concat("NET/Socket over ", event->value("list")),
                    .wanted = is_ipoib ? "InfiniBand itself, not IP over it" : "the RDMA NICs",
                    .where = event->where},
                   {});
  }
  for (const LogEvent* event : events_of(input, LogEventKind::network)) {
    report.looked();
    if (event->value("name") != "Socket") continue;
    report.problem(
        {.read = "Using network Socket", .wanted = "IB or another RDMA network", .where = event->where}, {},
        has_rdma || has_no_verbs ? std::nullopt : std::optional(Severity::info));
  }
  report.word({.title = "the job talks over sockets although there is an RDMA network",
               .fix = "export NCCL_NET=IB (it then says why it cannot)"});
  report.word({.title = "the job talks over sockets; whether there is an RDMA NIC is not in the evidence",
               .fix = "ibstat"},
              Severity::info);
}

void check_bootstrap_interface(const TopologyCase& input, Report& report) {
  for (const LogEvent* event : events_of(input, LogEventKind::interfaces)) {
    report.looked();
    if (!has_words(event->value("list"), {"docker", "lo", "virbr", "veth"})) continue;
    report.problem({.read = concat(event->value("plugin"), " over ", event->value("list")),
                    .wanted = "an interface that the other hosts reach",
                    .where = event->where},
                   {});
  }
  report.word({.title = "the job uses an interface that other hosts cannot reach",
               .fix = "export NCCL_SOCKET_IFNAME==eth0"});
}

void check_firewall(const TopologyCase& input, Report& report) {
  judge_warnings(input, report, {"Connection refused", "No route to host", "connect to"}, "a connection");
  report.word(
      {.title =
           "ranks cannot connect: refused means that nobody listens, no route or timed out means a filter",
       .fix = "iptables -L -n; open the ports between the hosts",
       .needs_root = true});
}

void check_shm_too_small(const TopologyCase& input, Report& report) {
  for (const LogEvent* event : events_of(input, LogEventKind::shm_failure)) {
    report.problem({.read = concat(event->value("call"), ": ", event->value("error")),
                    .wanted = "room in /dev/shm",
                    .where = event->where},
                   {});
  }
  report.word({.title = "/dev/shm is too small (containers get 64 MB)",
               .fix = "docker run --shm-size=8g (or --ipc=host)"});
}

void check_memlock_low(const TopologyCase& input, Report& report) {
  judge_warnings(input, report, {"ibv_reg_mr failed", "ibv_create_cq failed", "Cannot allocate memory"},
                 "memory that may be locked");
  report.word({.title = "memory cannot be registered: the limit of locked memory is too low",
               .fix = "ulimit -l unlimited (in the unit that starts the daemon: LimitMEMLOCK=infinity)",
               .needs_root = true});
}

void check_versions_differ(const TopologyCase& input, Report& report) {
  std::map<std::string, std::map<std::string, Where>> versions;
  for (const LogEvent* event : events_of(input, LogEventKind::version)) {
    report.looked();
    versions[std::string(event->value("library"))].emplace(std::string(event->value("version")),
                                                           event->where);
  }
  for (const auto& [library, found] : versions) {
    if (found.size() < 2) continue;
    for (const auto& [version, where] : found) {
      report.problem(
          {.read = concat(library, " ", version), .wanted = "one version on all ranks", .where = where}, {});
    }
  }
  report.word(
      {.title = "ranks run different versions of a library", .fix = "start all ranks from one image"});
}

}  // namespace ringcomm::inline v0::diag
