// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/hub.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "bootstrap/rank_list.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::bootstrap {
namespace {

constexpr std::chrono::seconds kLinger{3};
constexpr std::chrono::seconds kStopWait{1};
constexpr int kPollMsMax = 1000;

void send_now(int socket, const Status& reason) {
  Outbox box;
  box.push(reason_frame(reason));
  box.flush(socket);
}

}  // namespace

Result<std::shared_ptr<Hub>> Hub::create(UniqueFd listener, HubOptions options) {
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.is_open()) {
    return Status::not_available(
        concat("eventfd failed: ", describe_errno(errno), " Is RLIMIT_NOFILE too low?"));
  }
  return std::shared_ptr<Hub>(new Hub(std::move(listener), std::move(options), std::move(wake)));
}

Hub::Hub(UniqueFd listener, HubOptions options, UniqueFd wake)
    : doorman_(std::move(listener), options.secret, options.name),
      options_(std::move(options)),
      wake_(std::move(wake)),
      members_(static_cast<std::size_t>(options_.size)) {}

void Hub::stop() {
  stop_requested_ = true;
  const std::lock_guard lock(wake_mutex_);
  if (!wake_.is_open()) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t wrote = ::write(wake_.get(), &one, sizeof(one));
}

void Hub::run() {
  try {
    while (!has_finished()) {
      wait();
      step();
    }
  } catch (const std::exception& error) {  // no memory: the ranks see that their connections close
    log(LogLevel::warn, concat("the meeting at ", options_.name, " ends: ", error.what()));
  }
  doorman_.close();
  members_.clear();
  {
    const std::lock_guard lock(wake_mutex_);
    wake_.reset();
  }
  is_flushed_ = true;
  has_ended_ = true;
}

int Hub::members_with(bool (*is)(const Member&)) const {
  return static_cast<int>(std::count_if(members_.begin(), members_.end(), is));
}

bool Hub::has_finished() {
  if (stop_requested_ && !std::exchange(was_stopped_, true)) stop_by_ = Deadline::after(kStopWait);
  if (was_stopped_ && (is_flushed_ || stop_by_.is_expired())) return true;
  const bool is_empty = members_with([](const Member& m) { return m.socket.is_open(); }) == 0;
  const bool have_all_come =
      !members_.empty() && members_with([](const Member& m) { return !m.has_come; }) == 0;
  if (!failure_.is_ok()) return linger_.is_expired() || (is_empty && have_all_come);
  return has_formed_ && is_empty;
}

void Hub::wait() {
  std::vector<pollfd> fds{{wake_.get(), static_cast<short>(was_stopped_ ? 0 : POLLIN), 0}};
  doorman_.add_to(fds);
  for (const Member& member : members_) {
    if (!member.socket.is_open()) continue;
    fds.push_back(
        {member.socket.get(), static_cast<short>(POLLIN | (member.outbox.is_empty() ? 0 : POLLOUT)), 0});
  }
  std::int64_t ns = doorman_.next_expiry().remaining_ns();
  const auto end_at = [&ns](const Deadline& end) { ns = std::min(ns, end.remaining_ns()); };
  if (!has_formed_ && failure_.is_ok()) end_at(options_.deadline);
  if (!failure_.is_ok()) end_at(linger_);
  if (was_stopped_) end_at(stop_by_);
  wait_ready(fds, Deadline::after(std::chrono::nanoseconds(ns)), kPollMsMax);
}

void Hub::step() {
  // Those who left make room before a new process may claim the same rank.
  for (Member& member : members_) hear(member);
  for (Visitor& visitor : doorman_.step()) admit(visitor);
  answer_if_complete();
  if (!has_formed_ && failure_.is_ok() && options_.deadline.is_expired()) {
    fail(timed_out((now_ns() - began_ns_) / 1'000'000));
  }
  flush();
}

std::string Hub::who(const Member& member) const {
  return concat("rank ", member.hello.rank, " (", process_of(member.hello), ")");
}

bool Hub::admit_size(const Visitor& visitor) {
  const Hello& hello = visitor.hello;
  if (members_.empty() && hello.size >= 1 && hello.size <= kGroupRanksMax) {
    members_.resize(static_cast<std::size_t>(hello.size));
  }
  const int size = static_cast<int>(members_.size());
  if (hello.size != size && size > 0) {
    const auto there = std::ranges::find_if(members_, &Member::has_come);
    const std::string first = there != members_.end() ? who(*there) : std::string("this meeting");
    fail(Status::invalid_argument(concat("world size differs at ", options_.name, ": ", first, " says ", size,
                                         ", rank ", hello.rank, " (", process_of(hello), ") says ",
                                         hello.size)));
    send_now(visitor.socket.get(), failure_);
    return false;
  }
  if (hello.rank >= 0 && hello.rank < size) return true;
  send_now(visitor.socket.get(),
           Status::invalid_argument(concat("rank ", hello.rank, " of ", hello.size, " at ", options_.name,
                                           " (there is no such rank)")));
  return false;
}

void Hub::admit(Visitor& visitor) {
  if (!failure_.is_ok()) {
    const auto rank = static_cast<std::size_t>(std::max(visitor.hello.rank, 0));
    if (rank < members_.size()) members_[rank].has_come = true;
    return send_now(visitor.socket.get(), failure_);
  }
  if (!admit_size(visitor)) return;
  Member& member = members_[static_cast<std::size_t>(visitor.hello.rank)];
  if (member.has_come) {
    const Status taken = Status::invalid_argument(concat(
        "rank ", visitor.hello.rank, " of ", options_.name, " is claimed by ", process_of(member.hello),
        " as well as by ", process_of(visitor.hello), ". Were two processes started with the same rank?"));
    log(LogLevel::warn, taken.message());
    return send_now(visitor.socket.get(), taken);
  }
  member.socket = std::move(visitor.socket);
  member.hello = visitor.hello;
  member.from = visitor.from;
  member.has_come = true;
  if (members_with([](const Member& m) { return !m.has_come; }) == 0) form();
}

