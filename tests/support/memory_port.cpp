// SPDX-License-Identifier: Apache-2.0
#include "support/memory_port.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::testing_support {
namespace {

struct Mail {
  int from = 0;
  std::int64_t due_ns = 0;
  std::vector<std::byte> bytes;
  bool is_loss = false;
};

/// (sender, receiver, tag).
using TransferKey = std::tuple<int, int, std::uint64_t>;
struct Meeting {
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  std::size_t bytes_sent = 0;
  std::size_t bytes_wanted = 0;
  std::int64_t due_ns = 0;
  bool is_copied = false;
  int seen_by = 0;  ///< sides that know that it is copied
};

struct Box {
  std::condition_variable changed;
  std::deque<Mail> mail;
  bool is_woken = false;
  bool is_gone = false;
};

/// What the ranks of one connect() share; everything under the one mutex.
struct Hub {
  explicit Hub(int ranks) : boxes(static_cast<std::size_t>(ranks)) {}
  std::mutex mutex;
  std::vector<Box> boxes;
  std::map<TransferKey, Meeting> meetings;
  Box& box(int rank) { return boxes[static_cast<std::size_t>(rank)]; }
};

class MemoryPort final : public MessagePort {
 public:
  explicit MemoryPort(const MemoryPortOptions& options) : options_(options) {}
  ~MemoryPort() override {
    if (hub_ == nullptr) return;
    const std::lock_guard lock(hub_->mutex);
    hub_->box(rank_).is_gone = true;
    for (const auto& [id, key] : transfers_) hub_->meetings.erase(key);
  }

  std::string_view name() const override { return "memory"; }
  Status can_serve(const Bootstrap& bootstrap) const override {
    return bootstrap.kind() == GroupKind::threads ? Status() : Status::not_available("memory serves threads");
  }

  Status connect(Bootstrap& bootstrap, MessageSink& sink, Deadline deadline) override {
    static std::atomic<std::uint64_t> connections{0};
    const std::uint64_t mine = connections.fetch_add(1);
    RINGCOMM_TRY_ASSIGN(const auto all, bootstrap.all_gather(std::as_bytes(std::span(&mine, 1)), deadline));
    std::uint64_t first = 0;
    std::memcpy(&first, all.front().data(), sizeof(first));
    RINGCOMM_TRY_ASSIGN(const auto shared, bootstrap.shared_object(concat("memory port ", first), [&] {
      return std::make_shared<Hub>(bootstrap.size());
    }));
    sink_ = &sink;
    rank_ = bootstrap.rank();
    hub_ = std::static_pointer_cast<Hub>(shared);
    random_.seed(options_.seed * 1'000'003 + static_cast<std::uint64_t>(rank_));
    return bootstrap.all_gather({}, deadline).status();
  }

  Status send_control(int peer, std::span<const std::byte> bytes) override {
    if (bytes.size() > kControlBytesMax) return Status::internal("control message too long");
    const std::lock_guard lock(hub_->mutex);
    if (hub_->box(rank_).is_gone) return {};  // nobody hears the dead
    post(peer, {.from = rank_, .due_ns = due_ns(), .bytes = {bytes.begin(), bytes.end()}});
    return {};
  }

  Result<TransferId> send(int peer, std::uint64_t tag, const std::byte* data, std::size_t bytes) override {
    const std::lock_guard lock(hub_->mutex);
    Meeting& meeting = hub_->meetings[{rank_, peer, tag}];
    meeting.source = data;
    meeting.bytes_sent = bytes;
    return begin({rank_, peer, tag}, meeting);
  }

  Result<TransferId> receive(int peer, std::uint64_t tag, std::byte* data, std::size_t bytes) override {
    const std::lock_guard lock(hub_->mutex);
    Meeting& meeting = hub_->meetings[{peer, rank_, tag}];
    meeting.target = data;
    meeting.bytes_wanted = bytes;
    return begin({peer, rank_, tag}, meeting);
  }

  Result<bool> is_done(TransferId transfer) override {
    const auto mine = transfers_.find(transfer);
    if (mine == transfers_.end()) return Status::internal("unknown transfer");
    const std::lock_guard lock(hub_->mutex);
    const auto meeting = hub_->meetings.find(mine->second);
    if (meeting == hub_->meetings.end() || !meeting->second.is_copied) return false;
    if (++meeting->second.seen_by == 2) hub_->meetings.erase(meeting);
    transfers_.erase(mine);
    return true;
  }

