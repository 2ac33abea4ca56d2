// SPDX-License-Identifier: Apache-2.0
#include "call_file.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "call_groups.hpp"
#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::planner {
namespace {

using nlohmann::json;
constexpr std::size_t kBytesMax = std::size_t{16} << 20;
constexpr int kDepthMax = 8;
/// Items looked at while repeats are unrolled, empty ones too.
constexpr std::size_t kWorkMax = 4 * plan::kScheduleCallsMax;

Status wrong(std::string_view place, std::string_view what) {
  return Status::corrupt_data(concat(place, ": ", what));
}
std::string shown(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 60);
}

Status only_keys(const json& object, std::string_view place, const std::vector<std::string>& known) {
  for (const auto& [key, ignored] : object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      return wrong(place, concat("unknown key \"", key.substr(0, 40), "\"; did you mean \"",
                                 nearest_word(key.substr(0, 40), known), "\"?"));
  }
  return {};
}

/// A word, or a number as a word; "" when absent.
Result<std::string> word_in(const json& call, const char* key, std::string_view place) {
  const auto found = call.find(key);
  if (found == call.end()) return std::string();
  if (found->is_number_integer()) return shown(*found);
  if (!found->is_string()) return wrong(place, concat("\"", key, "\" is ", shown(*found), ", not a word"));
  return found->get<std::string>().substr(0, 200);
}

class Reader {
 public:
  explicit Reader(const CallGroups& groups, std::size_t ranks) : groups_(groups) {
    schedule_.groups = groups.all();
    schedule_.calls.resize(ranks);
  }

  Status add_program(const json& program, const std::string& place) {
    if (!program.is_object()) return wrong(place, "is not an object");
    RINGCOMM_TRY(only_keys(program, place, {"ranks", "calls"}));
    const auto calls = program.find("calls");
    if (calls == program.end() || !calls->is_array()) return wrong(place, "has no list \"calls\"");
    RINGCOMM_TRY_ASSIGN(const std::vector<int> ranks, ranks_of(program, place));
    for (const int rank : ranks) {
      rank_ = rank;
      RINGCOMM_TRY(add_list(*calls, concat(place, ".calls"), 0));
    }
    return {};
  }
  plan::CallSchedule take() { return std::move(schedule_); }

 private:
  Result<std::vector<int>> ranks_of(const json& program, const std::string& place) const {
    std::vector<int> ranks;
    const auto found = program.find("ranks");
    if (found == program.end() || *found == "all") {
      for (std::size_t rank = 0; rank < schedule_.calls.size(); ++rank)
        ranks.push_back(static_cast<int>(rank));
      return ranks;
    }
    const json listed = found->is_array() ? *found : json::array({*found});
    for (const json& rank : listed) {
      if (!rank.is_number_integer() || rank < 0 || rank >= schedule_.calls.size())
        return wrong(place, concat("\"ranks\": ", shown(rank), " is no rank below ", schedule_.calls.size()));
      ranks.push_back(rank.get<int>());
    }
    return ranks;
  }

  Status add_list(const json& list, const std::string& place, int depth) {
    if (depth > kDepthMax) return wrong(place, concat("is nested more than ", kDepthMax, " deep"));
    for (std::size_t i = 0; i < list.size(); ++i)
      RINGCOMM_TRY(add_item(list[i], concat(place, "[", i, "]"), depth));
    return {};
  }