void Hub::form() {
  std::vector<RosterEntry> roster(members_.size());
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    const Member& member = members_[rank];
    roster[rank].pid = member.hello.pid;
    roster[rank].host_tag = member.hello.host_tag;
    roster[rank].address_bytes =
        static_cast<std::uint32_t>(std::min(std::size_t{member.from.length}, roster[rank].address.size()));
    std::memcpy(roster[rank].address.data(), &member.from.address, roster[rank].address_bytes);
  }
  FrameHeader header;
  header.kind = FrameKind::welcome;
  const auto frame = make_frame(header, std::as_bytes(std::span(roster)));
  has_formed_ = true;
  is_flushed_ = false;
  for (Member& member : members_) member.outbox.push(frame);
  doorman_.close();
}

void Hub::hear(Member& member) {
  while (member.socket.is_open()) {
    const IoState state = member.reader.receive(member.socket.get());
    if (state == IoState::would_block) return;
    if (state == IoState::closed) return lose(member);
    if (state == IoState::failed) {
      member.socket.reset();
      return fail(Status::corrupt_data(concat(
          who(member), " sent bytes that are no frame of ours while the ranks met at ", options_.name)));
    }
    accept_frame(member);
  }
}

void Hub::accept_frame(Member& member) {
  const FrameHeader header = member.reader.header();
  Bytes payload = member.reader.take();
  if (!failure_.is_ok()) return;
  if (header.kind == FrameKind::give_up) return fail(timed_out(header.sequence));
  if (!has_formed_ || header.kind != FrameKind::contribution || header.sequence != sequence_ ||
      member.has_contributed) {
    return fail(Status::corrupt_data(
        concat(who(member), " sent a frame that is not due while the ranks met at ", options_.name)));
  }
  member.contribution = std::move(payload);
  member.has_contributed = true;
}

void Hub::lose(Member& member) {
  member.socket.reset();
  member.outbox.clear();
  // Whoever leaves after the last all_gather owes nothing; the next one, if there is one, will miss it.
  if (failure_.is_ok() && !has_formed_) {
    fail(Status::peer_lost(concat(who(member), " died or left while the ranks met at ", options_.name)));
  }
}

void Hub::answer_if_complete() {
  if (!has_formed_ || !failure_.is_ok()) return;
  const auto size = static_cast<int>(members_.size());
  const int contributed = members_with([](const Member& m) { return m.has_contributed; });
  if (contributed == 0) return;
  for (const Member& member : members_) {
    if (member.has_contributed || member.socket.is_open()) continue;
    return fail(Status::peer_lost(concat(who(member), " died or left before all_gather #", sequence_,
                                         " of the meeting at ", options_.name)));
  }
  if (contributed < size) return;
  Bytes all;
  for (Member& member : members_) {
    const auto length = static_cast<std::uint32_t>(member.contribution.size());
    const auto head = std::as_bytes(std::span(&length, 1));
    all.insert(all.end(), head.begin(), head.end());
    all.insert(all.end(), member.contribution.begin(), member.contribution.end());
    member.contribution = {};
    member.has_contributed = false;
  }
  FrameHeader header;
  header.kind = FrameKind::gathered;
  header.sequence = sequence_++;
  const auto frame = make_frame(header, all);
  is_flushed_ = false;  // before anybody can have it: see HubThreads::finish()
  for (Member& member : members_) {
    if (member.socket.is_open()) member.outbox.push(frame);
  }
}

void Hub::flush() {
  for (Member& member : members_) {
    if (!member.socket.is_open() || member.outbox.is_empty()) continue;
    if (member.outbox.flush(member.socket.get()) == IoState::closed) lose(member);
  }
  is_flushed_ = members_with([](const Member& m) { return !m.outbox.is_empty(); }) == 0;
}

void Hub::fail(Status reason) {
  if (!failure_.is_ok()) return;
  failure_ = std::move(reason);
  linger_ = Deadline::after(kLinger);
  const auto frame = reason_frame(failure_);
  is_flushed_ = false;
  for (Member& member : members_) {
    if (member.socket.is_open()) member.outbox.push(frame);
  }
}

Status Hub::timed_out(std::int64_t waited_ms) const {
  std::vector<int> missing;
  std::vector<int> there;
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    const bool is_there = has_formed_ ? members_[rank].has_contributed : members_[rank].has_come;
    (is_there ? there : missing).push_back(static_cast<int>(rank));
  }
  const auto size = members_.size();
  if (members_.empty()) {
    return Status::timeout(concat("no rank has come to ", options_.name, " within ", waited_ms, " ms"));
  }
  if (has_formed_) {
    return Status::timeout(concat(list_ranks(missing), " of ", size, missing.size() == 1 ? " has" : " have",
                                  " not come to all_gather #", sequence_, " of the meeting within ",
                                  waited_ms, " ms"));
  }
  return Status::timeout(concat(list_ranks(missing), " of ", size, missing.size() == 1 ? " has" : " have",
                                " not come to ", options_.name, " within ", waited_ms, " ms (",
                                list_ranks(there), there.size() == 1 ? " is" : " are", " there)"));
}

}  // namespace ringcomm::inline v0::bootstrap