  Result<bool> progress() override {
    bool has_moved = copy_arrived();
    while (std::optional<Mail> mail = next_mail()) {
      has_moved = true;
      if (mail->is_loss) {
        sink_->on_peer_lost(mail->from, Status::unreachable("its thread played dead"));
      } else {
        sink_->on_control(mail->from, mail->bytes);
      }
    }
    return has_moved;
  }

  void sleep(std::chrono::microseconds at_most) override {
    std::unique_lock lock(hub_->mutex);
    Box& box = hub_->box(rank_);
    if (!box.mail.empty())
      at_most =
          std::min(at_most, std::chrono::microseconds(
                                std::max<std::int64_t>(0, box.mail.front().due_ns - now_ns()) / 1'000 + 1));
    if (options_.delay_max.count() > 0) at_most = std::min(at_most, std::chrono::microseconds(200));
    if (box.is_woken || is_due(box)) at_most = std::chrono::microseconds(0);
    if (at_most.count() > 0) box.changed.wait_for(lock, at_most, [&] { return box.is_woken || is_due(box); });
    box.is_woken = false;
  }

  void wake() override {
    const std::lock_guard lock(hub_->mutex);
    hub_->box(rank_).is_woken = true;
    hub_->box(rank_).changed.notify_all();
  }

  void die() {
    const std::lock_guard lock(hub_->mutex);
    hub_->box(rank_).is_gone = true;
    for (int peer = 0; peer < static_cast<int>(hub_->boxes.size()); ++peer) {
      if (peer != rank_) post(peer, {.from = rank_, .due_ns = due_ns(), .bytes = {}, .is_loss = true});
    }
  }

 private:
  static bool is_due(const Box& box) { return !box.mail.empty() && box.mail.front().due_ns <= now_ns(); }

  std::int64_t due_ns() {
    if (options_.delay_max.count() == 0) return 0;
    std::uniform_int_distribution<std::int64_t> draw(0, options_.delay_max.count() * 1'000);
    return now_ns() + draw(random_);
  }

  /// One queue for all senders: a slow message holds up what comes behind it, so that the order stays.
  void post(int peer, Mail mail) {
    Box& box = hub_->box(peer);
    if (box.is_gone) return;
    box.mail.push_back(std::move(mail));
    box.changed.notify_all();
  }

  TransferId begin(const TransferKey& key, Meeting& meeting) {
    if (meeting.source != nullptr && meeting.target != nullptr) {
      meeting.due_ns = due_ns();
      const int receiver = std::get<1>(key);
      hub_->box(receiver).is_woken = true;
      hub_->box(receiver).changed.notify_all();
    }
    transfers_.emplace(++last_id_, key);
    return last_id_;
  }

  /// Copies what is here to be received; the sender's copy is done with it.
  bool copy_arrived() {
    bool has_moved = false;
    const std::lock_guard lock(hub_->mutex);
    for (const auto& [id, key] : transfers_) {
      const auto found = hub_->meetings.find(key);
      if (found == hub_->meetings.end() || std::get<1>(key) != rank_) continue;
      Meeting& meeting = found->second;
      if (meeting.is_copied || meeting.source == nullptr || meeting.target == nullptr) continue;
      if (meeting.due_ns > now_ns()) continue;
      std::memcpy(meeting.target, meeting.source, std::min(meeting.bytes_sent, meeting.bytes_wanted));
      meeting.is_copied = has_moved = true;
      Box& sender = hub_->box(std::get<0>(key));
      sender.is_woken = true;
      sender.changed.notify_all();
    }
    return has_moved;
  }

  std::optional<Mail> next_mail() {
    const std::lock_guard lock(hub_->mutex);
    Box& box = hub_->box(rank_);
    if (!is_due(box)) return std::nullopt;
    Mail mail = std::move(box.mail.front());
    box.mail.pop_front();
    return mail;
  }

  const MemoryPortOptions options_;
  std::mt19937_64 random_;
  std::shared_ptr<Hub> hub_;
  MessageSink* sink_ = nullptr;
  int rank_ = 0;
  TransferId last_id_ = 0;
  std::map<TransferId, TransferKey> transfers_;
};

}  // namespace

MessagePortFactory memory_port(const MemoryPortOptions& options) {
  return [options] { return std::make_unique<MemoryPort>(options); };
}

void die(MessagePort& port) { static_cast<MemoryPort&>(port).die(); }

}  // namespace ringcomm::testing_support
