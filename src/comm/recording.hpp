// SPDX-License-Identifier: Apache-2.0
// A communicator's flight recorder, and the watchdog that reads all records of the job when an operation
// fails. No thread of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/places.hpp"
#include "ringcomm/core/event_sink.hpp"
#include "ringcomm/diag/recorder.hpp"
#include "ringcomm/transport/transport.hpp"

namespace ringcomm::inline v0::comm {

struct RecordSettings {
  bool is_on = true;
  std::string folder{};  ///< empty: the recorder's choice
  std::uint32_t entries = 4096;
  bool has_watchdog = true;
};

class Recording final : public FailureListener {
 public:
  Recording();
  ~Recording() override;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// Makes the record; `user` hears the same and may be null. Says in the log where it is.
  void start(const RecordSettings& settings, const JobIdentity& identity, int rank, int size,
             std::string_view transport, EventSink* user);
  /// From now on failures are explained: those of creation have records of some ranks only.
  void arm() { is_armed_.store(true, std::memory_order_release); }

  struct Sinks {
    ChannelSink* all = nullptr;       ///< null when nobody listens
    ChannelSink* recorder = nullptr;  ///< the record's own, for keep_plan()
  };
  Sinks open_channel(std::span<const int> members, std::uint32_t ordinal, std::string_view name);
  void keep_plan(ChannelSink* recorder, std::uint64_t signature, const plan::RankPlan& slice) noexcept;
  void set_memory(std::uint64_t arena_high_water_bytes, std::uint64_t window_bytes) noexcept;

  Status explain(Status found, int culprit) noexcept override;
  void on_failure(const Status& failure, int culprit) noexcept override;
  /// A failure that no transport reported. Returns it with what explain() adds.
  Status note(Status found) noexcept;

  /// "" when there is none. Asks the records if this rank was only told of the failure.
  std::string verdict();
  std::string path() const;
  /// Removes the record unless the communicator failed, or it is destroyed because an exception flies by:
  /// then the record says so.
  void close() noexcept;
  /// In a forked child.
  void forget() noexcept;

 private:
  class Tee;
  void ask(StatusCode code);

  JobIdentity identity_;
  int rank_ = 0;
  bool has_watchdog_ = false;
  EventSink* user_ = nullptr;
  std::unique_ptr<diag::Recorder> recorder_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Tee>> tees_;
  std::string verdict_;
  bool was_asked_ = false;  ///< by explain(): once, because peers wait for it
  bool has_verdict_ = false;
  std::atomic<bool> is_armed_{false}, has_failed_{false};
};

}  // namespace ringcomm::inline v0::comm