  Status add_item(const json& item, const std::string& place, int depth) {
    if (++work_ > kWorkMax) return wrong(place, "the schedule is too long when its repeats are unrolled");
    if (!item.is_object()) return wrong(place, concat("is ", shown(item), ", not an object"));
    if (const auto batch = item.find("batch"); batch != item.end()) {
      RINGCOMM_TRY(only_keys(item, place, {"batch"}));
      if (!batch->is_array() || batch_ != plan::kNone)
        return wrong(place, "\"batch\" is not a list of calls");
      batch_ = next_batch_++;
      const Status status = add_list(*batch, concat(place, ".batch"), depth + 1);
      batch_ = plan::kNone;
      return status;
    }
    if (const auto repeat = item.find("repeat"); repeat != item.end()) {
      RINGCOMM_TRY(only_keys(item, place, {"repeat", "calls"}));
      const auto calls = item.find("calls");
      if (calls == item.end() || !calls->is_array()) return wrong(place, "has no list \"calls\" to repeat");
      if (!repeat->is_number_integer() || *repeat < 0 || *repeat > plan::kScheduleCallsMax)
        return wrong(place, concat("\"repeat\" is ", shown(*repeat)));
      for (int i = 0; i < repeat->get<int>(); ++i) {
        if (++work_ > kWorkMax) return wrong(place, "the schedule is too long when its repeats are unrolled");
        RINGCOMM_TRY(add_list(*calls, concat(place, ".calls"), depth + 1));
      }
      return {};
    }
    return add_call(item, place);
  }

  Status add_call(const json& item, const std::string& place) {
    RINGCOMM_TRY(only_keys(item, place,
                           {"op", "group", "bytes", "dtype", "reduce", "root", "to", "from", "stream", "for",
                            "at", "members", "batch", "repeat"}));
    plan::ScheduledCall call;
    call.batch = batch_;
    RINGCOMM_TRY_ASSIGN(call.op, word_in(item, "op", place));
    RINGCOMM_TRY_ASSIGN(call.dtype, word_in(item, "dtype", place));
    RINGCOMM_TRY_ASSIGN(call.reduce_op, word_in(item, "reduce", place));
    RINGCOMM_TRY_ASSIGN(call.root, word_in(item, "root", place));
    RINGCOMM_TRY_ASSIGN(call.stream, word_in(item, "stream", place));
    RINGCOMM_TRY_ASSIGN(call.at, word_in(item, "at", place));
    if (call.op.empty()) return wrong(place, "has no \"op\"");
    if (const auto bytes = item.find("bytes"); bytes != item.end()) {
      if (!bytes->is_number_unsigned()) return wrong(place, concat("\"bytes\" is ", shown(*bytes)));
      call.bytes = bytes->get<std::uint64_t>();
    }
    if (call.op == "sync" || call.op == "wait") return add_order(std::move(call), item, place);
    const auto name = item.find("group");
    if (name == item.end() || !name->is_string()) return wrong(place, "has no \"group\"");
    const auto& group = name->get_ref<const std::string&>();
    if (groups_.named(group).empty())
      return wrong(place, concat("group \"", group.substr(0, 40), "\" is unknown; did you mean \"",
                                 groups_.nearest(group.substr(0, 40)), "\"?"));
    if (call.op == "create") return add_creation(std::move(call), item, group, place);
    call.group = groups_.of_rank(group, rank_);
    if (call.group < 0) return wrong(place, concat("rank ", rank_, " is in no group ", group));
    if (call.op == "send" || call.op == "recv") {
      call.kind = call.op == "send" ? plan::CallKind::send : plan::CallKind::recv;
      RINGCOMM_TRY_ASSIGN(call.peer, peer_in(item, call.op == "send" ? "to" : "from", call.group, place));
    }
    return push(std::move(call), place);
  }

  Status add_order(plan::ScheduledCall call, const json& item, const std::string& place) {
    call.kind = call.op == "sync" ? plan::CallKind::sync : plan::CallKind::stream_wait;
    if (call.kind == plan::CallKind::sync) {
      call.awaited = std::exchange(call.stream, {});
    } else {
      RINGCOMM_TRY_ASSIGN(call.awaited, word_in(item, "for", place));
      if (call.stream.empty() || call.awaited.empty())
        return wrong(place,
                     "a wait needs \"stream\", which waits, and \"for\", the stream that it waits for");
    }
    return push(std::move(call), place);
  }

