// SPDX-License-Identifier: Apache-2.0
// What every check of a machine is: a function from a case to a report of its own id.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/diag/topology_checks.hpp"

namespace ringcomm::inline v0::diag {

/// The file that would answer an unknown.
enum class Ask : std::uint8_t { nothing, lspci, topo_matrix, nvlink, p2p, lstopo, nccl_dump, ib, log, live };
inline constexpr std::size_t kAskCount = 10;

/// Findings of one check. Nothing looked at, nothing said: the check does not apply.
class Report {
 public:
  explicit Report(const CheckId& check) : check_(check) {}

  /// At least one value was judged.
  void looked() { has_looked_ = true; }
  /// One more value that is wrong; values of one severity become one finding.
  void problem(FindingEvidence evidence, const std::vector<DeviceRef>& devices,
               std::optional<Severity> severity = {});
  /// Title and fix of the problems so far (of one severity); without problems nothing happens.
  struct Wording {
    std::string title{};
    std::string fix{};
    bool needs_root = false;
    bool needs_reboot = false;
  };
  void word(const Wording& wording, std::optional<Severity> severity = {});
  std::size_t problems(std::optional<Severity> severity = {}) const;
  /// Devices of the problems so far, as "GPU0, GPU1 and 6 more".
  std::string devices_text(const Machine& machine, std::optional<Severity> severity = {}) const;
  /// A value that would have been judged is missing.
  void unknown(std::string why, Ask ask, Where where = {}, const std::vector<DeviceRef>& devices = {});

  struct Done {
    std::vector<Finding> findings{};
    Ask ask = Ask::nothing;  ///< of the unknown, if there is one
  };
  Done finish(KeepOk keep_ok) &&;

 private:
  const Finding* find(std::optional<Severity> severity) const;

  CheckId check_;
  bool has_looked_ = false;
  std::vector<Finding> problems_;
  std::optional<Finding> unknown_;
  Ask ask_ = Ask::nothing;
};

struct Check {
  CheckId info;
  void (*run)(const TopologyCase& input, Report& report);
};
/// In the order of the spec.
std::span<const Check> checks();

}  // namespace ringcomm::inline v0::diag
