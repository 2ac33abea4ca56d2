// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>

#include "attach_view.hpp"
#include "core/terminal_text.hpp"
#include "diag/explain/edge_list.hpp"
#include "diag/explain/rank_list.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::doctor {
namespace {

using diag::LiveGroup;
using diag::LiveRank;
using diag::ProcessState;

constexpr std::size_t kCells = 12, kState = 2;
constexpr std::size_t kRowsShown = 24;  // of one group
using Row = std::array<std::string, kCells>;

struct Line {
  Row row;
  std::int64_t behind = 0;
};

std::string decimals(double value, const char* unit) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), value < 10 ? "%.1f %s" : "%.0f %s", value, unit);
  return text.data();
}

/// "12 ms", "4.2 s", "9 min"
std::string duration(std::int64_t nanoseconds) {
  const double seconds = static_cast<double>(nanoseconds) * 1e-9;
  if (seconds < 1) return decimals(seconds * 1e3, "ms");
  return seconds < 600 ? decimals(seconds, "s") : decimals(seconds / 60, "min");
}

std::string percent(double part) {
  return concat(static_cast<int>((std::clamp(part, 0.0, 1.0) * 100) + 0.5));
}

std::string call_of(const LiveGroup& group) {
  if (group.op.empty()) return "-";
  std::string out = group.op;
  if (group.bytes > 0) out += concat(" ", format_bytes(group.bytes));
  if (!group.dtype.empty()) out += concat(" ", group.dtype);
  return out;
}

std::string_view state_of(const LiveRank& rank) {
  const bool is_wrong = rank.process == ProcessState::gone || rank.process == ProcessState::zombie ||
                        rank.process == ProcessState::stopped || rank.process == ProcessState::blocked;
  return is_wrong ? name_of(rank.process) : std::string_view();
}

/// What is wrong with a rank, in capitals; empty: nothing that can be seen from outside.
std::string state_in_words(const LiveRank& rank) {
  std::string out(state_of(rank));
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return out.empty() && !rank.failure.empty() ? "FAILED" : out;
}

Row row_of(const LiveRank& rank, const LiveGroup& group, std::int64_t behind_by) {
  const bool is_open = group.is_open;
  return {concat(rank.world_rank),
          concat(rank.pid),
          state_in_words(rank),
          concat(group.posted),
          concat(group.completed),
          behind_by > 0 ? concat(behind_by) : "",
          concat(is_open ? "in " : "after ", call_of(group)),
          is_open ? concat(group.step) : "",
          group.waits_for == diag::kUnknown ? "" : concat(group.waits_for),
          duration(group.age_ns),
          percent(group.waiting_share),
          percent(group.compute_share)};
}

std::string table(std::vector<Line> lines, std::size_t columns, bool is_verbose) {
  std::size_t left = 0;
  if (!is_verbose && lines.size() > kRowsShown) {
    std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
      return std::tuple(!a.row[kState].empty(), a.behind) > std::tuple(!b.row[kState].empty(), b.behind);
    });
    left = lines.size() - kRowsShown;
    lines.resize(kRowsShown);
  }
  lines.insert(lines.begin(), {{"rank", "pid", "state", "called", "done", "lag", "call", "step", "peer",
                                "for", "wait%", "comp%"}});
  std::array<std::size_t, kCells> widths{};
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < kCells; ++i) widths[i] = std::max(widths[i], columns_of(line.row[i]));
  }
  std::string out;
  for (const Line& line : lines) {
    std::string text = " ";
    for (std::size_t i = 0; i < kCells; ++i) text += concat(" ", fit(line.row[i], widths[i]));
    out += concat(shorten(text, columns), "\n");
  }
  return left == 0 ? out : concat(out, "  ... ", left, " more (--verbose)\n");
}

std::string label_of(const LiveGroup& group) { return group.name.empty() ? group.unique_id : group.name; }

std::string name_of_group(const LiveGroup& group) {
  std::vector<std::string> ranks;
  for (const int rank : group.ranks) ranks.push_back(rank < 0 ? "?" : concat(rank));
  return concat("Group ", label_of(group), ": ", diag::ranks_in_words(ranks, 8));
}

