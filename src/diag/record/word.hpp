// SPDX-License-Identifier: Apache-2.0
// Words of a record that another thread or process reads while they are written: always whole, and in order
// where a release says so.
#pragma once

#include <atomic>
#include <type_traits>

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
template <class T>
T add(T& word, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(word).fetch_add(value, std::memory_order_relaxed);
}

}  // namespace ringcomm::inline v0::diag
