// SPDX-License-Identifier: Apache-2.0
// How processes ended, as their launchers say it: torchrun, srun, mpirun, deepspeed, a shell.
#include <string>
#include <utility>

#include "diag/evidence/text/readers.hpp"
#include "diag/evidence/text/scan.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag::text {
namespace {

/// "rank      : 0 (local_rank: 0)": the value behind a key of torchrun's summary.
std::optional<std::string_view> value_of(std::string_view text, std::string_view key) {
  if (!text.starts_with(key)) return std::nullopt;
  text.remove_prefix(key.size());
  if (!take(text, ":")) return std::nullopt;
  return trimmed(text);
}

class LauncherReader final : public LineReader {
 public:
  bool read(const Line& line, Facts& facts) override {
    const std::string_view text = trimmed(line.text);
    const bool is_known = read_summary(text, facts) || read_agent(text, facts) ||
                          read_scheduler(text, facts) || read_mpirun(text, facts);
    if (is_known) facts.format(format_);
    return is_known;
  }

  void end(Facts& facts) override { close(facts); }

 private:
  /// The block under "Root Cause (first observed failure):" or "Failures:".
  bool read_summary(std::string_view text, Facts& facts) {
    format_ = "torchrun_log";
    if (text.starts_with("Root Cause (first observed failure)")) return begin("root_cause", facts);
    if (text == "Failures:" || text.starts_with("Other Failures:")) return begin("failure", facts);
    if (section_.empty()) return text.ends_with(" FAILED") && text.size() < 200 && contains(text, ".py");
    if (text.find_first_not_of("=-") == std::string_view::npos) {
      if (text.starts_with('=')) close(facts), section_.clear();
      return true;
    }
    std::string_view rest = text;
    if (take(rest, "[") && take_number(rest) && rest.starts_with("]:")) {
      close(facts);
      event_.kind = EventKind::exit_code;
      event_.detail = section_;
      event_.source = facts.source();
      is_open_ = true;
      return true;
    }
    if (!is_open_) return text == "<NO_OTHER_FAILURES>";
    return read_value(text, facts);
  }

  bool begin(std::string_view section, Facts& facts) {
    close(facts);
    section_ = section;
    return true;
  }

  bool read_value(std::string_view text, Facts& facts) {
    if (const auto time = value_of(text, "time")) {
      std::string_view rest = *time;
      event_.time_ns = take_time(rest);
    } else if (const auto host = value_of(text, "host")) {
      event_.who.host = host->substr(0, 255);
    } else if (const auto rank = value_of(text, "rank")) {
      std::string_view rest = *rank;
      event_.who.rank = small_number(take_number(rest));
      const int local = small_number(number_after(rest, "local_rank: "));
      event_.second = local;
    } else if (const auto code = value_of(text, "exitcode")) {
      std::string_view rest = *code;
      event_.code = take_number(rest).value_or(0);
      event_.who.pid = number_after(rest, "pid: ").value_or(kUnknown);
      event_.source = facts.source();
    } else if (const auto traceback = value_of(text, "traceback")) {
      event_.text = traceback->substr(0, kTextMax);
    } else if (!value_of(text, "error_file")) {
      return false;
    }
    return true;
  }

  void close(Facts& facts) {
    if (!is_open_) return;
    is_open_ = false;
    if (event_.text.empty()) event_.text = concat("exitcode : ", event_.code);
    facts.add_of_other(std::move(event_));
    event_ = {};
  }

  bool add_exit(std::int64_t code, Who who, std::string_view detail, Facts& facts) {
    EventFact event;
    event.kind = EventKind::exit_code;
    event.code = code;
    event.who = std::move(who);
    event.detail = detail;
    facts.add(std::move(event));
    return true;
  }

  /// Lines of torchrun's agent, of deepspeed and of shells.
  bool read_agent(std::string_view text, Facts& facts) {
    format_ = "torchrun_log";
    if (const auto code = number_after(text, "failed (exitcode: ")) {
      Who who;
      who.pid = number_after(text, "(pid: ").value_or(kUnknown);
      if (const int rank = small_number(number_after(text, " rank: ")); rank != kUnknown) who.rank = rank;
      return add_exit(*code, who, "agent", facts);
    }
    if (const auto pid = number_after(text, "received by PID ")) {
      Who who;
      who.pid = *pid;
      return add_exit(-number_after(text, "Signal ").value_or(0), who, "signal", facts);
    }
    if (contains(text, "Sending process ") && contains(text, "closing signal")) {
      Who who;
      who.pid = number_after(text, "Sending process ").value_or(kUnknown);
      facts.event(EventKind::aborted, "closing signal", who);
      return true;
    }
    if (contains(text, "death signal") && contains(text, "eceived ")) {
      facts.event(EventKind::aborted, "death signal");
      return true;
    }
    if (const auto code = number_after(text, "exits with return code = "))
      return add_exit(*code, {}, "deepspeed", facts);
    if (const auto pid = number_after(text, "Killing subprocess ")) {
      Who who;
      who.pid = *pid;
      facts.event(EventKind::aborted, "deepspeed", who);
      return true;
    }
    format_ = "console_log";
    // "run.sh: line 3: 3188 Killed    python train.py"
    const std::size_t killed = text.find(" Killed ");
    if (!contains(text, ": line ") || killed == std::string_view::npos) return false;
    const std::size_t blank = text.substr(0, killed).find_last_of(" \t");
    std::string_view number = text.substr(blank == std::string_view::npos ? 0 : blank + 1);
    Who who;
    who.pid = take_number(number).value_or(kUnknown);
    return who.pid != kUnknown && add_exit(-9, who, "shell", facts);
  }

