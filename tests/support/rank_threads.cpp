// SPDX-License-Identifier: Apache-2.0
#include "support/rank_threads.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace ringcomm::testing_support {

void run_rank_threads(int ranks, const std::function<void(Bootstrap&)>& body, std::chrono::seconds limit) {
  auto handles = check(bootstrap_threads(ranks));
  std::mutex mutex;
  std::condition_variable finished;
  std::vector<bool> is_done(handles.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < handles.size(); ++r) {
    threads.emplace_back([&, r] {
      body(*handles[r]);
      const std::lock_guard lock(mutex);
      is_done[r] = true;
      finished.notify_all();
    });
  }
  {
    std::unique_lock lock(mutex);
    const auto all_done = [&] { return std::find(is_done.begin(), is_done.end(), false) == is_done.end(); };
    if (!finished.wait_for(lock, limit, all_done)) {
      for (std::size_t r = 0; r < is_done.size(); ++r) {
        if (!is_done[r])
          std::fprintf(stderr, "rank %zu still runs after %ld s\n", r, static_cast<long>(limit.count()));
      }
      std::abort();
    }
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace ringcomm::testing_support
