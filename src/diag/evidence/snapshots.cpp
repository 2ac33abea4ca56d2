// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/snapshots.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace ringcomm::inline v0::diag {
namespace {

struct FileProgress {
  std::int64_t sum = 0;
  int snapshots = 0;  ///< inside the file
};
using Progress = std::map<int, FileProgress>;

// Counters of a hostile file must not overflow the sum.
constexpr std::int64_t kCountMax = std::int64_t{1} << 40;

std::int64_t bounded(std::int64_t count) { return std::clamp<std::int64_t>(count, -kCountMax, kCountMax); }

bool has_format(const FileRead& file, std::string_view start) {
  return std::ranges::any_of(file.formats,
                             [&](const std::string& format) { return format.starts_with(start); });
}

/// Snapshot that the first one of each file becomes.
std::map<int, int> first_snapshots(const Progress& progress) {
  std::vector<std::pair<int, FileProgress>> files(progress.begin(), progress.end());
  std::ranges::stable_sort(files, {}, [](const auto& file) { return file.second.sum; });
  std::map<int, int> first;
  int next = 0;
  for (const auto& [file, what] : files) {
    first.emplace(file, next);
    next += std::max(1, what.snapshots);
  }
  return first;
}

template <class Fact>
void shift(Fact& fact, const std::map<int, int>& first) {
  if (const auto at = first.find(fact.source.file); at != first.end()) fact.snapshot += at->second;
}

bool is_ras_event(EventKind kind) {
  return kind == EventKind::unresponsive || kind == EventKind::considered_dead ||
         kind == EventKind::missing_process;
}

void number_ras(HangEvidence& evidence) {
  Progress progress;
  const auto is_ras = [&](int file) {
    return file >= 0 && static_cast<std::size_t>(file) < evidence.files.size() &&
           has_format(evidence.files[static_cast<std::size_t>(file)], "ras");
  };
  for (const CounterFact& counter : evidence.counters) {
    if (!is_ras(counter.source.file) || counter.launches.empty()) continue;
    FileProgress& file = progress[counter.source.file];
    file.snapshots = std::max(file.snapshots, counter.snapshot + 1);
    if (counter.snapshot > 0) continue;  // the first report of a file orders it
    for (const auto& [function, count] : counter.launches) file.sum += bounded(count);
  }
  for (const EventFact& event : evidence.events) {
    if (is_ras_event(event.kind) && is_ras(event.source.file)) progress[event.source.file];
  }
  if (progress.size() < 2) return;
  const std::map<int, int> first = first_snapshots(progress);
  for (CounterFact& counter : evidence.counters) {
    if (!counter.launches.empty()) shift(counter, first);
  }
  for (EventFact& event : evidence.events) {
    if (is_ras_event(event.kind)) shift(event, first);
  }
}

void number_dumps(HangEvidence& evidence) {
  std::map<int, Progress> ranks;
  for (std::size_t file = 0; file < evidence.files.size(); ++file) {
    const FileRead& read = evidence.files[file];
    if (!has_format(read, "fr_") || read.ranks.size() != 1) continue;
    ranks[read.ranks[0]][static_cast<int>(file)];
  }
  std::map<int, Progress*> of_file;
  for (auto& [rank, files] : ranks) {
    if (files.size() < 2) continue;
    for (const auto& [file, what] : files) of_file.emplace(file, &files);
  }
  if (of_file.empty()) return;
  for (const CounterFact& counter : evidence.counters) {
    const auto at = of_file.find(counter.source.file);
    if (at == of_file.end()) continue;
    (*at->second)[counter.source.file].sum +=
        bounded(counter.enqueued.value_or(0)) + bounded(counter.completed.value_or(0));
  }
  std::map<int, int> first;
  for (const auto& [rank, files] : ranks) {
    if (files.size() > 1) first.merge(first_snapshots(files));
  }
  for (OpFact& op : evidence.ops) shift(op, first);
  for (CounterFact& counter : evidence.counters) shift(counter, first);
}

}  // namespace

void number_snapshots(HangEvidence& evidence) {
  number_ras(evidence);
  number_dumps(evidence);
}

}  // namespace ringcomm::inline v0::diag
