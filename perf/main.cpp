// SPDX-License-Identifier: Apache-2.0
// ringcomm-perf: nccl-tests' habits for ringcomm's operations.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "calibrate.hpp"
#include "launch.hpp"
#include "measure.hpp"
#include "operations.hpp"
#include "options.hpp"
#include "plan_overhead.hpp"
#include "report_json.hpp"
#include "ringcomm/core/env.hpp"
#include "ringcomm/core/text.hpp"
#include "run_info.hpp"
#include "serve.hpp"
#include "sweep.hpp"
#include "try.hpp"

namespace ringcomm::perf {
namespace {

/// What the process knows before its ranks start.
struct Start {
  std::vector<std::string> arguments;
  std::string time;
  Launch launch;
};

/// Rank 0's side of the report.
class Report {
 public:
  Report(const Options& options, const Start& start, RunInfo run)
      : options_(options), start_(start), run_(std::move(run)) {}

  Status open() {
    fmt::print("{}", format_header(options_, run_));
    std::fflush(stdout);
    if (options_.json.empty()) return {};
    PERF_TRY_ASSIGN(file_, claim_file(options_.json));
    return {};
  }
  void add(const Row& row) {
    if (rows_.empty()) fmt::print("{}", format_titles(options_, row.extras));
    fmt::print("{}", format_row(options_, row));
    std::fflush(stdout);
    rows_.push_back(row);
  }
  Status close(std::int64_t wrong, const std::string& memory, const std::string& remark) {
    remark_ = remark;
    const Verdict verdict = judge(wrong, rows_);
    fmt::print("{}{}{}", memory, remark.empty() ? "" : "# " + remark + "\n",
               format_footer(options_, verdict));
    std::fflush(stdout);
    PERF_TRY(write(verdict, {}));
    if (wrong != 0) return Status::corrupt_data(concat(wrong, " elements are wrong"));
    if (!verdict.bandwidth_is_ok())
      return Status::corrupt_data(concat("mean bus bandwidth of ", verdict.average_bus,
                                         " GB/s is under 0.9 x NCCL_TESTS_MIN_BW=", *verdict.least_bus));
    return {};
  }
  /// The rows so far, with the reason why there are no more.
  void fail(const Status& status) { (void)write(judge(0, rows_), status.to_string()).is_ok(); }

 private:
  Status write(const Verdict& verdict, const std::string& error) {
    if (file_.empty()) return {};
    return write_file(
        file_,
        format_json(
            options_, run_,
            {.arguments = start_.arguments, .start_time = start_.time, .remark = remark_, .error = error},
            verdict, rows_));
  }

  const Options& options_;
  const Start& start_;
  RunInfo run_;
  std::vector<Row> rows_;
  std::string file_, remark_;
};

/// wrong data has no StatusCode of its own: corrupt_data is what this program returns for it.
Status run_rank(Communicator& comm, const Options& options, const Start& start) {
  if (options.root >= comm.size())
    return Status::invalid_argument(concat("-r ", options.root, " of ", comm.size(), " ranks"));
  const std::unique_ptr<Case> subject = make_case(comm, options);
  if (options.serve) return serve(comm, options, *subject);
  PERF_TRY_ASSIGN(RunInfo run, gather_run_info(comm, start.launch.kind));
  Report report(options, start, std::move(run));
  if (comm.rank() == 0) PERF_TRY(report.open());
  auto wrong = measure(comm, options, *subject, [&](const Row& row) { report.add(row); });
  if (!wrong.is_ok() && comm.rank() == 0) report.fail(wrong.status());
  if (!wrong.is_ok()) return wrong.status();
  std::string memory;
  if (options.memory_report) {
    PERF_TRY_ASSIGN(memory, describe_memory(comm));
  }
  if (comm.rank() == 0) return report.close(wrong.value(), memory, subject->remark());
  return wrong.value() == 0 ? Status() : Status::corrupt_data(concat(wrong.value(), " elements are wrong"));
}

int exit_code_of(const Status& status) {
  switch (status.code()) {
    case StatusCode::ok:
      return kOk;
    case StatusCode::timeout:
      return kTimeout;
    case StatusCode::not_available:
      return kNotAvailable;
    case StatusCode::invalid_argument:
      return kUsage;
    case StatusCode::corrupt_data:
      return kWrongData;
    case StatusCode::internal:
      return kInternal;
    default:
      return kLibrary;
  }
}

int report_plan_overhead(int ranks) {
  const auto overhead = measure_plan_overhead(ranks, 20000);
  if (!overhead.is_ok()) {
    std::fprintf(stderr, "ringcomm-perf: %s\n", overhead.status().to_string().c_str());
    return exit_code_of(overhead.status());
  }
  fmt::print(
      "# ring_rotate --plan-overhead: one thread, flags already set, {} ranks, median of 7 interleaved "
      "runs\n",
      ranks);
  fmt::print(
      "plan and executor {:8.1f} ns per step\nhand-written loop {:8.1f} ns per step\noverhead          "
      "{:8.1f} ns per step\n",
      overhead->executor_ns, overhead->hand_written_ns, overhead->overhead_ns());
  return kOk;
}

Status calibrate(const Options& options, const Start& start, const CommunicatorOptions& comm_options) {
  Launch launch = start.launch;
  // Without a word about ranks: what jobs are made of, and enough of them for every class.
  if (options.threads == 0 && options.processes == 0 && launch.kind == "threads")
    launch = {.kind = "processes", .ranks = calibration_ranks(discover_cores())};
  Calibration head{.launch = launch.kind, .date = start.time};
  for (const auto& argument : start.arguments)
    head.command += concat(head.command.empty() ? "" : " ", argument);
  return run_ranks(launch, comm_options,
                   [&](Communicator& comm) { return run_calibration(comm, options, head); });
}

Status run(const Options& options, Start start) {
  PERF_TRY_ASSIGN(start.launch, choose_launch(options));
  CommunicatorOptions comm_options;
  comm_options.deadline = std::chrono::milliseconds(options.timeout_ms);
  if (!options.calibrate.empty()) return calibrate(options, start, comm_options);
  if (options.sweep) return run_sweep(options, start.launch, comm_options);
  return run_ranks(start.launch, comm_options,
                   [&](Communicator& comm) { return run_rank(comm, options, start); });
}

}  // namespace
}  // namespace ringcomm::perf

int main(int argc, char** argv) {
  namespace perf = ringcomm::perf;
  const auto parsed = perf::parse(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  const perf::Options& options = parsed.options;
  if (!options.transports.empty()) setenv("RINGCOMM_TRANSPORTS", options.transports.c_str(), 1);
  ringcomm::warn_unknown_env();
  if (options.plan_overhead)
    return perf::report_plan_overhead(
        std::max(4, std::min(std::max(options.threads, options.processes), 16)));
  const ringcomm::Status status =
      perf::run(options, {.arguments = {argv, argv + argc}, .time = perf::time_now(), .launch = {}});
  if (!status.is_ok()) std::fprintf(stderr, "ringcomm-perf: %s\n", status.to_string().c_str());
  return perf::exit_code_of(status);
}
