// SPDX-License-Identifier: Apache-2.0
// ringcomm-doctor env: checks of this host, with probes, and over all ranks under a launcher.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <set>

#include "command.hpp"
#include "core/try.hpp"
#include "finding_text.hpp"
#include "host_json.hpp"
#include "host_text.hpp"
#include "ringcomm/bootstrap/bootstrap.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::doctor {
namespace {

constexpr const char* kName = "ringcomm-doctor env";

// Every line behind "Examples:" is run by tests/tools/doctor_env_test.cpp.
constexpr const char* kFooter = R"(
Examples:
  ringcomm-doctor env
  ringcomm-doctor env --ranks 8 --verbose
  ringcomm-doctor env --json > host.json
  mpirun -n 2 ringcomm-doctor env

Under a launcher (mpirun, srun, torchrun, RINGCOMM_RANK ...) every rank reads its own host, rank 0
prints what differs between them. Without one: this host alone, for --ranks ranks.
Exit codes, of rank 0: 0 ok, 1 warnings, 2 failures, 3 the ranks could not be asked, 64 usage.)";

struct EnvOptions {
  int ranks = 0;
  int timeout_s = 60;
  bool json = false;
  TextStyle style{};
};

std::int64_t wall_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// All ranks' facts, in rank order.
Result<std::vector<HostFacts>> gather(HostFacts mine, Bootstrap& group, Deadline deadline) {
  RINGCOMM_TRY(group.all_gather({}, deadline).status());  // so that all read their clocks at one moment
  mine.wall_clock_ns = wall_clock_ns();
  const std::string text = host_json(mine).dump(-1, ' ', false, Json::error_handler_t::replace);
  RINGCOMM_TRY_ASSIGN(const auto all, group.all_gather(std::as_bytes(std::span(text)), deadline));
  std::vector<HostFacts> facts;
  for (const auto& bytes : all) {
    RINGCOMM_TRY_ASSIGN(auto rank, parse_host({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    facts.push_back(std::move(rank));
  }
  return facts;
}

/// One finding per check: ranks of one host see the same host.
std::vector<Finding> findings_of(const std::vector<HostFacts>& facts, int ranks) {
  std::vector<Finding> findings;
  std::map<std::string, std::vector<std::size_t>> hosts;
  for (std::size_t rank = 0; rank < facts.size(); ++rank) hosts[facts[rank].boot_id].push_back(rank);
  for (const auto& [boot, members] : hosts) {
    HostFacts first = facts[members.front()];
    // The CPUs of a host's ranks together: a launcher may have bound each to its own.
    std::set<int> cpus;
    for (const std::size_t rank : members)
      cpus.insert(facts[rank].cpus_allowed.begin(), facts[rank].cpus_allowed.end());
    first.cpus_allowed.assign(cpus.begin(), cpus.end());
    first.limits.cpus_allowed = static_cast<int>(cpus.size());
    const int local = facts.size() > 1 ? static_cast<int>(members.size()) : ranks;
    for (Finding& finding : check_host(first, local)) {
      if (hosts.size() > 1) finding.title = concat(first.host_name, ": ", finding.title);
      findings.push_back(std::move(finding));
    }
  }
  for (Finding& finding : check_ranks(facts)) findings.push_back(std::move(finding));
  return findings;
}

int report(const std::vector<HostFacts>& facts, const EnvOptions& options) {
  const int ranks = options.ranks > 0 ? options.ranks : facts.front().limits.usable_cpus();
  const auto findings = findings_of(facts, ranks);
  const int code = exit_code_of(findings);
  if (options.json) {
    Json out{{"schema", 1}, {"ranks", Json::array()}, {"findings", Json::array()}, {"exit_code", code}};
    for (const HostFacts& rank : facts) out["ranks"].push_back(host_json(rank));
    for (const Finding& finding : findings) out["findings"].push_back(host_finding_json(finding));
    std::printf("%s\n", out.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
    return code;
  }
  std::printf("%s", printable(host_text(facts, findings, code, options.style), options.style).c_str());
  return code;
}

int run_alone(HostFacts mine, const EnvOptions& options) { return report({std::move(mine)}, options); }

int run_ranked(HostFacts mine, const EnvOptions& options) {
  const Deadline deadline = Deadline::after(std::chrono::seconds(options.timeout_s));
  auto group = bootstrap_from_environment(deadline);
  auto facts = group.is_ok() ? gather(std::move(mine), *group.value(), deadline)
                             : Result<std::vector<HostFacts>>(group.status());
  if (!facts.is_ok()) {
    std::fprintf(stderr, "%s: %s\n", kName, facts.status().to_string().c_str());
    return kUnreadable;
  }
  if (group.value()->rank() == 0) return report(facts.value(), options);
  return kOk;  // mpirun ends the job at the first other code, maybe before rank 0 has printed
}

}  // namespace

int run_env(int argc, char** argv) {
  EnvOptions options;
  CLI::App app{
      "Checks this host and the ranks on it: limits, memory, CPUs, software, and what processes may do.",
      kName};
  app.set_help_flag("-h,--help", "print this and exit");
  app.footer(kFooter);
  app.get_formatter()->column_width(26);
  app.add_flag("--json", options.json, "print JSON");
  app.add_flag("--verbose", options.style.verbose, "also the checks that are ok");
  app.add_flag("--ascii", options.style.ascii, "7-bit characters only");
  app.add_option("--ranks", options.ranks,
                 "ranks that are planned for this host (without: one per usable CPU)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--timeout", options.timeout_s, "seconds to wait for the other ranks (60)")
      ->check(CLI::Range(1, 3600));
  if (const auto code = parse_arguments(app, argc, argv)) return *code;
  const auto launch = read_launch_environment();
  if (!launch.is_ok() && launch.status().code() != StatusCode::not_found)
    return usage_error(kName, std::string(launch.status().message()));
  HostFacts mine = read_host_facts();
  mine.probes = run_probes();  // before any thread is started
  const bool is_ranked = launch.is_ok() && launch->size > 1;
  return is_ranked ? run_ranked(std::move(mine), options) : run_alone(std::move(mine), options);
}

}  // namespace ringcomm::doctor
