// SPDX-License-Identifier: Apache-2.0
// What a check says: ok, a problem with its evidence and its fix, or why it cannot tell.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/topology/machine.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

enum class Severity : std::uint8_t { info, warning, failure };
std::string_view name_of(Severity severity);
/// No permission is unknown, never ok.
enum class CheckState : std::uint8_t { ok, problem, unknown };
std::string_view name_of(CheckState state);

/// One value that was read, and the one that is wanted.
struct FindingEvidence {
  std::string read{};    ///< "GPU2: 0 NVLinks"
  std::string wanted{};  ///< "18, as its peers"; empty: nothing to compare
  Where where{};
};

struct Finding {
  std::string id{};  ///< stable name: "nvlink_missing_on_gpu"; listed in docs/topology.md
  Severity severity = Severity::info;
  CheckState state = CheckState::problem;
  std::string title{};  ///< one sentence with the numbers
  std::vector<FindingEvidence> evidence{};
  std::string fix{};  ///< one command or one sentence
  bool needs_root = false;
  bool needs_reboot = false;
  std::string cause{};  ///< id of the finding that explains this one; empty: a root
  std::vector<DeviceRef> devices{};
};

/// One check of a table: its stable id, the severity of its problems (a check may lower it), what it says.
struct CheckId {
  std::string_view id;
  Severity severity;
  std::string_view sentence;
};

/// 0 ok, 1 warnings, 2 failures (info and unknown do not count).
int exit_code_of(const std::vector<Finding>& findings);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
