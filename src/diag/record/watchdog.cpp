// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/diag/watchdog.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>

#include "core/small_file.hpp"
#include "diag/evidence/record/plain_text.hpp"
#include "diag/record/live_record.hpp"
#include "diag/record/record_folder.hpp"
#include "diag/record/verdict_file.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/diag/explain.hpp"

namespace ringcomm::inline v0::diag {
namespace {

namespace fs = std::filesystem;

constexpr int kRanksMax = 1 << 20;
constexpr std::size_t kRangesMax = 16;  ///< of ranks, in one line

using Records = std::vector<std::unique_ptr<LiveRecord>>;

/// What moves while a rank works.
struct Progress {
  std::uint64_t posted = 0, completed = 0, entries = 0;
  friend bool operator==(const Progress&, const Progress&) = default;
};
Progress progress_of(const RecordView& view) {
  Progress sum{.entries = view.header().entries_written};
  for (const RecordView::Channel& channel : view.channels()) {
    sum.posted += channel.live.posted;
    sum.completed += channel.live.completed;
  }
  return sum;
}

bool has_open(const RecordView& view) {
  return std::any_of(view.channels().begin(), view.channels().end(), [](const RecordView::Channel& channel) {
    return channel.live.posted != channel.live.completed;
  });
}

/// What the second reading says of a rank that the first one cannot: that it lives.
std::optional<EventFact> event_between(const LiveRecord& before, const LiveRecord& after,
                                       std::chrono::milliseconds apart) {
  const Progress was = progress_of(before.view);
  const Progress is = progress_of(after.view);
  EventFact event;
  event.who.rank = before.view.header().world_rank;
  event.who.pid = before.view.header().pid;
  event.who.host = plain_text(before.view.header().host);
  if (was != is) {
    event.kind = EventKind::progress;
    event.detail =
        concat("its record moves: entries ", was.entries, " -> ", is.entries, ", operations completed ",
               was.completed, " -> ", is.completed, " within ", apart.count(), " ms");
  } else if (before.process.state == ProcessState::blocked && after.process.state == ProcessState::blocked &&
             after.process.cpu_seconds <= before.process.cpu_seconds) {
    event.kind = EventKind::unresponsive;
    event.detail = "blocked in the kernel (state D)";
  } else if (after.process.cpu_seconds > before.process.cpu_seconds && !has_open(before.view)) {
    event.kind = EventKind::progress;
    event.detail = concat("outside every operation, its process uses the CPU (", after.process.cpu_seconds,
                          " s so far)");
  } else {
    return {};
  }
  event.text = concat("rank ", event.who.rank, ": ", event.detail);
  return event;
}

Records read_all(std::span<const fs::path> paths, std::vector<UnreadFile>* unread) {
  Records records;
  for (const fs::path& path : paths) {
    Status why;
    records.push_back(read_live_record(path, why));
    if (!records.back() && unread != nullptr) unread->push_back({path.string(), why});
  }
  return records;
}

/// The headers only: every rank that gives up comes here.
std::vector<RecordHeader> headers_of(std::span<const fs::path> paths) {
  std::vector<RecordHeader> headers;
  for (const fs::path& path : paths) {
    RecordHeader header{};
    const std::string bytes = read_small_file(path, sizeof header);
    if (bytes.size() != sizeof header || !bytes.starts_with(kRecordMagic)) continue;
    std::memcpy(&header, bytes.data(), sizeof header);
    headers.push_back(header);
  }
  return headers;
}

/// When the youngest record was made.
std::int64_t newest_of(std::span<const RecordHeader> headers) {
  std::int64_t newest = 0;
  for (const RecordHeader& header : headers) newest = std::max(newest, header.clock_realtime_ns);
  return newest;
}

/// "0-3, 7".
std::string ranges_text(const std::vector<int>& ranks) {
  std::string text;
  std::size_t ranges = 0;
  for (std::size_t first = 0; first < ranks.size();) {
    std::size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    if (++ranges > kRangesMax) return text.append("...");
    text += concat(ranks[first]);
    if (last > first) text += concat('-', ranks[last]);
    first = last + 1;
  }
  return text;
}

/// Which ranks' records are not here, and what to do about it; empty where all are here.
std::string whereabouts(std::span<const RecordHeader> headers) {
  int size = 0;
  for (const RecordHeader& header : headers) size = std::max(size, std::min(header.world_size, kRanksMax));
  std::vector<bool> is_here(static_cast<std::size_t>(size), false);
  for (const RecordHeader& header : headers) {
    if (header.world_rank >= 0 && header.world_rank < size)
      is_here[static_cast<std::size_t>(header.world_rank)] = true;
  }
  std::vector<int> here;
  std::vector<int> missing;
  for (int rank = 0; rank < size; ++rank)
    (is_here[static_cast<std::size_t>(rank)] ? here : missing).push_back(rank);
  if (missing.empty()) return {};
  return concat("records on this host: ranks ", ranges_text(here), "; not here: ranks ", ranges_text(missing),
                " (collect those of other hosts into one folder for ringcomm-doctor hang)\n");
}

}  // namespace

/// The first reading is nearest to the deadline: what happens after it, happens because ranks give up.
HangEvidence evidence_of_hang(std::span<const fs::path> paths, std::chrono::milliseconds apart) {
  HangEvidence evidence;
  const Records first = read_all(paths, &evidence.unread);
  std::this_thread::sleep_for(apart);
  const Records second = read_all(paths, nullptr);
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (!first[i]) continue;
    append_live_facts(*first[i], evidence);
    if (!second[i]) continue;
    if (auto event = event_between(*first[i], *second[i], apart)) {
      event->source = {static_cast<int>(evidence.files.size()) - 1};
      evidence.events.push_back(std::move(*event));
    }
  }
  return evidence;
}

WatchdogReport report_hang(std::uint64_t job, std::chrono::milliseconds apart,
                           std::chrono::milliseconds patience) {
  WatchdogReport report;
  const std::vector<fs::path> records = records_of_job(job);
  if (records.empty()) return report;
  report.files = records;
  const std::vector<RecordHeader> headers = headers_of(records);
  const VerdictFile file(records.front().parent_path() / verdict_name(job), patience, newest_of(headers));
  if (!file.is_first()) {
    report.files.push_back(file.path());
    report.verdict = file.read();
    return report;
  }
  report.is_first = true;
  const HangEvidence evidence = evidence_of_hang(records, apart);
  report.verdict = explain(evidence);
  report.files.push_back(file.path());
  report.text = concat(to_text(report.verdict, evidence), whereabouts(headers));
  file.write(report.verdict, report.text);
  return report;
}

}  // namespace ringcomm::inline v0::diag
