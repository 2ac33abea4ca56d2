// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <utility>

#include "bootstrap/socket_group.hpp"
#include "core/try.hpp"
#include "ringcomm/bootstrap/bootstrap.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

constexpr int kRanksMax = 1024;

void close_all(std::vector<int>& sockets) {
  for (int& socket : sockets) bootstrap::UniqueFd(std::exchange(socket, -1)).reset();
}

}  // namespace

Result<ForkedMesh> ForkedMesh::create(int ranks) {
  if (ranks < 1 || ranks > kRanksMax) {
    return Status::invalid_argument(concat("a mesh of ", ranks, " ranks (1 to ", kRanksMax, ")"));
  }
  ForkedMesh mesh;
  mesh.ranks_ = ranks;
  mesh.creator_pid_ = ::getpid();
  const auto n = static_cast<std::size_t>(ranks);
  mesh.sockets_.assign(n * n, -1);
  mesh.taken_.assign(n, false);
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = a + 1; b < n; ++b) {
      RINGCOMM_TRY_ASSIGN(auto ends, bootstrap::make_socket_pair());
      mesh.sockets_[a * n + b] = ends.first.release();
      mesh.sockets_[b * n + a] = ends.second.release();
    }
  }
  return mesh;
}

ForkedMesh::ForkedMesh(ForkedMesh&& other) noexcept { *this = std::move(other); }

ForkedMesh& ForkedMesh::operator=(ForkedMesh&& other) noexcept {
  if (this == &other) return *this;
  close_all(sockets_);
  ranks_ = std::exchange(other.ranks_, 0);
  creator_pid_ = other.creator_pid_;
  sockets_ = std::exchange(other.sockets_, {});
  taken_ = std::exchange(other.taken_, {});
  return *this;
}

ForkedMesh::~ForkedMesh() { close_all(sockets_); }

Result<std::unique_ptr<Bootstrap>> ForkedMesh::take(int rank) {
  if (rank < 0 || rank >= ranks_) {
    return Status::invalid_argument(concat("rank ", rank, " of a mesh of ", ranks_, " ranks"));
  }
  const auto n = static_cast<std::size_t>(ranks_);
  const std::size_t row = static_cast<std::size_t>(rank) * n;
  if (taken_[static_cast<std::size_t>(rank)]) {
    return Status::invalid_argument(concat("rank ", rank, " was taken before in this process"));
  }
  taken_[static_cast<std::size_t>(rank)] = true;
  std::vector<bootstrap::UniqueFd> sockets(n);
  for (std::size_t peer = 0; peer < n; ++peer) {
    sockets[peer].reset(std::exchange(sockets_[row + peer], -1));
  }
  // Only in a child: the creator may still fork, or take further ranks for its own threads.
  if (::getpid() != creator_pid_) {
    close_all(sockets_);
    taken_.assign(n, true);
  }
  RINGCOMM_TRY_ASSIGN(auto group, bootstrap::SocketGroup::create(rank, std::move(sockets)));
  return std::unique_ptr<Bootstrap>(std::move(group));
}

}  // namespace ringcomm::inline v0
