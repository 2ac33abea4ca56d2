// SPDX-License-Identifier: Apache-2.0
// A group that keeps a copy of each socket it hands out, so that a test can write into it, and that can
// falsify what one rank says.
#pragma once

#include <fcntl.h>

#include <map>
#include <memory>
#include <utility>

#include "bootstrap/unix_socket.hpp"
#include "ringcomm/bootstrap/bootstrap.hpp"

namespace ringcomm::test {

class SpyBootstrap final : public Bootstrap {
 public:
  explicit SpyBootstrap(std::unique_ptr<Bootstrap> inner) : inner_(std::move(inner)) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  GroupKind kind() const override { return inner_->kind(); }
  Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine,
                                                         Deadline deadline) override {
    ++gathers;
    auto all = inner_->all_gather(mine, deadline);
    if (all.is_ok() && falsify) falsify(gathers, all.value());
    return all;
  }
  Result<int> take_socket(int peer) override {
    auto socket = inner_->take_socket(peer);
    if (socket.is_ok()) copies[peer].reset(::fcntl(socket.value(), F_DUPFD_CLOEXEC, 0));
    return socket;
  }
  Result<int> peer_pid(int peer) const override { return inner_->peer_pid(peer); }
  Result<std::shared_ptr<void>> shared_object(std::string_view key,
                                              const std::function<std::shared_ptr<void>()>& make) override {
    return inner_->shared_object(key, make);
  }

  std::map<int, bootstrap::UniqueFd> copies;
  std::function<void(int gather, std::vector<std::vector<std::byte>>& all)> falsify;
  int gathers = 0;

 private:
  std::unique_ptr<Bootstrap> inner_;
};

}  // namespace ringcomm::test
