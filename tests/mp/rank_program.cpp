// SPDX-License-Identifier: Apache-2.0
// The smallest program of several ranks: meets by the environment, barrier, all_gather, and compares. Ends
// with 0 when all is well and prints "rank R of N: path P"; arguments: the path that is expected to every
// peer, if any.
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/ringcomm.hpp"

namespace {

namespace rc = ringcomm;

int complain(int rank, const std::string& text) {
  std::fprintf(stderr, "rank %d: %s\n", rank, text.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  auto created = rc::Communicator::from_environment();
  if (!created.is_ok()) return complain(-1, created.status().to_string());
  rc::Communicator comm = std::move(created).value();
  rc::Channel& channel = comm.channel();
  const rc::Status met = rc::barrier(channel).status();
  if (!met.is_ok()) return complain(comm.rank(), met.to_string());
  constexpr std::int64_t kEach = 1001;
  std::vector<float> mine(kEach, static_cast<float>(comm.rank() + 1));
  std::vector<float> all(static_cast<std::size_t>(kEach * comm.size()));
  const auto view = [](std::vector<float>& values) {
    return rc::TensorView::contiguous(values.data(), rc::DType::float32,
                                      {static_cast<std::int64_t>(values.size())});
  };
  const rc::Status gathered = rc::all_gather(channel, view(mine), view(all)).status();
  if (!gathered.is_ok()) return complain(comm.rank(), gathered.to_string());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != static_cast<float>(i / kEach + 1))
      return complain(comm.rank(), "wrong element " + std::to_string(i));
  }
  std::string_view path = "self";
  for (int peer = 0; peer < comm.size(); ++peer) {
    if (peer == comm.rank()) continue;
    path = comm.path_name(peer);
    if (argc > 1 && path != argv[1]) return complain(comm.rank(), "path " + std::string(path));
  }
  std::printf("rank %d of %d: path %s\n", comm.rank(), comm.size(), std::string(path).c_str());
  return 0;
}
