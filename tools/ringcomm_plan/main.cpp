// SPDX-License-Identifier: Apache-2.0
// ringcomm-plan: how to split a model and its sequence over these machines, and what it will cost.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "check_calls.hpp"
#include "core/try.hpp"
#include "options.hpp"
#include "report.hpp"
#include "ringcomm/core/env.hpp"
#include "ringcomm/core/text.hpp"
#include "timeline_svg.hpp"

namespace ringcomm::planner {
namespace {

Status write_file(const std::string& name, const std::string& text) {
  std::ofstream stream(name, std::ios::binary);
  stream << text;
  stream.close();
  return stream ? Status() : Status::not_found(concat("cannot write ", name));
}

Status show(const Options& options, const std::string& text, const std::string& json) {
  fmt::print("{}", options.is_json ? json : text);
  std::fflush(stdout);
  return options.json_file.empty() ? Status() : write_file(options.json_file, json);
}

Status draw(const Report& report) {
  if (report.options.svg.empty()) return {};
  const Candidate& best = report.choice.best;
  if (!best.time) {
    return Status::not_available(
        concat("no timeline, as the time is unknown (",
               best.missing.compute.empty() ? best.missing.transfer : best.missing.compute, ")"));
  }
  const Request& request = report.options.request;
  const int steps = std::min(best.split.cp, kStepsDrawn);
  const Schedule schedule =
      simulate(best.strategy, request.shape, request.work, best.split, request.fabric, steps);
  const AttentionTime& time = best.time->layer.forward;
  const std::string cut =
      steps < best.split.cp ? fmt::format("; first {} of {} steps", steps, best.split.cp) : "";
  const TimelineText text{
      .title = fmt::format("Attention of one layer, forward: {}, CP {}, {} tokens", name_of(best.strategy),
                           best.split.cp, request.work.tokens),
      .subtitle = fmt::format("a step: compute {}, transfer {}; {} exposed; bound by {}{}",
                              format_us(time.step_compute_us), format_us(time.step_transfer_us),
                              format_us(time.exposed_us), time.limit, cut)};
  return write_file(report.options.svg, timeline_svg(schedule, text));
}

struct Outcome {
  Status status{};
  int exit_code = kOk;
};

Status plan(Options options, MachineView machine) {
  RINGCOMM_TRY_ASSIGN(const Report report, make_report(std::move(options), std::move(machine)));
  RINGCOMM_TRY(show(report.options, to_text(report), to_json(report)));
  return draw(report);
}

Outcome check(const Options& options) {
  Request request = options.request;
  if (!request.strategy) request.strategy = Strategy::ring;
  const auto choice = choose(request);
  if (!choice.is_ok()) return {choice.status(), kUsage};
  const Split& split = choice.value().best.split;
  constexpr int kRanksOfASecond = 32;
  if (split.cp >= kRanksOfASecond && isatty(STDERR_FILENO) == 1)
    fmt::print(stderr, "proving {} slices ...\n", split.cp);
  const auto report = check_plan(request, split, *request.strategy, options.check);
  if (!report.is_ok())
    return {report.status(), report.status().code() == StatusCode::not_available ? kFailed : kUnproved};
  return {show(options, to_text(options, split, *request.strategy, report.value()),
               to_json(options, split, *request.strategy, report.value())),
          kFailed};
}

int exit_code_of(const Status& status) {
  return status.is_ok() ? kOk : status.code() == StatusCode::invalid_argument ? kUsage : kFailed;
}

int run_calls(const Options& options) {
  const auto report = check_calls(options.calls);
  const Status status =
      report.is_ok() ? show(options, to_text(report.value()), to_json(report.value())) : report.status();
  if (status.is_ok()) return report->fault == plan::ScheduleFault::none ? kOk : kFailed;
  fmt::print(stderr, "ringcomm-plan: {}\n", status.message());
  return report.is_ok() ? kFailed : kUsage;
}

int run(Options options) {
  if (!options.calls.file.empty()) return run_calls(options);
  auto machine = view_machine(options);
  Outcome outcome;
  bool has_unread = false;
  if (!machine.is_ok()) {
    const bool is_unread = machine.status().code() == StatusCode::not_found ||
                           machine.status().code() == StatusCode::corrupt_data;
    outcome = {machine.status(), is_unread ? kUnread : exit_code_of(machine.status())};
  } else if (options.is_check) {
    outcome = check(options);
  } else {
    has_unread = !machine.value().unread.empty();
    const Status status = plan(std::move(options), std::move(machine).value());
    outcome = {status, exit_code_of(status)};
  }
  if (outcome.status.is_ok()) return has_unread ? kUnread : kOk;
  fmt::print(stderr, "ringcomm-plan: {}\n", outcome.status.message());
  return outcome.exit_code;
}

}  // namespace
}  // namespace ringcomm::planner

int main(int argc, char** argv) {
  auto parsed = ringcomm::planner::parse(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  ringcomm::warn_unknown_env();
  return ringcomm::planner::run(std::move(parsed.options));
}
