// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/group_table.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/terminal_text.hpp"
#include "diag/explain/rank_list.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::size_t kCells = 6;
using Row = std::array<std::string, kCells>;
constexpr std::size_t kNow = 4, kMark = 5;  // what a rank does, and what it is; the latter is never cut
constexpr std::array<std::size_t, kCells> kWidest{46, 30, 12, 12, 60, 12};
constexpr std::size_t kNarrowestName = 20;

struct Kinds {
  std::set<std::string, std::less<>> culprits, suspects;
};

std::string number_or_unknown(std::optional<std::int64_t> number) {
  return number ? concat(*number) : std::string("?");
}

std::string_view mark_of(const Kinds& kinds, const std::string& rank) {
  return kinds.culprits.contains(rank) ? "  <- culprit" : kinds.suspects.contains(rank) ? "  <- suspect" : "";
}

std::string doing(const MemberState& member) {
  if (!member.has_evidence && !member.enqueued && member.op.empty()) return "no evidence";
  if (member.op.empty() && !member.enqueued) return "not seen";
  if (member.op.empty()) return member.completed ? "no open call" : "not known";
  return concat(member.is_waiting ? "waits in " : "", member.op);
}

/// The first rank's place keeps a group's rows in the order of its members.
std::vector<Row> rows_of(const GroupState& group, const Kinds& kinds) {
  std::vector<Row> rows;
  std::vector<std::vector<std::string>> ranks;
  std::map<Row, std::size_t> places;
  for (const MemberState& member : group.members) {
    Row row{"",
            "",
            number_or_unknown(member.enqueued),
            number_or_unknown(member.completed),
            doing(member),
            std::string(mark_of(kinds, member.rank))};
    const auto [at, is_new] = places.emplace(row, rows.size());
    if (is_new) {
      rows.push_back(std::move(row));
      ranks.emplace_back();
    }
    ranks[at->second].push_back(member.rank);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i][1] = rank_list(ranks[i], 5);
  for (Row& row : rows) row[1] = printable(row[1], false), row[kNow] = printable(row[kNow], false);
  if (!rows.empty()) rows.front()[0] = group.name.empty() ? "?" : printable(group.name, false);
  return rows;
}

bool has_waiting(const GroupState& group) {
  return std::any_of(group.members.begin(), group.members.end(),
                     [](const MemberState& member) { return member.is_waiting; });
}

/// The stuck group first, then those of culprits, then the others.
std::vector<const GroupState*> in_order(const Verdict& verdict, const Kinds& kinds) {
  std::vector<const GroupState*> groups;
  for (const GroupState& group : verdict.groups) {
    if (!group.members.empty()) groups.push_back(&group);
  }
  const auto place = [&](const GroupState* group) {
    if (!verdict.group.empty() && group->name == verdict.group) return 0;
    const bool has_culprit =
        std::any_of(group->members.begin(), group->members.end(),
                    [&](const MemberState& member) { return kinds.culprits.contains(member.rank); });
    return has_culprit ? 1 : 2;
  };
  std::vector<std::pair<int, const GroupState*>> placed;
  for (const GroupState* group : groups) placed.emplace_back(place(group), group);
  std::stable_sort(placed.begin(), placed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < placed.size(); ++i) groups[i] = placed[i].second;
  return groups;
}

std::vector<std::string> drawn(const std::vector<Row>& rows, std::size_t columns) {
  std::array<std::size_t, kCells> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < kCells; ++i)
      widths[i] = std::max(widths[i], std::min(columns_of(row[i]), kWidest[i]));
  }
  std::size_t all = 2 * kNow;
  for (const std::size_t width : widths) all += width;
  if (all > columns) widths[0] -= std::min(widths[0] - std::min(widths[0], kNarrowestName), all - columns);
  std::vector<std::string> lines;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < kNow; ++i) line += concat(fit(row[i], widths[i]), "  ");
    const std::size_t taken = std::min(columns, columns_of(line) + columns_of(row[kMark]));
    line += shorten(row[kNow], columns - taken);
    lines.push_back(shorten(concat(line, row[kMark]), columns));
  }
  return lines;
}

}  // namespace

std::vector<std::string> group_table(const Verdict& verdict, std::size_t columns, bool is_verbose) {
  const Kinds kinds{{verdict.culprits.begin(), verdict.culprits.end()},
                    {verdict.suspects.begin(), verdict.suspects.end()}};
  const bool is_any_waiting = std::any_of(verdict.groups.begin(), verdict.groups.end(), has_waiting);
  std::vector<Row> rows{{"group", "ranks", "called", "done", "now", ""}};
  std::size_t quiet = 0;
  for (const GroupState* group : in_order(verdict, kinds)) {
    if (!is_verbose && is_any_waiting && !has_waiting(*group)) {
      ++quiet;
      continue;
    }
    for (Row& row : rows_of(*group, kinds)) rows.push_back(std::move(row));
  }
  if (rows.size() == 1) return {};
  std::vector<std::string> lines = drawn(rows, columns);
  if (quiet > 0) lines.push_back(concat(count_of(quiet, "other group"), ": nobody waits there"));
  return lines;
}

}  // namespace ringcomm::inline v0::diag
