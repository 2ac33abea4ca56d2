// SPDX-License-Identifier: Apache-2.0
// A group over the caller's own all-gather: lengths first, then everybody's bytes padded to the longest.
#include <algorithm>
#include <cstring>
#include <utility>

#include "bootstrap/frame.hpp"
#include "bootstrap/network_meeting.hpp"
#include "core/try.hpp"
#include "ringcomm/bootstrap/bootstrap.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace bootstrap {
namespace {

/// What every rank says about itself at the start.
struct Card {
  std::uint32_t magic = 0x31434352;  // "RCC1"
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::uint32_t reserved = 0;
};

class CallbackGroup final : public Bootstrap {
 public:
  CallbackGroup(int rank, int size, AllGatherCallback gather)
      : rank_(rank), size_(size), gather_(std::move(gather)) {}

  Status introduce(Deadline deadline);
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  GroupKind kind() const override { return GroupKind::network; }
  Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine,
                                                         Deadline deadline) override;
  Result<int> take_socket(int peer) override {
    return Status::not_available(concat("ranks that met by a callback have no Unix socket to rank ", peer));
  }
  Result<int> peer_pid(int peer) const override {
    return Status::not_available(
        concat("the process id of rank ", peer, " means nothing here (it may be on another host)"));
  }
  Result<std::shared_ptr<void>> shared_object(std::string_view key,
                                              const std::function<std::shared_ptr<void>()>&) override {
    return Status::not_available(concat("processes share no object \"", key, "\""));
  }

 private:
  Status gather(std::span<const std::byte> mine, std::span<std::byte> all, Deadline deadline) {
    failure_ = gather_(mine, all, deadline);
    if (!failure_.is_ok()) {
      failure_ = Status(failure_.code(),
                        concat("the all-gather callback of rank ", rank_, " failed: ", failure_.message()));
    }
    return failure_;
  }

  int rank_;
  int size_;
  AllGatherCallback gather_;
  Status failure_;
};

Status CallbackGroup::introduce(Deadline deadline) {
  Card mine;
  mine.rank = rank_;
  mine.size = size_;
  Card none;
  none.magic = 0;
  std::vector<Card> all(static_cast<std::size_t>(size_), none);
  RINGCOMM_TRY(gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)), deadline));
  for (int position = 0; position < size_; ++position) {
    const Card& card = all[static_cast<std::size_t>(position)];
    if (card.magic != mine.magic) {
      return Status::corrupt_data(concat("the all-gather callback of rank ", rank_,
                                         " gave no bytes of ringcomm at ", "the place of rank ", position));
    }
    if (card.size != size_) {
      return Status::invalid_argument(concat("world size differs: rank ", rank_, " says ", size_, ", rank ",
                                             card.rank, " says ", card.size));
    }
    if (card.rank != position) {
      return Status::invalid_argument(concat("the all-gather callback of rank ", rank_, " put rank ",
                                             card.rank, " at the place of rank ", position,
                                             " (rank order is needed)"));
    }
  }
  return {};
}

Result<std::vector<std::vector<std::byte>>> CallbackGroup::all_gather(std::span<const std::byte> mine,
                                                                      Deadline deadline) {
  RINGCOMM_TRY(failure_);
  const std::uint64_t length = mine.size();
  std::vector<std::uint64_t> lengths(static_cast<std::size_t>(size_));
  RINGCOMM_TRY(
      gather(std::as_bytes(std::span(&length, 1)), std::as_writable_bytes(std::span(lengths)), deadline));
  // Judged by everybody alike, so that all stop here or none.
  for (std::size_t rank = 0; rank < lengths.size(); ++rank) {
    if (lengths[rank] <= kContributionBytesMax) continue;
    return Status::invalid_argument(concat("all_gather of ", lengths[rank], " bytes by rank ", rank, " (",
                                           kContributionBytesMax, " at most)"));
  }
  const std::size_t longest = *std::ranges::max_element(lengths);
  std::vector<std::vector<std::byte>> parts(lengths.size());
  if (longest == 0) return parts;
  Bytes padded(longest);
  std::ranges::copy(mine, padded.begin());
  Bytes all(longest * lengths.size());
  RINGCOMM_TRY(gather(padded, all, deadline));
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(rank * longest);
    parts[rank].assign(first, first + static_cast<std::ptrdiff_t>(lengths[rank]));
  }
  return parts;
}

}  // namespace
}  // namespace bootstrap

Result<std::unique_ptr<Bootstrap>> bootstrap_callback(int rank, int size, AllGatherCallback all_gather,
                                                      Deadline deadline) {
  RINGCOMM_TRY(bootstrap::check_rank(rank, size));
  if (!all_gather) return Status::invalid_argument("bootstrap_callback got no callback (an empty function)");
  auto group = std::make_unique<bootstrap::CallbackGroup>(rank, size, std::move(all_gather));
  RINGCOMM_TRY(group->introduce(deadline));
  return join_local(std::move(group), deadline);
}

}  // namespace ringcomm::inline v0
