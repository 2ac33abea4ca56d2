// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/diag/recorder.hpp"

#include <unistd.h>

#include <atomic>
#include <mutex>

#include "diag/record/channel_recorder.hpp"
#include "diag/record/record_file.hpp"

namespace ringcomm::inline v0::diag {

struct Recorder::Impl {
  std::string where;
  std::unique_ptr<RecordFile> file;
  std::mutex mutex;
  std::vector<std::unique_ptr<ChannelRecorder>> channels;
  /// closed or forgotten: the path is no longer ours, sinks write on into memory that nobody reads.
  std::atomic<bool> is_over{false};
  std::filesystem::path path;

  bool is_active() const { return file && !is_over.load(std::memory_order_acquire); }
};

Recorder::Recorder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Recorder::~Recorder() = default;

std::unique_ptr<Recorder> Recorder::create(const RecordIdentity& identity, const RecorderOptions& options) {
  auto impl = std::make_unique<Impl>();
  try {
    impl->file = RecordFile::create(identity, options, impl->where);
    if (impl->file) impl->path = impl->file->path();
  } catch (const std::exception& error) {
    impl->file.reset();
    impl->where = "recorder: off (no memory)";
  }
  return std::unique_ptr<Recorder>(new Recorder(std::move(impl)));
}

ChannelSink* Recorder::open_channel(std::span<const int> members, std::uint32_t ordinal,
                                    std::string_view name) noexcept {
  if (!impl_->is_active()) return nullptr;
  try {
    const std::lock_guard lock(impl_->mutex);
    impl_->channels.reserve(impl_->channels.size() + 1);
    ChannelRecord* const channel = impl_->file->add_channel(members, ordinal, name);
    if (channel == nullptr) return nullptr;
    impl_->channels.push_back(std::make_unique<ChannelRecorder>(*impl_->file, *channel, members));
    return impl_->channels.back().get();
  } catch (...) {
    return nullptr;
  }
}

void Recorder::keep_plan(ChannelSink* channel, std::uint64_t signature,
                         const plan::RankPlan& slice) noexcept {
  if (channel == nullptr || !impl_->is_active()) return;
  impl_->file->add_plan(static_cast<ChannelRecorder*>(channel)->index(), signature, slice);
}

void Recorder::fail(const Status& status, int culprit) noexcept {
  if (impl_->is_active() && !status.is_ok()) impl_->file->set_failure(status, culprit);
}

void Recorder::set_memory(std::uint64_t arena_high_water_bytes, std::uint64_t window_bytes) noexcept {
  if (!impl_->is_active()) return;
  put(impl_->file->header().arena_high_water_bytes, arena_high_water_bytes);
  put(impl_->file->header().window_bytes, window_bytes);
}

void Recorder::close(bool keep) noexcept {
  if (!impl_->file || impl_->is_over.exchange(true)) return;
  impl_->file->finish(keep);
}

void Recorder::forget() noexcept {
  if (!impl_->file || impl_->is_over.exchange(true)) return;
  impl_->file->forget();
  impl_->path.clear();
}

bool Recorder::is_on() const { return impl_->is_active(); }
const std::filesystem::path& Recorder::path() const { return impl_->path; }
const std::string& Recorder::where() const { return impl_->where; }

}  // namespace ringcomm::inline v0::diag