  /// "srun: error: nodea: task 3: Killed", "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0".
  bool read_scheduler(std::string_view text, Facts& facts) {
    format_ = "slurm_log";
    const bool is_step = contains(text, "slurmstepd: error:");
    if (!is_step && !contains(text, "srun: error:")) return false;
    std::string_view rest = *after(text, " error:");
    if (contains_ignoring_case(text, "oom_kill event") || contains_ignoring_case(text, "oom-kill event")) {
      facts.event(EventKind::oom_kill, "slurm");
      return true;
    }
    if (contains(text, "TIME LIMIT") || contains(text, "CANCELLED")) {
      facts.event(EventKind::aborted, contains(text, "TIME LIMIT") ? "time limit" : "cancelled");
      return true;
    }
    Who who;
    who.host = take_word(rest, ":").substr(0, 255);
    const auto tasks = after(rest, "task");
    if (!tasks) return facts.event(EventKind::other, "slurm") != nullptr;
    std::string_view list = *tasks;
    take(list, "s");
    const std::string_view what = list.substr(std::min(list.find(':'), list.size()));
    const bool is_oom = contains_ignoring_case(what, "out of memory");
    std::int64_t code = number_after(what, "exit code ").value_or(1);
    if (contains(what, "Killed") || is_oom) code = -9;
    if (contains(what, "egmentation fault")) code = -11;
    if (contains(what, "Terminated")) code = -15;
    for (int count = 0; count < 65536; ++count) {
      const int first = small_number(take_number(list));
      if (first == kUnknown) break;
      int last = first;
      if (list.starts_with('-')) list.remove_prefix(1), last = small_number(take_number(list));
      for (int task = first; task <= last && task - first < 65536; ++task) {
        who.rank = task;
        EventFact event;
        event.kind = is_oom ? EventKind::oom_kill : EventKind::exit_code;
        event.code = code;
        event.who = who;
        event.detail = "slurm";
        event.text = text.substr(0, kTextMax);
        facts.add_of_other(std::move(event));
      }
      if (!take(list, ",")) break;
    }
    return true;
  }

  /// "mpirun noticed that process rank 3 with PID 0 on node nodea exited on signal 9 (Killed)."
  bool read_mpirun(std::string_view text, Facts& facts) {
    format_ = "mpirun_log";
    Who who;
    if (contains(text, "noticed that process rank ")) {
      who.rank = small_number(number_after(text, "process rank "));
      const auto pid = number_after(text, "with PID ");
      if (pid && *pid > 0) who.pid = *pid;
      who.host = word_after(text, "on node ").substr(0, 255);
      const auto signal = number_after(text, "exited on signal ");
      return add_exit(signal ? -*signal : number_after(text, "exit code ").value_or(1), who, "mpirun", facts);
    }
    if (contains(text, "RUNNING AT ") && contains(text, "PID ")) {  // MPICH, Intel MPI
      who.pid = number_after(text, "PID ").value_or(kUnknown);
      who.host = word_after(text, "RUNNING AT ").substr(0, 255);
      mpich_ = who;
      return true;
    }
    if (mpich_.pid != kUnknown && contains(text, "EXIT CODE: ")) {
      const std::int64_t code = number_after(text, "EXIT CODE: ").value_or(1);
      const Who process = std::exchange(mpich_, Who{});
      return add_exit(code == 9 || code == 11 ? -code : code, process, "mpirun", facts);
    }
    return false;
  }

  std::string section_{};
  EventFact event_{};
  Who mpich_{};
  std::string_view format_{};
  bool is_open_ = false;
};

}  // namespace

std::unique_ptr<LineReader> make_launcher_reader() { return std::make_unique<LauncherReader>(); }

}  // namespace ringcomm::inline v0::diag::text
