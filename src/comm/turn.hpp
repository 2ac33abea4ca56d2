// SPDX-License-Identifier: Apache-2.0
// The rule "one thread at a time per communicator", checked where NDEBUG is not defined.
#pragma once

#include <atomic>

namespace ringcomm::inline v0::comm {

class Turn {
 public:
#ifdef NDEBUG
  bool enter() { return true; }
  void leave() {}
#else
  /// False when another thread is inside; that thread is not disturbed. Nests within one thread.
  bool enter() {
    const void* expected = nullptr;
    if (!owner_.compare_exchange_strong(expected, self(), std::memory_order_acquire) && expected != self())
      return false;
    ++depth_;
    return true;
  }
  void leave() {
    if (--depth_ == 0) owner_.store(nullptr, std::memory_order_release);
  }

 private:
  static const void* self() {
    thread_local const char here = 0;
    return &here;
  }
  std::atomic<const void*> owner_{nullptr};
  int depth_ = 0;  ///< touched by the owner only
#endif
};

}  // namespace ringcomm::inline v0::comm
