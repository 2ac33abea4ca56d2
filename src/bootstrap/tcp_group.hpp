// SPDX-License-Identifier: Apache-2.0
// A rank's handle on a group that meets at a hub over TCP.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bootstrap/hub.hpp"
#include "bootstrap/interfaces.hpp"
#include "bootstrap/reach.hpp"
#include "ringcomm/bootstrap/bootstrap.hpp"

namespace ringcomm::inline v0::bootstrap {

/// The first failure stays. Frames come from a hub that has proved the secret.
class TcpGroup final : public Bootstrap {
 public:
  /// Waits until all have met. `own_hub`: the hub runs in this process, or none. `wanted`: by name.
  static Result<std::unique_ptr<TcpGroup>> create(Reached reached, int rank, int size, std::string name,
                                                  std::shared_ptr<Hub> own_hub,
                                                  const std::optional<Interface>& wanted, Deadline deadline);
  ~TcpGroup() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  GroupKind kind() const override { return GroupKind::network; }
  std::string_view interface_name() const override { return interface_; }
  Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine,
                                                         Deadline deadline) override;
  Result<int> take_socket(int peer) override;
  Result<int> peer_pid(int peer) const override;
  Result<std::shared_ptr<void>> shared_object(std::string_view key,
                                              const std::function<std::shared_ptr<void>()>& make) override;

 private:
  TcpGroup(Reached reached, int rank, int size, std::string name, std::shared_ptr<Hub> own_hub);
  Result<Bytes> receive(FrameKind due, Deadline deadline);
  Status send(const std::shared_ptr<const Bytes>& frame, Deadline deadline);
  /// The hub knows who is missing: asks it, and waits for a moment beyond the deadline.
  Status ask_who_is_missing(std::int64_t waited_ms);
  void choose_interface(const std::vector<RosterEntry>& roster, const std::optional<Interface>& wanted);
  Status fail(Status reason);

  UniqueFd socket_;
  Endpoint where_;
  int rank_;
  int size_;
  std::string name_;
  std::shared_ptr<Hub> own_hub_;
  std::string interface_;
  std::uint32_t sequence_ = 0;
  FrameReader reader_;
  Status failure_;
};

/// Cuts an answer into everybody's part; nothing if it is none for `size` ranks.
std::optional<std::vector<Bytes>> split_gathered(std::span<const std::byte> payload, int size);

}  // namespace ringcomm::inline v0::bootstrap
