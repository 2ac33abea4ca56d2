// SPDX-License-Identifier: Apache-2.0
#include "comm/recording.hpp"

#include <chrono>
#include <exception>
#include <utility>

#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/diag/watchdog.hpp"

namespace ringcomm::inline v0::comm {
namespace {

/// Two looks so far apart tell a slow rank from a stuck one; peers are told that much later.
constexpr std::chrono::milliseconds kApart{100};
/// What is told to the peers is cut at 352 bytes (transport/common/control_layout.hpp).
constexpr std::size_t kToldBytesMax = 352;

bool is_explained(StatusCode code) {
  return code == StatusCode::timeout || code == StatusCode::mismatch || code == StatusCode::peer_lost;
}

std::string sentence(const diag::Verdict& verdict) {
  return verdict.grade == diag::Grade::cannot_tell ? std::string() : verdict.title;
}

}  // namespace

/// The record and the user's own sink hear the same.
class Recording::Tee final : public ChannelSink {
 public:
  Tee(ChannelSink& first, ChannelSink& second) : first_(first), second_(second) {}
  void enter(const Descriptor& descriptor, std::int64_t deadline_ns,
             std::string_view call_site) noexcept override {
    first_.enter(descriptor, deadline_ns, call_site);
    second_.enter(descriptor, deadline_ns, call_site);
  }
  void leave(const Descriptor& descriptor, StatusCode code) noexcept override {
    first_.leave(descriptor, code);
    second_.leave(descriptor, code);
  }
  void record(Direction direction, const Descriptor& descriptor, int peer, const void* block,
              OpState state) noexcept override {
    first_.record(direction, descriptor, peer, block, state);
    second_.record(direction, descriptor, peer, block, state);
  }
  /// Each has a clock of its own; the record's is the one that is worth sharing.
  void record_at(Direction direction, const Descriptor& descriptor, int peer, const void* block,
                 OpState state, Instant& when) noexcept override {
    first_.record_at(direction, descriptor, peer, block, state, when);
    second_.record(direction, descriptor, peer, block, state);
  }

 private:
  ChannelSink& first_;
  ChannelSink& second_;
};

Recording::Recording() = default;
Recording::~Recording() = default;

void Recording::start(const RecordSettings& settings, const JobIdentity& identity, int rank, int size,
                      std::string_view transport, EventSink* user) {
  identity_ = identity;
  rank_ = rank;
  user_ = user;
  has_watchdog_ = settings.has_watchdog && settings.is_on && size > 1;
  if (!settings.is_on) return;
  diag::RecordIdentity who;
  who.job = identity.job;
  who.communicator = identity.communicator;
  who.rank = rank;
  who.size = size;
  who.world_rank = identity.world_rank;
  who.world_size = identity.world_size;
  who.transport = transport;
  who.world_ranks = identity.world_ranks;
  recorder_ = diag::Recorder::create(who, {.folder = settings.folder, .entries = settings.entries});
  if (!recorder_->where().ends_with(" entries")) {
    static std::atomic<bool> has_warned{false};
    if (!has_warned.exchange(true)) log(LogLevel::warn, recorder_->where());
  } else if (log_level() >= LogLevel::info) {
    log(LogLevel::info, recorder_->where());
  }
}

Recording::Sinks Recording::open_channel(std::span<const int> members, std::uint32_t ordinal,
                                         std::string_view name) {
  Sinks sinks;
  if (recorder_) sinks.recorder = recorder_->open_channel(members, ordinal, name);
  ChannelSink* const users = user_ == nullptr ? nullptr : user_->open_channel(members, ordinal, name);
  sinks.all = sinks.recorder == nullptr ? users : sinks.recorder;
  if (users != nullptr && sinks.recorder != nullptr) {
    const std::lock_guard lock(mutex_);
    tees_.push_back(std::make_unique<Tee>(*sinks.recorder, *users));
    sinks.all = tees_.back().get();
  }
  return sinks;
}

void Recording::keep_plan(ChannelSink* recorder, std::uint64_t signature,
                          const plan::RankPlan& slice) noexcept {
  if (recorder_) recorder_->keep_plan(recorder, signature, slice);
}

void Recording::set_memory(std::uint64_t arena_high_water_bytes, std::uint64_t window_bytes) noexcept {
  if (recorder_) recorder_->set_memory(arena_high_water_bytes, window_bytes);
}

void Recording::ask(StatusCode code) {
  if (has_verdict_ || !has_watchdog_) return;
  const auto apart = code == StatusCode::timeout ? kApart : std::chrono::milliseconds(0);
  const diag::WatchdogReport report = diag::report_hang(identity_.job, apart);
  // Where the first one was not done in time there is none yet: verdict() asks again.
  has_verdict_ = report.is_first || !report.verdict.title.empty();
  verdict_ = sentence(report.verdict);
  if (report.is_first && !report.text.empty()) log(LogLevel::warn, report.text);
}

Status Recording::explain(Status found, int) noexcept {
  if (!is_armed_.load(std::memory_order_acquire) || !is_explained(found.code())) return found;
  try {
    const std::lock_guard lock(mutex_);
    if (std::exchange(was_asked_, true)) return found;
    ask(found.code());
    if (verdict_.empty() || found.code() != StatusCode::timeout) return found;
    std::string text = concat(found.message(), "; verdict: ", verdict_);
    if (text.size() > kToldBytesMax) return found;
    return Status(found.code(), std::move(text));
  } catch (const std::exception&) {  // no memory: the failure itself is what has to be told
    return found;
  }
}

void Recording::on_failure(const Status& failure, int culprit) noexcept {
  if (has_failed_.exchange(true)) return;
  if (recorder_) recorder_->fail(failure, culprit);
}

Status Recording::note(Status found) noexcept {
  found = explain(std::move(found), -1);
  on_failure(found, -1);
  return found;
}

std::string Recording::verdict() {
  if (!has_failed_.load()) return {};
  const std::lock_guard lock(mutex_);
  ask(StatusCode::ok);
  return verdict_;
}

std::string Recording::path() const { return recorder_ ? recorder_->path().string() : std::string(); }

void Recording::close() noexcept {
  if (!recorder_) return;
  const bool is_unwinding = std::uncaught_exceptions() > 0;
  if (is_unwinding && !has_failed_.load())
    recorder_->fail(Status::aborted("an exception left the scope of its communicator"), rank_);
  recorder_->close(has_failed_.load() || is_unwinding);
}

void Recording::forget() noexcept {
  if (recorder_) recorder_->forget();
}

}  // namespace ringcomm::inline v0::comm
