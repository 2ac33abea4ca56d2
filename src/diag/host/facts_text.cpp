// SPDX-License-Identifier: Apache-2.0
#include "diag/host/facts_text.hpp"

#include <algorithm>
#include <array>

#include "ringcomm/core/text.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::diag {

std::vector<int> cpu_list(std::string_view text) {
  return topology::parse_cpu_list(text).value_or(std::vector<int>{});
}

std::string list_text(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t at = 0; at < numbers.size();) {
    std::size_t past = at + 1;
    while (past < numbers.size() && numbers[past] == numbers[past - 1] + 1) ++past;
    text += concat(text.empty() ? "" : ",", numbers[at]);
    if (past - at > 1) text += concat(past - at > 2 ? "-" : ",", numbers[past - 1]);
    at = past;
  }
  return text;
}

bool changes_communication(std::string_view name) {
  constexpr std::array<std::string_view, 7> kStarts{"NCCL_",  "UCX_", "RINGCOMM_",           "OMPI_MCA_",
                                                    "RDMAV_", "FI_",  "CUDA_VISIBLE_DEVICES"};
  return std::ranges::any_of(kStarts, [&](std::string_view start) { return name.starts_with(start); });
}

Finding result(std::string_view id, Severity severity, CheckState state, std::string title) {
  Finding finding;
  finding.id = id;
  finding.severity = severity;
  finding.state = state;
  finding.title = std::move(title);
  return finding;
}

Finding judged(std::string_view id, Severity severity, bool is_problem, std::string title, std::string fix) {
  Finding finding = result(id, severity, is_problem ? CheckState::problem : CheckState::ok, std::move(title));
  if (is_problem) finding.fix = std::move(fix);
  return finding;
}

Finding unknown(std::string_view id, Severity severity, const HostFacts& facts, std::string_view name) {
  const auto why = facts.unread.find(std::string(name));
  return result(id, severity, CheckState::unknown,
                concat("cannot tell: ", why == facts.unread.end() ? "it could not be read" : why->second));
}

}  // namespace ringcomm::inline v0::diag
