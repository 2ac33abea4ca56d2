// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "diag/evidence/reader.hpp"
#include "diag/evidence/value_sink.hpp"

namespace ringcomm::inline v0::diag {

/// One RAS report, value by value, as facts. A communicator is appended when it ends: NCCL has reported
/// garbage (rank 1057455228 of two), which shows only in the whole.
class RasSink final : public ValueSink {
 public:
  RasSink(const RawFile& file, int snapshot, HangEvidence& evidence)
      : file_(file), evidence_(evidence), snapshot_(snapshot) {}
  bool begin(bool is_dict) override;
  bool end() override;
  bool key(std::string_view name) override;
  bool scalar(const Scalar& value) override;

  std::size_t facts() const { return facts_; }
  std::size_t communicators() const { return communicators_; }
  std::size_t garbage() const { return garbage_; }
  bool is_cut() const { return !stack_.empty(); }

 private:
  enum class Place : std::uint8_t {
    skipped,
    report,
    communicators,
    communicator,
    ranks,
    rank,
    rank_status,
    counts,
    missing,
    missing_rank,
    missing_status
  };
  struct Member {
    Who who{};
    std::map<std::string, std::int64_t> launches{};
    std::int64_t init_state = 0, async_error = 0;
    bool is_aborted = false, is_finalized = false;
    bool is_missing = false, is_unresponsive = false, is_dead = false;
  };

  Place place() const { return stack_.empty() ? Place::skipped : stack_.back(); }
  Place inside() const;
  void member_scalar(const Scalar& value);
  void append_communicator();
  void append_member(const Member& member, const std::string& group);
  void append_event(EventKind kind, const Member& member, const std::string& group, std::int64_t code,
                    std::string detail);

  const RawFile& file_;
  HangEvidence& evidence_;
  int snapshot_;
  std::vector<Place> stack_;
  std::string key_;
  std::string hash_, time_;
  std::optional<std::int64_t> size_{}, missing_count_{};
  std::vector<Member> members_;
  std::size_t facts_ = 0, communicators_ = 0, garbage_ = 0;
};

}  // namespace ringcomm::inline v0::diag
