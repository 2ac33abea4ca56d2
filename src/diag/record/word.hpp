// SPDX-License-Identifier: Apache-2.0
// Words of a record that another thread or process reads while they are written: always whole, and in order
// where a release says so.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "ringcomm/diag/record_format.hpp"

namespace ringcomm::inline v0::diag {

template <class T>
void put(T& word, std::type_identity_t<T> value) {
  std::atomic_ref<T>(word).store(value, std::memory_order_relaxed);
}
/// After everything that this thread has put before.
template <class T>
void put_last(T& word, std::type_identity_t<T> value) {
  std::atomic_ref<T>(word).store(value, std::memory_order_release);
}
template <class T>
T get(T& word) {
  return std::atomic_ref<T>(word).load(std::memory_order_relaxed);
}
/// Before everything that this thread gets after it.
template <class T>
T get_first(T& word) {
  return std::atomic_ref<T>(word).load(std::memory_order_acquire);
}
template <class T>
T add(T& word, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(word).fetch_add(value, std::memory_order_relaxed);
}

/// A word of an entry that was seen to have this number. A thread may have stood still since then for a whole
/// turn of the ring: then what it writes is a newer entry's and is taken back.
template <class T>
void put_state(RecordEntry& entry, std::uint64_t number, T& word, std::type_identity_t<T> value) {
  put_last(word, value);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (get(entry.number) != number) [[unlikely]]
    std::atomic_ref<T>(word).compare_exchange_strong(value, T{}, std::memory_order_relaxed);
}

}  // namespace ringcomm::inline v0::diag
