// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/try.hpp"
#include "diag/evidence/record/record_reader.hpp"
#include "diag/export/export_records.hpp"
#include "ringcomm/core/descriptor.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/diag/export.hpp"

namespace ringcomm::inline v0::diag {
namespace {

/// As torch prints them: "BFloat16".
std::string dtype_text(std::uint8_t dtype) {
  const std::string name(name_of(static_cast<DType>(dtype)));
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kTorch{
      {{"float32", "Float"}, {"float16", "Half"}, {"bfloat16", "BFloat16"}, {"float64", "Double"}}};
  for (const auto& [ours, theirs] : kTorch) {
    if (ours == name) return std::string(theirs);
  }
  return name;
}

/// The dump of one rank; its records may be of several communicators.
class Dump {
 public:
  void add(const RecordView& view) {
    for (std::size_t i = 0; i < view.channels().size(); ++i) add_channel(view, i);
    for (std::uint64_t number = view.first_number(); number < view.end_number(); ++number) {
      const auto entry = view.entry(number);
      if (!entry || entry->kind != static_cast<std::uint8_t>(EntryKind::operation)) continue;
      if (entry->channel < view.channels().size()) add_entry(view, *entry);
    }
    groups_ += view.channels().size();
  }

  std::string text() {
    std::ranges::stable_sort(entries_, {}, [](const auto& entry) { return entry.first; });
    std::string out = concat("{\"version\": \"2.10\", \"nccl_version\": \"ringcomm\", \"pg_config\": {",
                             config_, "}, \"pg_status\": {", status_, "}");
    for (std::size_t i = 0; i < entries_.size(); ++i)
      out += concat(i == 0 ? ", \"entries\": [" : ", ", entries_[i].second);
    return out + (entries_.empty() ? "}" : "]}");
  }

 private:
  void add_channel(const RecordView& view, std::size_t index) {
    const RecordView::Channel& channel = view.channels()[index];
    const std::string name = json_text(unique_id_of(view, channel));
    std::string ranks;
    for (const int member : channel.members)
      ranks += concat(ranks.empty() ? "" : ", ", view.world_rank(member));
    const std::string comma = config_.empty() ? "" : ", ";
    config_ += concat(comma, name, ": {\"name\": ", name, ", \"desc\": ", description(channel),
                      ", \"ranks\": \"[", ranks, "]\"}");
    status_ += concat(comma, "\"", groups_ + index, "\": {\"last_enqueued_collective\": \"",
                      channel.live.posted, "\", \"last_started_collective\": \"", channel.live.posted,
                      "\", \"last_completed_collective\": \"", channel.live.completed, "\"}");
  }

  static std::string description(const RecordView::Channel& channel) {
    return json_text(channel.name.empty() ? concat("channel ", channel.live.ordinal) : channel.name);
  }

  void add_entry(const RecordView& view, const RecordEntry& entry) {
    const RecordView::Channel& channel = view.channels()[entry.channel];
    const std::int64_t posted = view.realtime_ns(entry.posted);
    const bool is_completed = entry.released != 0 && entry.code == 0;
    const std::int64_t completed =
        is_completed ? view.realtime_ns(view.ticks_of(entry.posted, entry.released)) : 0;
    const std::uint64_t width = bytes_of(static_cast<DType>(entry.dtype));
    const std::string sizes = concat("[[", width > 0 ? entry.bytes / width : entry.bytes, "]]");
    const std::string dtypes = concat("[\"", dtype_text(entry.dtype), "\"]");
    std::int64_t timeout_ms = 0;
    if (entry.sequence == channel.live.posted && channel.live.deadline_ns != INT64_MAX)
      timeout_ms =
          std::max<std::int64_t>(0, channel.live.deadline_ns - view.monotonic_ns(entry.posted)) / 1'000'000;
    entries_.emplace_back(
        posted, concat("{\"record_id\": ", entry.number - 1, ", \"pg_id\": ", groups_ + entry.channel,
                       ", \"process_group\": [", json_text(unique_id_of(view, channel)), ", ",
                       description(channel), "], \"thread_name\": \"ringcomm\", \"thread_id\": \"",
                       view.header().pid, "\", \"collective_seq_id\": ", entry.sequence,
                       ", \"p2p_seq_id\": 0, \"op_id\": ", entry.sequence,
                       ", \"profiling_name\": \"ringcomm:", name_of(static_cast<OpCode>(entry.op)),
                       "\", \"time_created_ns\": ", posted, ", \"input_sizes\": ", sizes,
                       ", \"input_dtypes\": ", dtypes, ", \"output_sizes\": ", sizes,
                       ", \"output_dtypes\": ", dtypes, ", \"state\": \"",
                       is_completed ? "completed" : "started", "\", \"time_discovered_started_ns\": ", posted,
                       ", \"time_discovered_completed_ns\": ", completed,
                       ", \"retired\": ", entry.released != 0 ? "true" : "false",
                       ", \"timeout_ms\": ", timeout_ms, ", \"is_p2p\": false}"));
  }

  std::size_t groups_ = 0;
  std::string config_, status_;
  std::vector<std::pair<std::int64_t, std::string>> entries_;
};

}  // namespace

Result<std::vector<ExportedFile>> export_flight_recorder_json(std::span<const std::filesystem::path> paths,
                                                              std::vector<UnreadFile>& unread) {
  RINGCOMM_TRY_ASSIGN(const std::vector<LoadedRecord> records, load_records(paths, unread));
  std::map<int, Dump> dumps;
  for (const LoadedRecord& record : records) dumps[record.rank].add(record.view);
  std::vector<ExportedFile> files;
  for (auto& [rank, dump] : dumps)
    files.push_back({.name = concat("rank_", rank, ".json"), .rank = rank, .text = dump.text()});
  return files;
}

}  // namespace ringcomm::inline v0::diag
