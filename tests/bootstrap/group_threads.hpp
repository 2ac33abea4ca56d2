// SPDX-License-Identifier: Apache-2.0
// Socket groups between threads of one process, for tests: sockets are descriptors, whoever holds them.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ringcomm/bootstrap/bootstrap.hpp"

namespace ringcomm::test {

/// Runs `body` once per rank, each in a thread of its own.
inline void run_ranks(int ranks, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(body, rank);
  for (std::thread& thread : threads) thread.join();
}

inline std::vector<std::unique_ptr<Bootstrap>> socket_groups(int ranks) {
  auto mesh = ForkedMesh::create(ranks);
  EXPECT_TRUE(mesh.is_ok()) << mesh.status().to_string();
  std::vector<std::unique_ptr<Bootstrap>> groups;
  for (int rank = 0; rank < ranks; ++rank) {
    auto group = mesh->take(rank);
    EXPECT_TRUE(group.is_ok()) << group.status().to_string();
    groups.push_back(std::move(group).value());
  }
  return groups;
}

inline std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

/// What rank r contributes in tests: its length and content differ by rank.
inline std::vector<std::byte> contribution(int rank, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    data[i] = static_cast<std::byte>((i * 31 + static_cast<std::size_t>(rank) * 7 + 1) & 0xFF);
  }
  return data;
}

}  // namespace ringcomm::test
