// SPDX-License-Identifier: Apache-2.0
// Which value means what in a dump of any version (1.x to 2.10, and keys that other tools add).
#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "diag/evidence/flight_recorder/dump.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag::flight_recorder {
namespace {

using Place = DumpSink::Place;

constexpr std::size_t kDepthMax = 64;
constexpr std::size_t kTextMax = 512;
constexpr std::size_t kFramesMax = 64;
constexpr std::size_t kShapesMax = 1024;
constexpr std::size_t kDimensionsMax = 16;
constexpr std::size_t kGroupsMax = std::size_t{1} << 16;
constexpr std::size_t kRanksMax = std::size_t{1} << 20;
constexpr std::int64_t kRankMax = 1 << 24;

std::string text_of(const Scalar& value) {
  if (value.kind == Scalar::Kind::text) return std::string(value.text.substr(0, kTextMax));
  const auto integer = value.as_integer();
  return integer ? concat(*integer) : std::string();
}

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

void add_rank(std::vector<int>& ranks, std::optional<std::int64_t> rank) {
  if (rank && *rank >= 0 && *rank < kRankMax && ranks.size() < kRanksMax)
    ranks.push_back(static_cast<int>(*rank));
}

/// "[0, 1, 2]", as the dump prints it into a string.
void add_ranks(std::vector<int>& ranks, std::string_view text) {
  for (const char* at = text.data(); at != text.data() + text.size();) {
    std::int64_t rank = 0;
    const auto [end, error] = std::from_chars(at, text.data() + text.size(), rank);
    if (error == std::errc()) add_rank(ranks, rank);
    at = end == at ? at + 1 : end;
  }
}

void add_shape(std::vector<std::vector<std::int64_t>>& shapes) {
  if (shapes.size() < kShapesMax) shapes.emplace_back();
}

void add_size(std::vector<std::vector<std::int64_t>>& shapes, const Scalar& value) {
  const auto size = value.as_integer();
  if (size && !shapes.empty() && shapes.back().size() < kDimensionsMax) shapes.back().push_back(*size);
}

}  // namespace

Place DumpSink::inside(bool is_dict) const {
  switch (place()) {
    case Place::file:
      if (key_ == "pg_config" && is_dict) return Place::groups;
      if (key_ == "pg_status" && is_dict) return Place::statuses;
      return key_ == "entries" && !is_dict ? Place::entries : Place::skipped;
    case Place::groups:
      return is_dict && dump_.groups.size() < kGroupsMax ? Place::group : Place::skipped;
    case Place::group:
      return !is_dict && key_ == "ranks" ? Place::group_ranks : Place::skipped;
    case Place::statuses:
      return is_dict && dump_.status.size() < kGroupsMax ? Place::status : Place::skipped;
    case Place::entries:
      return is_dict ? Place::entry : Place::skipped;
    case Place::entry:
      if (is_dict) return Place::skipped;
      if (key_ == "process_group") return Place::process_group;
      if (key_ == "input_sizes") return Place::sizes_in;
      if (key_ == "output_sizes") return Place::sizes_out;
      if (key_ == "input_dtypes") return Place::dtypes_in;
      if (key_ == "output_dtypes") return Place::dtypes_out;
      return key_ == "frames" ? Place::frames : Place::skipped;
    case Place::sizes_in:
      return is_dict ? Place::skipped : Place::shape_in;
    case Place::sizes_out:
      return is_dict ? Place::skipped : Place::shape_out;
    case Place::frames:
      return is_dict ? Place::frame : Place::skipped;
    default:
      return Place::skipped;
  }
}

void DumpSink::open(Place place) {
  list_index_ = 0;
  switch (place) {
    case Place::groups:
    case Place::statuses:
      dump_.is_dump = true;
      break;
    case Place::group:
      group_ = &dump_.groups[key_];
      if (group_->name.empty()) group_->name = key_;
      break;
    case Place::group_ranks:
      group_->ranks.clear();
      break;
    case Place::status:
      status_ = &dump_.status[key_];
      break;
    case Place::entry:
      entry_ = {};
      break;
    case Place::frame:
      frame_name_.clear();
      frame_file_.clear();
      frame_line_ = 0;
      break;
    case Place::shape_in:
      add_shape(entry_.op.input_sizes);
      break;
    case Place::shape_out:
      add_shape(entry_.op.output_sizes);
      break;
    default:
      break;
  }
}

bool DumpSink::begin(bool is_dict) {
  if (stack_.size() >= kDepthMax) return false;
  Place next = Place::skipped;
  if (!stack_.empty()) {
    next = inside(is_dict);
  } else if (is_dict) {
    next = Place::file;
  }
  open(next);
  stack_.push_back(next);
  return true;
}

bool DumpSink::end() {
  if (stack_.empty()) return false;
  const Place done = place();
  stack_.pop_back();
  if (done == Place::entry) return close_entry();
  if (done == Place::frame && entry_.op.frames.size() < kFramesMax)
    entry_.op.frames.push_back(concat(frame_file_, ":", frame_line_, " ", frame_name_));
  return true;
}

