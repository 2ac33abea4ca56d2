// SPDX-License-Identifier: Apache-2.0
// Everything that the reports show, and the reports.
#pragma once

#include <string>

#include "crossover.hpp"
#include "machine_view.hpp"
#include "tiles.hpp"

namespace ringcomm::planner {

struct Report {
  Options options{};
  MachineView machine{};
  Choice choice{};
  Crossovers crossovers{};
  TileFit tiles{};
};
/// Chooses and computes everything. The options' machine has been read.
Result<Report> make_report(Options options, MachineView machine);

/// One screen.
std::string to_text(const Report& report);
/// docs/plan-schema.json describes it.
std::string to_json(const Report& report);

std::string to_text(const Options& options, const Split& split, Strategy strategy, const CheckReport& check);
std::string to_json(const Options& options, const Split& split, Strategy strategy, const CheckReport& check);

/// "12.3 us", "4.56 ms", "1.2 s"; "5.37 GB", of 1e9 bytes.
std::string format_us(double us);
std::string format_gb(double bytes);

}  // namespace ringcomm::planner
