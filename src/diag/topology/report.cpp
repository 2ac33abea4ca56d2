// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "diag/topology/check.hpp"
#include "diag/topology/lookup.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {

const Finding* Report::find(std::optional<Severity> severity) const {
  const Severity wanted = severity.value_or(check_.severity);
  const auto found = std::ranges::find(problems_, wanted, &Finding::severity);
  return found == problems_.end() ? nullptr : &*found;
}

void Report::problem(FindingEvidence evidence, const std::vector<DeviceRef>& devices,
                     std::optional<Severity> severity) {
  has_looked_ = true;
  const Severity wanted = severity.value_or(check_.severity);
  auto found = std::ranges::find(problems_, wanted, &Finding::severity);
  if (found == problems_.end()) {
    Finding fresh;
    fresh.id = check_.id;
    fresh.severity = wanted;
    fresh.title = check_.sentence;
    problems_.push_back(std::move(fresh));
    found = problems_.end() - 1;
  }
  found->evidence.push_back(std::move(evidence));
  for (const DeviceRef& device : devices) {
    if (std::ranges::find(found->devices, device) == found->devices.end()) found->devices.push_back(device);
  }
}

void Report::word(const Wording& wording, std::optional<Severity> severity) {
  for (Finding& finding : problems_) {
    if (finding.severity != severity.value_or(check_.severity)) continue;
    finding.title = wording.title;
    finding.fix = wording.fix;
    finding.needs_root = wording.needs_root;
    finding.needs_reboot = wording.needs_reboot;
  }
}

std::size_t Report::problems(std::optional<Severity> severity) const {
  const Finding* found = find(severity);
  return found == nullptr ? 0 : found->evidence.size();
}

std::string Report::devices_text(const Machine& machine, std::optional<Severity> severity) const {
  const Finding* found = find(severity);
  return found == nullptr ? std::string() : names_text(machine, found->devices);
}

void Report::unknown(std::string why, Ask ask, Where where, const std::vector<DeviceRef>& devices) {
  if (!unknown_) {
    Finding fresh;
    fresh.id = check_.id;
    fresh.severity = check_.severity;
    fresh.state = CheckState::unknown;
    fresh.title = why;
    unknown_ = std::move(fresh);
    ask_ = ask;
  }
  unknown_->evidence.push_back({.read = std::move(why), .wanted = {}, .where = std::move(where)});
  for (const DeviceRef& device : devices) {
    if (std::ranges::find(unknown_->devices, device) == unknown_->devices.end())
      unknown_->devices.push_back(device);
  }
}

Report::Done Report::finish(KeepOk keep_ok) && {
  Done done;
  done.findings = std::move(problems_);
  std::ranges::stable_sort(done.findings, std::greater<>(), &Finding::severity);
  if (unknown_) {
    if (unknown_->evidence.size() > 1) {
      unknown_->title += concat(" (and ", unknown_->evidence.size() - 1, " more)");
    }
    done.findings.push_back(std::move(*unknown_));
    done.ask = ask_;
  }
  if (done.findings.empty() && has_looked_ && keep_ok == KeepOk::yes) {
    Finding fine;
    fine.id = check_.id;
    fine.severity = check_.severity;
    fine.state = CheckState::ok;
    fine.title = check_.sentence;
    done.findings.push_back(std::move(fine));
  }
  return done;
}

}  // namespace ringcomm::inline v0::diag
