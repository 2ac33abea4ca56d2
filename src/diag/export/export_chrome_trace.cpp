// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "core/try.hpp"
#include "diag/evidence/record/record_reader.hpp"
#include "diag/export/export_records.hpp"
#include "ringcomm/core/descriptor.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/diag/export.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr int kCommunication = 1;
constexpr int kCompute = 2;

/// What makes a send and a receive one message.
using MessageKey = std::tuple<std::string, std::uint32_t, int, int, int>;  // channel, seq, step, from, to

struct Ends {
  std::int64_t sent = 0, arrived = 0;
  bool has_send = false, has_arrival = false;
};

class Trace {
 public:
  explicit Trace(const std::vector<LoadedRecord>& records) : records_(records) {
    // Open spans end with the last thing that any rank did.
    begin_ = std::numeric_limits<std::int64_t>::max();
    for (const LoadedRecord& record : records_) {
      each_entry(record.view, [&](const RecordEntry& entry) {
        begin_ = std::min(begin_, record.view.realtime_ns(entry.posted));
        for (const std::uint32_t state : {0U, entry.arrived, entry.computed, entry.released})
          end_ = std::max(end_, time_of(record.view, entry, state));
      });
    }
  }

  std::string text() {
    for (const LoadedRecord& record : records_) {
      name_lanes(record);
      each_entry(record.view, [&](const RecordEntry& entry) { add(record, entry); });
    }
    add_arrows();
    return concat("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n", events_, "\n]}\n");
  }

 private:
  template <class Function>
  static void each_entry(const RecordView& view, Function function) {
    for (std::uint64_t number = view.first_number(); number < view.end_number(); ++number) {
      const auto entry = view.entry(number);
      if (entry && entry->channel < view.channels().size()) function(*entry);
    }
  }

  static std::int64_t time_of(const RecordView& view, const RecordEntry& entry, std::uint32_t state) {
    return view.realtime_ns(state == 0 ? entry.posted : view.ticks_of(entry.posted, state));
  }

  std::string micros(std::int64_t ns) const {
    char text[40];
    std::snprintf(text, sizeof text, "%.3f", static_cast<double>(ns - begin_) / 1e3);
    return text;
  }

  void event(const std::string& fields) { events_ += concat(events_.empty() ? "" : ",\n", "{", fields, "}"); }

  void name_lanes(const LoadedRecord& record) {
    if (!named_.emplace(record.rank, 0).second) return;
    const std::string process = concat("\"ph\": \"M\", \"pid\": ", record.rank, ", ");
    const std::string_view field(record.view.header().host, sizeof record.view.header().host - 1);
    const std::string_view host = field.substr(0, field.find('\0'));
    event(concat(process, "\"name\": \"process_name\", \"args\": {\"name\": ",
                 json_text(concat("rank ", record.rank, " on ", host)), "}"));
    for (const auto& [lane, name] :
         {std::pair(kCommunication, "communication"), std::pair(kCompute, "compute")})
      event(concat(process, "\"tid\": ", lane, ", \"name\": \"thread_name\", \"args\": {\"name\": \"", name,
                   "\"}"));
  }

  /// A complete event; `until` 0: still open at the end.
  void span(int rank, int lane, const std::string& name, std::int64_t from, std::int64_t until,
            const std::string& args) {
    const std::int64_t end = std::max(from, until == 0 ? end_ : until);
    char duration[40];
    std::snprintf(duration, sizeof duration, "%.3f", static_cast<double>(end - from) / 1e3);
    event(concat("\"ph\": \"X\", \"pid\": ", rank, ", \"tid\": ", lane, ", \"name\": ", json_text(name),
                 ", \"ts\": ", micros(from), ", \"dur\": ", duration, ", \"args\": {", args,
                 until == 0 ? ", \"open\": true}" : "}"));
  }

