// SPDX-License-Identifier: Apache-2.0
#include "transport/message/open.hpp"

#include <string>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "transport/common/channel_key.hpp"
#include "transport/message/channel.hpp"
#include "transport/message/turn.hpp"

namespace ringcomm::inline v0::transport::message {
namespace {

Status explain_missing(Core& core, const MessageChannel& channel, const ChannelKey& key,
                       std::int64_t waited_ns) {
  std::string missing;
  int culprit = -1;
  for (std::size_t i = 0; i < key.members.size(); ++i) {
    if (channel.has_opened(i)) continue;
    if (culprit < 0) culprit = key.members[i];
    missing += concat(missing.empty() ? "" : ", ", key.members[i]);
  }
  return core.fail(
      Status::timeout(concat("open_channel: of ", key.members.size(), " members, rank ", missing,
                             " did not open the channel (ordinal ", key.ordinal, ") within ",
                             waited_ns / 1'000'000, " ms. Is the member list the same everywhere?")),
      culprit);
}

/// Takes over what the members have told so far; the first that is missing and has left, -2 if none is
/// missing, -1 otherwise.
int missing_member(Core& core, MessageChannel& channel, const ChannelKey& key, const Core::OpeningId& id) {
  for (const Core::OpenNote& note : core.notes_of(id)) channel.connect(note.rank, note.channel);
  bool is_complete = true;
  for (std::size_t i = 0; i < key.members.size(); ++i) {
    if (channel.has_opened(i)) continue;
    is_complete = false;
    if (core.has_left(key.members[i])) return key.members[i];
  }
  return is_complete ? -2 : -1;
}

Status meet(Core& core, MessageChannel& channel, const ChannelKey& key, Deadline deadline) {
  Turn turn(core);
  const Core::OpeningId id = core.next_opening(hash_of(key));
  channel.set_number(core.add(channel));
  channel.connect(core.rank(), channel.number());
  const MessageWriter writer =
      MessageWriter({.kind = MessageKind::open})
          .add(OpenBody{.key_hash = id.first, .generation = id.second, .channel = channel.number()});
  for (const int member : key.members) {
    if (member != core.rank()) RINGCOMM_TRY(core.send(member, writer.bytes()));
  }
  const std::int64_t started_ns = now_ns();
  for (;;) {
    const int missing = missing_member(core, channel, key, id);
    if (missing == -2) break;
    if (core.has_failed()) return core.failure();
    if (missing >= 0) {
      return core.fail(
          Status::peer_lost(concat("rank ", missing, " has left (its communicator was destroyed) while rank ",
                                   core.rank(), " waited for it to open a channel")),
          missing);
    }
    if (deadline.is_expired()) return explain_missing(core, channel, key, now_ns() - started_ns);
    (void)turn.step(deadline);
  }
  core.forget_notes(id);
  return {};
}

}  // namespace

Result<std::unique_ptr<TransportChannel>> open_channel(const std::shared_ptr<Core>& core,
                                                       const ChannelKey& key, Deadline deadline) {
  RINGCOMM_TRY(core->failure());
  RINGCOMM_TRY(check_channel_key(key, core->rank(), core->size()));
  auto channel = std::make_unique<MessageChannel>(core, key.members);
  RINGCOMM_TRY(meet(*core, *channel, key, deadline));
  return std::unique_ptr<TransportChannel>(std::move(channel));
}

}  // namespace ringcomm::inline v0::transport::message
