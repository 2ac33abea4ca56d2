// SPDX-License-Identifier: Apache-2.0
// ringcomm-doctor selftest: two ranks and 4,096 tokens, then more; one verdict.
#include "selftest.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "command.hpp"
#include "finding_text.hpp"
#include "json_value.hpp"
#include "ringcomm/core/limits.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::doctor {
namespace {

constexpr const char* kName = "ringcomm-doctor selftest";

// Every line behind "Examples:" is run by tests/tools/doctor_selftest_test.cpp.
constexpr const char* kFooter = R"(
Examples:
  ringcomm-doctor selftest
  ringcomm-doctor selftest --ranks 3 --transports inproc,shm
  ringcomm-doctor selftest --json

inproc (threads) and shm (processes) are tried by this program itself; ucx, and mpi
where --transports names it, through ringcomm-perf, beside this program or on the PATH.
Exit codes: 0 all passed, 1 a transport could not be tried, 2 something failed, 64 usage.)";

struct SelfTestOptions {
  int ranks = 0;
  int timeout_s = 60;
  bool json = false;
  std::vector<std::string> transports{"inproc", "shm", "ucx"};
};

enum class Outcome : std::uint8_t { passed, failed, not_tried };

struct Row {
  std::string transport{};
  int ranks = 0;
  std::string name{};
  Outcome outcome = Outcome::passed;
  std::string message{};
  double seconds = 0;
};

const char* word_of(Outcome outcome) {
  constexpr std::array kWords{"ok", "FAILED", "not tried"};
  return kWords[static_cast<std::size_t>(outcome)];
}

void print(const Row& row) {
  std::printf("  %-7s %d ranks  %-19s %-9s %6.2f s%s%s\n", row.transport.c_str(), row.ranks, row.name.c_str(),
              word_of(row.outcome), row.seconds, row.message.empty() ? "" : "  ", row.message.c_str());
  std::fflush(stdout);
}

class SelfTest {
 public:
  explicit SelfTest(const SelfTestOptions& options) : options_(options) {}

  void run() {
    for (const int ranks : rank_counts()) {
      for (const std::string& transport : options_.transports) {
        if (transport == "inproc" || transport == "shm") {
          run_own(transport, ranks);
        } else {
          run_perf(transport, ranks);
        }
      }
    }
  }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  /// Two first, as people are told to try first; then as many as the machine has CPUs for, up to four.
  std::vector<int> rank_counts() const {
    if (options_.ranks > 0) return {options_.ranks};
    const int more = std::clamp(read_limits().usable_cpus(), 3, 4);
    return {2, more};
  }

  template <class Body>
  void timed(Row row, Body&& body) {
    const auto start = std::chrono::steady_clock::now();
    const Status status = body();
    row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    row.message = std::string(status.message());
    row.outcome = status.is_ok() ? Outcome::passed
                  : status.code() == StatusCode::not_available || status.code() == StatusCode::not_found
                      ? Outcome::not_tried
                      : Outcome::failed;
    if (!options_.json) print(row);
    rows_.push_back(std::move(row));
  }

  void run_own(const std::string& transport, int ranks) {
    CommunicatorOptions communicator;
    communicator.deadline = std::chrono::seconds(options_.timeout_s);
    communicator.transports = {transport == "inproc" ? inproc_transport() : shm_transport()};
    for (const SelfCheck& check : self_checks()) {
      timed({.transport = transport, .ranks = ranks, .name = check.name}, [&] {
        return transport == "inproc" ? run_threads(ranks, check.run, communicator)
                                     : run_processes(ranks, check.run, communicator);
      });
    }
  }

