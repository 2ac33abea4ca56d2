// SPDX-License-Identifier: Apache-2.0
#include "comm/thread_groups.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "core/try.hpp"

namespace ringcomm::inline v0::comm {
namespace {

struct Forming {
  std::mutex mutex;
  std::map<std::uint64_t, std::vector<std::unique_ptr<Bootstrap>>> groups;  ///< handles not yet taken
};

// Never destroyed: ranks may still form groups while the process ends.
Forming& forming() {
  static auto* const table = new Forming;
  return *table;
}

}  // namespace

std::uint64_t new_group_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

Result<std::unique_ptr<Bootstrap>> join_thread_group(std::uint64_t number, int rank, int size) {
  const std::lock_guard lock(forming().mutex);
  auto& groups = forming().groups;
  auto found = groups.find(number);
  if (found == groups.end()) {
    RINGCOMM_TRY_ASSIGN(auto handles, bootstrap_threads(size));
    found = groups.emplace(number, std::move(handles)).first;
  }
  std::unique_ptr<Bootstrap> own = std::move(found->second[static_cast<std::size_t>(rank)]);
  if (std::ranges::all_of(found->second, [](const auto& handle) { return handle == nullptr; }))
    groups.erase(found);
  if (own == nullptr) return Status::internal("a rank took its place in a group of threads twice");
  return own;
}

}  // namespace ringcomm::inline v0::comm
