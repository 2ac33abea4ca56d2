// SPDX-License-Identifier: Apache-2.0
// ringcomm-doctor attach: what a live job does now, read from its flight records.
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <utility>

#include "attach_view.hpp"
#include "command.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/diag/explain.hpp"
#include "ringcomm/diag/watchdog.hpp"
#include "screen.hpp"

namespace ringcomm::doctor {
namespace {

constexpr const char* kName = "ringcomm-doctor attach";
constexpr int kShown = 0, kNoJob = 3;
constexpr std::chrono::milliseconds kApart{250};

// Every line behind "Examples:" is run by tests/tools/doctor_attach_test.cpp, beside a job that hangs.
constexpr const char* kFooter = R"(
Examples:
  ringcomm-doctor attach
  ringcomm-doctor attach --pid 4711
  ringcomm-doctor attach --pid 4711 --watch 1
  ringcomm-doctor attach --pid 4711 --json

It reads the flight records of your jobs on this host, which also answer for a process that is
stopped or dead, and looks twice, to tell what moves from what stands still. The job notices
nothing. called, done: operations of the group entered and left; lag: behind the first rank; step,
peer: of the plan, and who is waited for; for: since the call began, or ended; wait%, comp%: shares
of the time since the record was made.
Exit codes: 0 shown, or --watch was interrupted; 3 no job of yours has a record here; 64 usage, or
several jobs and no --pid.
More: docs/diagnosis.md.)";

struct AttachOptions {
  std::int64_t pid = 0;  ///< 0: the only job
  bool is_watching = false;
  double seconds = 2;
  std::string folder{};
  bool json = false;
  TextStyle style{};
};

std::string name_of_user(uid_t user) {
  const passwd* const entry = getpwuid(user);
  return entry != nullptr ? std::string(entry->pw_name) : concat("user ", static_cast<unsigned>(user));
}

/// Why nobody can be asked about this process; empty: it may be.
std::string objection_to(std::int64_t pid) {
  struct stat facts {};
  if (stat(concat("/proc/", pid).c_str(), &facts) != 0)
    return concat("there is no process ", pid, " on this host");
  if (facts.st_uid == geteuid()) return {};
  return concat("process ", pid, " belongs to ", name_of_user(facts.st_uid),
                "; records are their owner's alone: run this as ", name_of_user(facts.st_uid));
}

std::vector<diag::LiveRank> look(const AttachOptions& options) {
  return diag::live_ranks(options.pid > 0 ? std::optional(options.pid) : std::nullopt, options.folder);
}

/// The ranks of each job: a process may be in several.
std::map<std::uint64_t, std::vector<diag::LiveRank>> by_job(std::vector<diag::LiveRank> ranks) {
  std::map<std::uint64_t, std::vector<diag::LiveRank>> jobs;
  for (diag::LiveRank& rank : ranks) {
    const std::uint64_t job = rank.job;
    jobs[job].push_back(std::move(rank));
  }
  return jobs;
}

AttachView view_of(const std::vector<diag::LiveRank>& before, std::vector<diag::LiveRank> now) {
  constexpr std::int64_t kStands = 1'000'000'000;  // while others move: a wait of less is part of the work
  AttachView view;
  view.has_moved = has_moved(before, now);
  if (view.has_moved) view.standing = standing_groups(before, now, kStands);
  if (view.is_explained()) {
    std::vector<std::filesystem::path> records;
    for (const diag::LiveRank& rank : now) records.push_back(rank.record);
    diag::HangEvidence evidence = diag::read_live_records(records);
    if (view.has_moved) evidence = facts_of_groups(std::move(evidence), view.standing);
    view.verdict = diag::explain(evidence);
  }
  view.ranks = std::move(now);
  return view;
}

bool show(const std::vector<diag::LiveRank>& before, const std::vector<diag::LiveRank>& now,
          const AttachOptions& options) {
  const bool is_screen = options.is_watching && !options.json && isatty(STDOUT_FILENO) != 0;
  std::string text = is_screen ? "\x1b[H\x1b[2J" : "";
  auto earlier = by_job(before);
  for (auto& [job, ranks] : by_job(now)) {
    const AttachView view = view_of(earlier[job], std::move(ranks));
    text += options.json
                ? attach_json(view)
                : concat(printable(attach_text(view, kScreenColumns, options.style.verbose), options.style),
                         options.is_watching ? "\n" : "");
  }
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

/// True when somebody pressed Ctrl-C meanwhile; the signal is blocked and only waited for here.
bool is_interrupted_within(double seconds, const sigset_t& signals) {
  const auto whole = static_cast<std::time_t>(seconds);
  const timespec time{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  return sigtimedwait(&signals, nullptr, &time) > 0;
}

int watch(std::vector<diag::LiveRank> before, const AttachOptions& options) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  double wait = 0.25;
  while (!is_interrupted_within(wait, signals)) {
    std::vector<diag::LiveRank> now = look(options);
    if (now.empty()) {
      std::fprintf(stderr, "%s: the job has ended\n", kName);
      return kShown;
    }
    if (!show(before, now, options)) return kShown;
    before = std::move(now);
    wait = options.seconds;
  }
  return kShown;
}

int no_job(const AttachOptions& options) {
  std::fprintf(
      stderr,
      "%s: no live job of %s has a flight record here%s.\n"
      "  Is it on this host, and yours? Was recording switched off, or sent elsewhere (then set the\n"
      "  job's RINGCOMM_RECORD_DIR here too, or --folder DIR)? A job without ringcomm has none: "
      "ringcomm-doctor hang reads its logs.\n",
      kName, name_of_user(geteuid()).c_str(),
      options.pid > 0 ? concat(" for process ", options.pid).c_str() : "");
  return kNoJob;
}

int attach(const AttachOptions& options) {
  if (options.pid > 0) {
    if (const std::string objection = objection_to(options.pid); !objection.empty()) {
      std::fprintf(stderr, "%s: %s\n", kName, objection.c_str());
      return kNoJob;
    }
  }
  std::vector<diag::LiveRank> before = look(options);
  if (before.empty()) return no_job(options);
  if (options.pid == 0 && by_job(before).size() > 1)
    return usage_error(
        kName, concat("several jobs run here; choose one:\n", printable(job_list(before), options.style)));
  if (options.is_watching) return watch(std::move(before), options);
  const timespec apart{0, std::chrono::nanoseconds(kApart).count()};
  nanosleep(&apart, nullptr);
  const std::vector<diag::LiveRank> now = look(options);
  if (now.empty()) return no_job(options);
  show(before, now, options);
  return kShown;
}

}  // namespace

int run_attach(int argc, char** argv) {
  AttachOptions options;
  std::string seconds;
  CLI::App app{"Shows what a live job does now: who is where, who waits for whom, and who is behind.", kName};
  app.set_help_flag("-h,--help", "print this and exit");
  app.footer(kFooter);
  app.get_formatter()->column_width(26);
  app.add_option("--pid", options.pid, "a process of the job (without: the only job of yours here)")
      ->check(CLI::PositiveNumber);
  CLI::Option* const watching = app.add_option("--watch", seconds, "refresh every SECONDS (2) until Ctrl-C")
                                    ->expected(0, 1)
                                    ->type_name("[SECONDS]");
  app.add_option("--folder", options.folder, "also look for records there");
  app.add_flag("--json", options.json, "print JSON, one object a line");
  app.add_flag("--verbose", options.style.verbose, "all ranks of large groups");
  app.add_flag("--ascii", options.style.ascii, "7-bit characters only");
  if (const auto code = parse_arguments(app, argc, argv)) return *code;
  options.is_watching = watching->count() > 0;
  if (!seconds.empty() && options.is_watching) {
    char* end = nullptr;
    options.seconds = std::strtod(seconds.c_str(), &end);
    if (*end != '\0' || !(options.seconds >= 0.1 && options.seconds <= 3600))
      return usage_error(kName, concat("--watch wants 0.1 ... 3600 seconds, not '", seconds, "'"));
  }
  return attach(options);
}

}  // namespace ringcomm::doctor