bool DumpSink::close_entry() {
  // Nothing that could be told of it: no entry of a recorder.
  if (entry_.op.name.empty() && !entry_.op.seq && !entry_.op.p2p_seq && entry_.state.empty()) return true;
  if (dump_.entries.size() >= entries_max_) {
    dump_.is_full = true;
    return false;
  }
  dump_.is_dump = true;
  dump_.entries.push_back(std::move(entry_));
  return true;
}

bool DumpSink::key(std::string_view name) {
  key_.assign(name.substr(0, kTextMax));
  return true;
}

bool DumpSink::scalar(const Scalar& value) {
  switch (const Place at = place()) {
    case Place::file:
      file_scalar(value);
      break;
    case Place::group:
      group_scalar(value);
      break;
    case Place::group_ranks:
      add_rank(group_->ranks, value.as_integer());
      break;
    case Place::status:
      if (key_ == "last_enqueued_collective") status_->enqueued = value.as_integer();
      if (key_ == "last_started_collective") status_->started = value.as_integer();
      if (key_ == "last_completed_collective") status_->completed = value.as_integer();
      break;
    case Place::entry:
      entry_scalar(value);
      break;
    case Place::frame:
      if (key_ == "name") frame_name_ = text_of(value);
      if (key_ == "filename") frame_file_ = text_of(value);
      if (key_ == "line") frame_line_ = value.as_integer().value_or(0);
      break;
    default:
      list_scalar(at, value);
  }
  return true;
}

void DumpSink::file_scalar(const Scalar& value) {
  const auto integer = value.as_integer();
  if (key_ == "version") {
    dump_.version = text_of(value);
  } else if (key_.ends_with("_version")) {
    dump_.library_version = text_of(value);
  } else if ((key_ == "rank" || key_ == "global_rank") && integer && *integer >= 0 && *integer < kRankMax) {
    dump_.rank = static_cast<int>(*integer);
  } else if (key_ == "pid" && integer) {
    dump_.pid = *integer;
  } else if (key_ == "host" || key_ == "hostname" || key_ == "host_name") {
    dump_.host = text_of(value);
  } else if (key_ == "pg_config" || key_ == "pg_status") {
    dump_.is_dump = true;  // null where there is no group yet
  }
}

void DumpSink::group_scalar(const Scalar& value) {
  if (key_ == "name") group_->name = text_of(value);
  if (key_ == "desc") group_->description = text_of(value);
  if (key_ == "backend") group_->backend = text_of(value);
  if (key_ == "ranks" && value.kind == Scalar::Kind::text) {
    group_->ranks.clear();
    add_ranks(group_->ranks, value.text);
  }
}

void DumpSink::entry_scalar(const Scalar& value) {
  OpFact& op = entry_.op;
  if (key_ == "profiling_name") {
    op.name = text_of(value);
  } else if (key_ == "pg_id") {
    entry_.pg_id = value.as_integer();
  } else if (key_ == "collective_seq_id" || key_ == "seq_id") {  // seq_id: version 1
    op.seq = value.as_integer();
  } else if (key_ == "p2p_seq_id") {
    op.p2p_seq = value.as_integer();
  } else if (key_ == "is_p2p") {
    entry_.is_p2p = value.is_true();
  } else if (key_ == "state") {
    entry_.state = lower(text_of(value));
  } else if (key_ == "retired") {
    entry_.is_retired = value.is_true();
  } else if (key_ == "timeout_ms") {
    op.timeout_ms = value.as_integer();
  } else if (key_ == "process_group") {
    op.group = text_of(value);
  } else if (key_.starts_with("time_")) {
    entry_time(value);
  }
}

void DumpSink::entry_time(const Scalar& value) {
  // 0 is how JSON says None; early versions stamped microseconds.
  auto time = value.as_integer();
  if (!time || *time <= 0) return;
  if (key_.ends_with("_us")) {
    if (*time > std::numeric_limits<std::int64_t>::max() / 1000) return;
    time = *time * 1000;
  } else if (!key_.ends_with("_ns")) {
    return;
  }
  const std::string_view name = std::string_view(key_).substr(0, key_.size() - 3);
  if (name == "time_created") entry_.op.created_ns = time;
  if (name == "time_discovered_started") entry_.op.started_ns = time;
  if (name == "time_discovered_completed") entry_.op.completed_ns = time;
}

void DumpSink::list_scalar(Place place, const Scalar& value) {
  OpFact& op = entry_.op;
  switch (place) {
    case Place::process_group:
      if (list_index_ == 0) op.group = text_of(value);
      if (list_index_ == 1 && dump_.group_descriptions.size() < kGroupsMax)
        dump_.group_descriptions.try_emplace(op.group, text_of(value));
      break;
    case Place::shape_in:
      add_size(op.input_sizes, value);
      break;
    case Place::shape_out:
      add_size(op.output_sizes, value);
      break;
    case Place::dtypes_in:
      if (list_index_ == 0) op.dtype = lower(text_of(value));
      break;
    case Place::dtypes_out:
      if (list_index_ == 0 && op.dtype.empty()) op.dtype = lower(text_of(value));
      break;
    default:
      break;
  }
  ++list_index_;
}

bool has_dump_words(std::string_view text) {
  text = text.substr(0, std::size_t{1} << 16);
  for (const std::string_view word : {"pg_config", "pg_status", "collective_seq_id", "profiling_name"}) {
    if (text.find(word) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace ringcomm::inline v0::diag::flight_recorder
