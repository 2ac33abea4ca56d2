// SPDX-License-Identifier: Apache-2.0
// Settings and health of single GPUs, and GPUs that two ranks use (spec checks 15, 26 to 30).
#include <algorithm>
#include <map>

#include "diag/topology/lookup.hpp"
#include "diag/topology/themes.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

/// What is wrong with this GPU's state ("MIG on"); empty: nothing. Nothing: the value is unknown.
using Judge = std::optional<std::string> (*)(const GpuState& state);

void judge_all(const Machine& machine, Report& report, std::string_view what, std::string_view wanted,
               Judge judge) {
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const Gpu& gpu = machine.gpus[i];
    if (gpu.vendor != GpuVendor::nvidia) continue;
    const auto wrong = judge(gpu.state);
    if (!wrong) {
      report.unknown(concat(what, " of ", name_of(machine, gpu_ref(i)), ": not in the evidence"), Ask::live,
                     gpu.where, {gpu_ref(i)});
    } else if (wrong->empty()) {
      report.looked();
    } else {
      report.problem({.read = concat(name_of(machine, gpu_ref(i)), ": ", *wrong),
                      .wanted = std::string(wanted),
                      .where = gpu.where},
                     {gpu_ref(i)});
    }
  }
}

std::string when(bool is_wrong, std::string_view text) {
  return is_wrong ? std::string(text) : std::string();
}

/// NVML's names of the reasons that mean trouble; a software power cap is how a busy GPU keeps to its limit.
std::string bad_reasons(std::string_view reasons) {
  constexpr std::array<std::string_view, 4> kBad{"HW Slowdown", "HW Thermal", "HW Power Brake", "SW Thermal"};
  std::vector<std::string> bad;
  for (const std::string_view reason : kBad) {
    if (contains_ignoring_case(reasons, reason)) bad.emplace_back(reason);
  }
  return joined(bad);
}

}  // namespace

void check_gpu_used_twice(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  for (std::size_t a = 0; a < machine.gpus.size(); ++a) {
    if (machine.gpus[a].uuid.empty()) continue;
    report.looked();
    for (std::size_t b = a + 1; b < machine.gpus.size(); ++b) {
      if (machine.gpus[a].uuid != machine.gpus[b].uuid) continue;
      report.problem({.read = concat(name_of(machine, gpu_ref(a)), " and ", name_of(machine, gpu_ref(b)),
                                     ": one uuid ", machine.gpus[a].uuid),
                      .wanted = "one uuid per GPU",
                      .where = machine.gpus[b].where},
                     {gpu_ref(a), gpu_ref(b)});
    }
  }
  for (const LogEvent* event : events_of(input, LogEventKind::warning)) {
    if (!contains_ignoring_case(event->value("text"), "Duplicate GPU detected")) continue;
    report.problem(
        {.read = std::string(event->value("text")), .wanted = "one GPU per rank", .where = event->where}, {});
  }
  report.word(
      {.title = "two ranks use one GPU", .fix = "export CUDA_VISIBLE_DEVICES=$LOCAL_RANK in every rank"});
}

void check_compute_mode_exclusive(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  judge_all(machine, report, "compute mode", "Default",
            [](const GpuState& state) -> std::optional<std::string> {
              if (state.compute_mode.empty()) return std::nullopt;
              return when(state.compute_mode != "Default", state.compute_mode);
            });
  report.word(
      {.title = concat("compute mode of ", report.devices_text(machine), " allows one process at most"),
       .fix = "nvidia-smi -c 0",
       .needs_root = true});
}

void check_mig_enabled(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  judge_all(machine, report, "MIG mode", "MIG off", [](const GpuState& state) -> std::optional<std::string> {
    if (!state.mig_enabled) return std::nullopt;
    return when(*state.mig_enabled, "MIG on");
  });
  report.word({.title = concat("MIG is on for ", report.devices_text(machine),
                               ": instances have no NVLink and no peer access"),
               .fix = "nvidia-smi -mig 0",
               .needs_root = true});
}

void check_persistence_off(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  judge_all(machine, report, "persistence mode", "on",
            [](const GpuState& state) -> std::optional<std::string> {
              if (!state.persistence) return std::nullopt;
              return when(!*state.persistence, "persistence off");
            });
  report.word({.title = concat("persistence is off for ", report.devices_text(machine),
                               ": every start initialises them anew"),
               .fix = "systemctl enable --now nvidia-persistenced",
               .needs_root = true});
}

void check_gpu_memory_errors(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  judge_all(machine, report, "ECC errors", "none", [](const GpuState& state) -> std::optional<std::string> {
    if (!state.ecc_uncorrected && !state.remap_pending && !state.remap_failed) return std::nullopt;
    std::vector<std::string> wrong;
    if (state.ecc_uncorrected.value_or(0) > 0)
      wrong.push_back(concat(*state.ecc_uncorrected, " uncorrected ECC errors"));
    if (state.remap_failed.value_or(false)) wrong.emplace_back("row remapping failed");
    if (state.remap_pending.value_or(false)) wrong.emplace_back("row remapping pending");
    if (wrong.empty() && (!state.ecc_uncorrected || !state.remap_pending || !state.remap_failed))
      return std::nullopt;
    return joined(wrong);
  });
  report.word({.title = concat("memory of ", report.devices_text(machine), " has uncorrected errors"),
               .fix = "nvidia-smi -r -i <gpu> on a drained node; ask for a new part if remapping failed",
               .needs_root = true});
}

void check_clocks_held_down(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  judge_all(machine, report, "reasons of low clocks", "none, or the software power cap",
            [](const GpuState& state) -> std::optional<std::string> {
              if (state.clock_event_reasons.empty()) return std::nullopt;
              return bad_reasons(state.clock_event_reasons);
            });
  report.word(
      {.title = concat("clocks of ", report.devices_text(machine), " are held down by heat or power"),
       .fix = "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER; then look at cooling and power supplies"});
}

}  // namespace ringcomm::inline v0::diag