std::string standstill_in_words(const AttachView& view) {
  std::vector<std::string> names;
  std::int64_t oldest = 0;
  bool is_open = false;
  for (const LiveRank& rank : view.ranks) {
    for (const LiveGroup& group : rank.groups) {
      if (!group.is_open || (view.has_moved && view.standing.count(group.unique_id) == 0)) continue;
      is_open = true;
      oldest = std::max(oldest, group.age_ns);
      const std::string name = label_of(group);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  if (!is_open)
    return view.has_moved ? "it moves" : "idle: nothing has moved between two looks, no operation is open";
  return concat(
      view.has_moved ? "it moves, but not in group " : "nothing has moved between two looks in group ",
      list_of(names, 8), "; the oldest call there waits for ", duration(oldest));
}

std::string groups_text(const AttachView& view, std::size_t columns, bool is_verbose) {
  const std::vector<LiveRank>& ranks = view.ranks;
  std::vector<std::string> order;
  std::map<std::string, std::vector<Line>> lines;
  std::map<std::string, std::string> names;
  for (const LiveRank& rank : ranks) {
    for (const LiveGroup& group : rank.groups) {
      std::vector<Line>& rows = lines[group.unique_id];
      if (rows.empty()) {
        order.push_back(group.unique_id);
        names[group.unique_id] = name_of_group(group);
      }
      const std::int64_t behind_by = behind(ranks, group);
      rows.push_back({row_of(rank, group, behind_by), behind_by});
    }
  }
  std::stable_partition(order.begin(), order.end(),
                        [&](const std::string& id) { return view.standing.count(id) > 0; });
  std::string out;
  for (const std::string& id : order)
    out += concat(shorten(names[id], columns), "\n", table(std::move(lines[id]), columns, is_verbose));
  return out;
}

std::string memory_text(const std::vector<LiveRank>& ranks) {
  std::uint64_t resident = 0, arena = 0, windows = 0;
  int largest = 0;
  for (const LiveRank& rank : ranks) {
    if (rank.resident_high_water_bytes > resident) largest = rank.world_rank;
    resident = std::max(resident, rank.resident_high_water_bytes);
    arena = std::max(arena, rank.arena_high_water_bytes);
    windows = std::max(windows, rank.window_bytes);
  }
  return concat("largest process ", format_bytes(resident), " (rank ", largest, "), arena ",
                format_bytes(arena), ", windows ", format_bytes(windows), " of one rank, at most so far");
}

std::string header(const std::vector<LiveRank>& ranks, std::size_t columns) {
  const LiveRank& first = ranks.front();
  std::set<int> seen;
  for (const LiveRank& rank : ranks) seen.insert(rank.world_rank);
  return wrap("",
              concat(first.command.empty() ? "job" : first.command, ": ", seen.size(), " of ",
                     count_of(static_cast<std::size_t>(std::max(first.world_size, 1)), "rank"), " on ",
                     first.host, first.transport.empty() ? "" : " over ", first.transport),
              columns);
}

}  // namespace

std::string attach_text(const AttachView& view, std::size_t columns, bool is_verbose) {
  if (view.ranks.empty()) return {};
  std::string out = header(view.ranks, columns);
  out += groups_text(view, columns, is_verbose);
  out += wrap("Memory:   ", memory_text(view.ranks), columns);
  for (const LiveRank& rank : view.ranks) {
    if (!rank.failure.empty())
      out += wrap("Failed:   ", concat("rank ", rank.world_rank, ": ", rank.failure), columns);
    if (!rank.note.empty())
      out += wrap("Note:     ", concat("rank ", rank.world_rank, ": ", rank.note), columns);
  }
  if (!view.is_explained()) return out + wrap("State:    ", standstill_in_words(view), columns);
  std::string first = "Waits:    ";
  for (const std::string& line : diag::edge_list(view.verdict.graph)) {
    out += wrap(first, line, columns);
    first = "          ";
  }
  out += wrap("State:    ", standstill_in_words(view), columns);
  if (view.verdict.kind == diag::FaultKind::none) return out;
  out +=
      wrap("Verdict:  ",
           concat(name_of(view.verdict.kind), " (", name_of(view.verdict.grade), "): ", view.verdict.title),
           columns);
  return out + wrap("Fix:      ", view.verdict.fix, columns);
}

std::string job_list(const std::vector<LiveRank>& ranks) {
  std::map<std::uint64_t, std::vector<const LiveRank*>> jobs;
  for (const LiveRank& rank : ranks) jobs[rank.job].push_back(&rank);
  std::string out;
  for (const auto& [job, members] : jobs) {
    std::set<std::string> pids;
    for (const LiveRank* rank : members) pids.insert(concat(rank->pid));
    const std::string command = members.front()->command;
    out += wrap(concat("  --pid ", *pids.begin(), "  "),
                concat(command.empty() ? "?" : command, ", ", pids.size(),
                       pids.size() == 1 ? " process" : " processes"));
  }
  return out;
}

}  // namespace ringcomm::doctor