  void run_perf(const std::string& transport, int ranks) {
    std::error_code missing;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", missing);
    const auto beside = self.parent_path() / "ringcomm-perf";
    const std::string program = std::filesystem::exists(beside, missing) ? beside.string() : "ringcomm-perf";
    for (const char* const operation :
         {"all_reduce", "ring_rotate", "softmax_all_reduce", "ring_attention"}) {
      timed({.transport = transport, .ranks = ranks, .name = operation}, [&] {
        std::vector<std::string> words{program, operation, "--procs", concat(ranks), "--transport", transport,
                                       "-b",    "4K",      "-e",      "64K",         "-f",          "16",
                                       "-n",    "3",       "-w",      "1",           "-c",          "1"};
        if (words[1] == "ring_attention")
          words.insert(words.end(), {"--seq", "1024", "--q-heads", "4", "--kv-heads", "2"});
        const Status done = run_program(words, options_.timeout_s);
        if (!done.message().ends_with("exited with 5")) return done;  // docs/perf.md: 5 is "not available"
        return Status::not_available(concat("not available here (", program, " ", operation, " --procs ",
                                            ranks, " --transport ", transport, " says why)"));
      });
      if (rows_.back().outcome == Outcome::not_tried)
        return;  // no such program: the others would say the same
    }
  }

  const SelfTestOptions& options_;
  std::vector<Row> rows_;
};

int exit_code(const std::vector<Row>& rows) {
  int code = kOk;
  for (const Row& row : rows) {
    if (row.outcome == Outcome::failed) code = kFailures;
    if (row.outcome == Outcome::not_tried) code = std::max<int>(code, kWarnings);
  }
  return code;
}

std::string verdict(const std::vector<Row>& rows, int code) {
  const auto count = [&](Outcome outcome) {
    return std::ranges::count_if(rows, [&](const Row& row) { return row.outcome == outcome; });
  };
  std::string text = concat("Verdict: ", count(Outcome::passed), " of ", rows.size(), " passed");
  if (count(Outcome::failed) > 0) text += concat(", ", count(Outcome::failed), " failed");
  if (count(Outcome::not_tried) > 0) text += concat(", ", count(Outcome::not_tried), " not tried");
  return concat(text, " (exit code ", code, ")");
}

void print_json(const std::vector<Row>& rows, int code) {
  Json out{{"schema", 1}, {"checks", Json::array()}, {"exit_code", code}};
  for (const Row& row : rows) {
    out["checks"].push_back({{"transport", row.transport},
                             {"ranks", row.ranks},
                             {"name", row.name},
                             {"result", row.outcome == Outcome::passed   ? "passed"
                                        : row.outcome == Outcome::failed ? "failed"
                                                                         : "not tried"},
                             {"message", json_of(row.message)},
                             {"seconds", row.seconds}});
  }
  std::printf("%s\n", out.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

}  // namespace

int run_selftest(int argc, char** argv) {
  SelfTestOptions options;
  CLI::App app{
      "Runs the library on this host, from two ranks and 4,096 tokens upwards, and checks every number.",
      kName};
  app.set_help_flag("-h,--help", "print this and exit");
  app.footer(kFooter);
  app.get_formatter()->column_width(26);
  app.add_flag("--json", options.json, "print JSON");
  app.add_option("--ranks", options.ranks, "only this many ranks (without: 2, then 3 or 4)")
      ->check(CLI::Range(1, 64));
  app.add_option("--transports", options.transports,
                 "of inproc, shm, ucx, mpi (without this option all but mpi, which needs mpirun)")
      ->delimiter(',')
      ->check(CLI::IsMember({"inproc", "shm", "ucx", "mpi"}));
  app.add_option("--timeout", options.timeout_s, "seconds for each line (60)")->check(CLI::Range(1, 3600));
  if (const auto code = parse_arguments(app, argc, argv)) return *code;
  if (!options.json) std::printf("ringcomm-doctor selftest\n");
  SelfTest test(options);
  test.run();
  const int code = exit_code(test.rows());
  if (options.json) {
    print_json(test.rows(), code);
  } else {
    std::printf("%s\n", verdict(test.rows(), code).c_str());
  }
  return code;
}

}  // namespace ringcomm::doctor
