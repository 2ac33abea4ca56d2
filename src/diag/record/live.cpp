// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/diag/live.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "diag/evidence/record/plain_text.hpp"
#include "diag/evidence/record/record_reader.hpp"
#include "diag/record/live_record.hpp"
#include "ringcomm/core/deadline.hpp"
#include "ringcomm/core/descriptor.hpp"
#include "ringcomm/diag/recorder.hpp"

namespace ringcomm::inline v0::diag {
namespace {

namespace fs = std::filesystem;

double share(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? 0 : std::clamp(static_cast<double>(part) / static_cast<double>(whole), 0.0, 1.0);
}

LiveGroup group_of(const RecordView& view, const RecordView::Channel& channel, std::int64_t now) {
  const ChannelRecord& live = channel.live;
  LiveGroup group{.name = channel.name, .unique_id = unique_id_of(view, channel)};
  for (const int member : channel.members) group.ranks.push_back(view.world_rank(member));
  group.posted = live.posted;
  group.completed = live.completed;
  group.is_open = live.posted != live.completed;
  if (live.op != 0) group.op = name_of(static_cast<OpCode>(live.op));
  if (live.op != 0 && live.dtype <= static_cast<std::uint8_t>(DType::float8_e5m2))
    group.dtype = name_of(static_cast<DType>(live.dtype));
  group.bytes = live.bytes;
  group.call_site = channel.call_site;
  group.step = live.step;
  if (live.waits_for >= 0) group.waits_for = view.world_rank(live.waits_for);
  const auto since = [&](std::uint64_t ticks) {
    return ticks == 0 ? 0 : std::max<std::int64_t>(0, now - view.monotonic_ns(ticks));
  };
  group.age_ns = since(group.is_open ? live.posted_ticks : live.completed_ticks);
  group.waits_ns = live.waits_for >= 0 ? since(live.waits_since_ticks) : 0;
  group.has_deadline = group.is_open && live.deadline_ns != INT64_MAX;
  if (group.has_deadline && live.deadline_ns > now) group.left_ns = live.deadline_ns - now;
  const std::int64_t life = now - view.header().clock_monotonic_ns;
  group.waiting_share = share(view.span_ns(live.wait_ticks) + group.waits_ns, life);
  group.compute_share = share(view.span_ns(live.compute_ticks), life);
  group.entries = live.entries;
  return group;
}

LiveRank rank_of(const LiveRecord& record) {
  const RecordHeader& h = record.view.header();
  LiveRank rank{.job = h.job, .communicator = h.communicator, .rank = h.rank, .size = h.size};
  rank.world_rank = h.world_rank;
  rank.world_size = h.world_size;
  rank.pid = h.pid;
  rank.host = plain_text(h.host);
  rank.transport = plain_text(h.transport);
  rank.command = record.process.command;
  rank.process = record.process.state;
  rank.cpu_seconds = record.process.cpu_seconds;
  rank.resident_high_water_bytes = record.process.resident_high_water_bytes;
  rank.arena_high_water_bytes = h.arena_high_water_bytes;
  rank.window_bytes = h.window_bytes;
  rank.created_ns = h.clock_realtime_ns;
  if (h.state == static_cast<std::uint32_t>(RecordState::failed)) {
    rank.failure = record.view.name(h.failure_name);
    if (rank.failure.empty()) rank.failure = "failed";
  }
  const std::int64_t now = now_ns();
  for (const RecordView::Channel& channel : record.view.channels())
    rank.groups.push_back(group_of(record.view, channel, now));
  rank.record = record.path;
  rank.note = record.view.note();
  return rank;
}

bool is_alive(const LiveRank& rank) {
  return rank.process != ProcessState::gone && rank.process != ProcessState::zombie;
}

}  // namespace

std::string_view name_of(ProcessState state) {
  switch (state) {
    case ProcessState::gone:
      return "gone";
    case ProcessState::zombie:
      return "zombie";
    case ProcessState::stopped:
      return "stopped";
    case ProcessState::blocked:
      return "blocked";
    case ProcessState::sleeping:
      return "sleeping";
    case ProcessState::running:
      return "running";
    case ProcessState::unknown:
      return "unknown";
  }
  return "unknown";
}

std::vector<LiveRank> live_ranks(std::optional<std::int64_t> pid, const fs::path& folder) {
  std::vector<fs::path> folders = record_folders();
  if (!folder.empty()) folders.push_back(folder);
  std::vector<LiveRank> ranks;
  std::set<std::uint64_t> alive;
  std::set<std::uint64_t> asked;
  for (const fs::path& path : record_files(folders, {})) {
    Status why;
    const auto record = read_live_record(path, why);
    if (!record) continue;
    LiveRank rank = rank_of(*record);
    if (is_alive(rank)) alive.insert(rank.job);
    if (pid && rank.pid == *pid) asked.insert(rank.job);
    ranks.push_back(std::move(rank));
  }
  std::erase_if(ranks,
                [&](const LiveRank& r) { return !alive.contains(r.job) || (pid && !asked.contains(r.job)); });
  const auto order = [](const LiveRank& r) { return std::tie(r.job, r.communicator, r.rank, r.pid); };
  std::sort(ranks.begin(), ranks.end(),
            [&](const LiveRank& a, const LiveRank& b) { return order(a) < order(b); });
  return ranks;
}

}  // namespace ringcomm::inline v0::diag
