// SPDX-License-Identifier: Apache-2.0
#include "check_calls.hpp"

#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "call_file.hpp"
#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::planner {
namespace {

/// One byte more than a reader takes, so that it can say so.
constexpr std::size_t kBytesMax = (std::size_t{16} << 20) + 1;
constexpr std::size_t kLinesShown = 24;

std::string bytes_of(std::istream& stream) {
  std::string text(kBytesMax, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

}  // namespace

Result<plan::ScheduleReport> check_calls(const ScheduleOptions& options) {
  const bool is_input = options.file == "-";
  std::ifstream stream(is_input ? "/dev/null" : options.file, std::ios::binary);
  const std::string text = bytes_of(is_input ? std::cin : stream);
  if (!stream.is_open() || text.empty())
    return Status::not_found(concat("--schedule ", options.file, " cannot be read or is empty"));
  RINGCOMM_TRY_ASSIGN(const plan::CallSchedule schedule, read_call_file(text, options.file));
  return plan::check_schedule(schedule, options.is_one_stream);
}

std::string to_text(const plan::ScheduleReport& report) {
  if (report.fault == plan::ScheduleFault::none) return concat("PROVED    ", report.sentence, "\n");
  std::string text = concat("NOT SAFE  ", report.sentence, "\n");
  for (std::size_t i = 0; i < report.lines.size(); ++i) {
    if (i == kLinesShown) {
      text += concat("          and ", report.lines.size() - i, " more (--json has all)\n");
      break;
    }
    text += concat("          ", report.lines[i].text, "\n");
  }
  return text + concat("Fix       ", report.fix, "\n");
}

std::string to_json(const plan::ScheduleReport& report) {
  nlohmann::json lines = nlohmann::json::array();
  for (const plan::ScheduleLine& line : report.lines) {
    nlohmann::json waits_for;
    if (line.waits_for != plan::kNone) waits_for = line.waits_for;
    lines.push_back(
        {{"rank", line.rank}, {"call", line.call}, {"waits_for", waits_for}, {"text", line.text}});
  }
  const nlohmann::json all = {{"version", 1},
                              {"proved", report.fault == plan::ScheduleFault::none},
                              {"fault", plan::name_of(report.fault)},
                              {"sentence", report.sentence},
                              {"lines", lines},
                              {"fix", report.fix},
                              {"calls", report.calls},
                              {"meetings", report.meetings}};
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace ringcomm::planner
