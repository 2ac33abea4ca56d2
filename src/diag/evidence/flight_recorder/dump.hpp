// SPDX-License-Identifier: Apache-2.0
// One dump of PyTorch's flight recorder, in either of its encodings: values as they come in, then facts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "diag/evidence/reader.hpp"
#include "diag/evidence/value_sink.hpp"

namespace ringcomm::inline v0::diag::flight_recorder {

struct Entry {
  OpFact op{};
  std::optional<std::int64_t> pg_id{};
  std::optional<bool> is_p2p{};
  bool is_retired = false;
  std::string state{};
};

struct GroupConfig {
  std::string name{}, description{}, backend{};
  std::vector<int> ranks{};
};

struct GroupStatus {
  std::optional<std::int64_t> enqueued{}, started{}, completed{};
};

/// What a dump says, before anything is joined.
struct Dump {
  std::map<std::string, GroupConfig> groups{};              ///< pg_config, by its keys
  std::map<std::string, GroupStatus> status{};              ///< pg_status, by pg_id
  std::map<std::string, std::string> group_descriptions{};  ///< of names that entries give
  std::vector<Entry> entries{};
  std::string version{}, library_version{};
  int rank = kUnknown;  ///< where the dump itself has one: some tools add it
  std::int64_t pid = kUnknown;
  std::string host{};
  bool is_dump = false;  ///< some key was one that only dumps have
  bool is_full = false;  ///< there were more entries than the limit
};

/// Fills a Dump from values. Unknown keys are skipped whole.
class DumpSink final : public ValueSink {
 public:
  DumpSink(Dump& dump, std::size_t entries_max) : dump_(dump), entries_max_(entries_max) {}
  bool begin(bool is_dict) override;
  bool end() override;
  bool key(std::string_view name) override;
  bool scalar(const Scalar& value) override;

  enum class Place : std::uint8_t {
    skipped,
    file,  ///< the dump itself
    groups,
    group,
    group_ranks,
    statuses,
    status,
    entries,
    entry,
    process_group,
    sizes_in,
    sizes_out,
    shape_in,
    shape_out,
    dtypes_in,
    dtypes_out,
    frames,
    frame,
  };

 private:
  Place place() const { return stack_.empty() ? Place::skipped : stack_.back(); }
  Place inside(bool is_dict) const;
  void open(Place place);
  bool close_entry();
  void file_scalar(const Scalar& value);
  void group_scalar(const Scalar& value);
  void entry_scalar(const Scalar& value);
  void entry_time(const Scalar& value);
  void list_scalar(Place place, const Scalar& value);

  Dump& dump_;
  std::size_t entries_max_;
  std::vector<Place> stack_;
  std::string key_;
  Entry entry_;
  GroupConfig* group_ = nullptr;
  GroupStatus* status_ = nullptr;
  std::size_t list_index_ = 0;
  std::string frame_name_, frame_file_;
  std::int64_t frame_line_ = 0;
};

/// Whether the text has a word that only dumps have (first 64 KiB).
bool has_dump_words(std::string_view text);

/// Appends the dump's facts; `end` says why the file ended early, or ok.
Status append_facts(Dump& dump, const RawFile& file, const Status& end, HangEvidence& evidence);

/// Name of a group for each key of pg_status that has one: from entries, then by the order of both, then by
/// elimination.
std::map<std::string, std::string> names_of_status(const Dump& dump);

}  // namespace ringcomm::inline v0::diag::flight_recorder
