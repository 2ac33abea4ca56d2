// SPDX-License-Identifier: Apache-2.0
// A few threads of one rank that share its compute (not an OpenMP pool: those fight with pinning and
// sanitizers).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "ringcomm/core/placement.hpp"
#include "ringcomm/core/result.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

class WorkerTeam {
 public:
  /// `workers` >= 1 counts the caller: a team of 1 starts no thread. Worker i >= 1 is bound to
  /// placement.cpus[i % size]; worker 0 is the caller of for_each(), who binds itself.
  static Result<std::unique_ptr<WorkerTeam>> create(int workers, const Placement& placement);
  virtual ~WorkerTeam() = default;
  virtual int size() const = 0;
  /// Calls `body(index, worker)` once for each index in [0, count), spread dynamically over the workers, the
  /// caller among them; returns when all are done. One caller at a time, never from `body` itself. `worker`
  /// is in [0, size()), and no two bodies run under one number at once. What `body` throws ends the round
  /// early and comes out here. In a forked child the caller does all of it.
  virtual void for_each(std::int64_t count,
                        const std::function<void(std::int64_t index, int worker)>& body) = 0;
};

/// Binds the calling thread; nothing happens for an empty placement. not_available if the system refuses.
Status bind_this_thread(const Placement& placement);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