  void add(const LoadedRecord& record, const RecordEntry& entry) {
    const RecordView& view = record.view;
    const RecordView::Channel& channel = view.channels()[entry.channel];
    const std::int64_t posted = view.realtime_ns(entry.posted);
    const std::int64_t released = entry.released == 0 ? 0 : time_of(view, entry, entry.released);
    const std::string group = channel.name.empty() ? concat("channel ", channel.live.ordinal) : channel.name;
    std::string args = concat("\"group\": ", json_text(group), ", \"sequence\": ", entry.sequence,
                              ", \"bytes\": ", entry.bytes);
    if (entry.kind == static_cast<std::uint8_t>(EntryKind::operation)) {
      if (const std::string site = view.name(entry.epoch); !site.empty())
        args += concat(", \"call_site\": ", json_text(site));
      span(record.rank, kCommunication, std::string(name_of(static_cast<OpCode>(entry.op))), posted, released,
           args);
      return;
    }
    const int peer = view.world_rank(entry.message.peer);
    args += concat(", \"step\": ", entry.step, ", \"block\": ", entry.message.block, ", \"peer\": ", peer);
    const bool is_incoming = entry.kind == static_cast<std::uint8_t>(EntryKind::incoming);
    Ends& ends = messages_[{unique_id_of(view, channel), entry.sequence, entry.step,
                            is_incoming ? peer : record.rank, is_incoming ? record.rank : peer}];
    if (is_incoming) {
      add_incoming(record, entry, peer, args, ends);
    } else {
      ends.sent = posted;
      ends.has_send = true;
      const std::string common =
          concat("\"cat\": \"send\", \"pid\": ", record.rank, ", \"tid\": ", kCommunication,
                 ", \"id\": ", ++sends_, ", \"name\": \"send to rank ", peer, "\", ");
      event(concat(common, "\"ph\": \"b\", \"ts\": ", micros(posted), ", \"args\": {", args, "}"));
      event(concat(common,
                   "\"ph\": \"e\", \"ts\": ", micros(std::max(posted, released == 0 ? end_ : released))));
    }
  }

  void add_incoming(const LoadedRecord& record, const RecordEntry& entry, int peer, const std::string& args,
                    Ends& ends) {
    const std::int64_t posted = record.view.realtime_ns(entry.posted);
    const std::int64_t arrived = entry.arrived == 0 ? 0 : time_of(record.view, entry, entry.arrived);
    span(record.rank, kCommunication, concat("wait for rank ", peer), posted, arrived, args);
    if (arrived == 0) return;
    ends.arrived = arrived;
    ends.has_arrival = true;
    if (entry.computed == 0 && entry.released != 0) return;  // a block that nobody works on
    span(record.rank, kCompute, concat("block of rank ", record.view.world_rank(entry.message.block)),
         arrived, entry.computed == 0 ? 0 : time_of(record.view, entry, entry.computed), args);
  }

  void add_arrows() {
    std::size_t id = 0;
    for (const auto& [key, ends] : messages_) {
      if (!ends.has_send || !ends.has_arrival) continue;
      const std::string common = concat("\"cat\": \"block\", \"name\": \"block\", \"id\": ", ++id,
                                        ", \"tid\": ", kCommunication, ", \"pid\": ");
      event(concat(common, std::get<3>(key), ", \"ph\": \"s\", \"ts\": ", micros(ends.sent)));
      event(
          concat(common, std::get<4>(key), ", \"ph\": \"f\", \"bp\": \"e\", \"ts\": ", micros(ends.arrived)));
    }
  }

  const std::vector<LoadedRecord>& records_;
  std::int64_t begin_ = 0, end_ = 0;
  std::string events_;
  std::map<int, int> named_;
  std::map<MessageKey, Ends> messages_;
  std::size_t sends_ = 0;
};

}  // namespace

Result<std::string> export_chrome_trace(std::span<const std::filesystem::path> paths,
                                        std::vector<UnreadFile>& unread) {
  RINGCOMM_TRY_ASSIGN(const std::vector<LoadedRecord> records, load_records(paths, unread));
  return Trace(records).text();
}

}  // namespace ringcomm::inline v0::diag