  /// A family is made group by group, by every rank; where only members make it, each makes its own.
  Status add_creation(plan::ScheduledCall call, const json& item, const std::string& group,
                      const std::string& place) {
    call.kind = plan::CallKind::create;
    if (const auto members = item.find("members"); members != item.end()) {
      if (!members->is_array() || members->size() > schedule_.calls.size())
        return wrong(place, "\"members\" is not a list of ranks");
      for (const json& rank : *members) {
        if (!rank.is_number_integer() || rank < 0 || rank >= schedule_.calls.size())
          return wrong(place, concat("\"members\": ", shown(rank), " is no rank"));
        call.members.push_back(rank.get<int>());
      }
    }
    for (const int index : groups_.named(group)) {
      const plan::ScheduledGroup& made = schedule_.groups[static_cast<std::size_t>(index)];
      if (made.is_made_by_members && groups_.of_rank(group, rank_) != index) continue;
      call.group = index;
      RINGCOMM_TRY(push(call, place));
    }
    return {};
  }

  /// A rank, or "+1", "-1": that many places further round the group.
  Result<int> peer_in(const json& item, const char* key, int group, const std::string& place) const {
    const auto found = item.find(key);
    if (found == item.end()) return wrong(place, concat("has no \"", key, "\""));
    if (found->is_number_integer() && *found >= 0 && *found < schedule_.calls.size())
      return found->get<int>();
    if (found->is_string()) {
      const auto& text = found->get_ref<const std::string&>();
      const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
      std::int64_t distance = 0;
      const auto [end, error] = std::from_chars(begin, text.data() + text.size(), distance);
      const bool is_signed = text.starts_with('+') || text.starts_with('-');
      if (is_signed && error == std::errc() && end == text.data() + text.size())
        return groups_.neighbour(group, rank_, distance);
    }
    return wrong(place,
                 concat("\"", key, "\" is ", shown(*found), ", neither a rank nor a distance like \"+1\""));
  }

  Status push(plan::ScheduledCall call, const std::string& place) {
    if (++calls_ > plan::kScheduleCallsMax)
      return wrong(place, concat("more than ", plan::kScheduleCallsMax, " calls"));
    schedule_.calls[static_cast<std::size_t>(rank_)].push_back(std::move(call));
    return {};
  }

  const CallGroups& groups_;
  plan::CallSchedule schedule_;
  int rank_ = 0;
  int batch_ = plan::kNone, next_batch_ = 0;
  std::size_t work_ = 0, calls_ = 0;
};

Result<plan::CallSchedule> read_object(const json& object) {
  RINGCOMM_TRY(only_keys(object, "top level", {"ranks", "grid", "groups", "programs"}));
  const auto ranks = object.find("ranks");
  if (ranks == object.end() || !ranks->is_number_integer() || *ranks < 1 || *ranks > plan::kScheduleRanksMax)
    return wrong("\"ranks\"", concat("is not a number from 1 to ", plan::kScheduleRanksMax));
  const auto count = ranks->get<std::size_t>();
  RINGCOMM_TRY_ASSIGN(const CallGroups groups, CallGroups::read(object, count));
  const auto programs = object.find("programs");
  if (programs == object.end() || !programs->is_array())
    return wrong("top level", "has no list \"programs\"");
  Reader reader(groups, count);
  for (std::size_t i = 0; i < programs->size(); ++i)
    RINGCOMM_TRY(reader.add_program((*programs)[i], concat("programs[", i, "]")));
  return reader.take();
}

}  // namespace

Result<plan::CallSchedule> read_call_file(std::string_view text, const std::string& file) {
  if (text.size() > kBytesMax)
    return Status::corrupt_data(concat(file, ": ", text.size(), " bytes; a schedule has at most 16 MiB"));
  const json object = json::parse(text, nullptr, false, true);  // comments are allowed
  if (object.is_discarded()) return Status::corrupt_data(concat(file, ": not JSON"));
  if (!object.is_object()) return Status::corrupt_data(concat(file, ": not a JSON object"));
  auto schedule = read_object(object);
  if (!schedule.is_ok()) return Status::corrupt_data(concat(file, ": ", schedule.status().message()));
  return schedule;
}

}  // namespace ringcomm::planner
