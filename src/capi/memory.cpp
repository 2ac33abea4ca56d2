// SPDX-License-Identifier: Apache-2.0
#include "capi/memory.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "capi/handles.hpp"
#include "core/try.hpp"

namespace ringcomm::inline v0::capi {
namespace {

/// Windows by their first byte. They outlive communicators, so that they are kept beside them.
struct Windows {
  std::mutex mutex;
  std::map<std::uintptr_t, Window> by_address;
};

// Never destroyed: other objects of static life may free memory at exit.
Windows& windows() {
  static auto* const all = new Windows;
  return *all;
}

std::uintptr_t number_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

Status allocate(ringcommComm& comm, void** ptr, std::size_t bytes) {
  RINGCOMM_TRY(not_null(ptr, "ptr"));
  *ptr = nullptr;
  RINGCOMM_TRY_ASSIGN(Window made, comm.communicator.allocate(bytes));
  void* const address = made.data();
  Windows& all = windows();
  const std::lock_guard lock(all.mutex);
  all.by_address.emplace(number_of(address), std::move(made));
  *ptr = address;
  return {};
}

Status free_memory(void* ptr) {
  if (ptr == nullptr) return {};
  Window gone;  // unmapped without the lock
  Windows& all = windows();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_address.find(number_of(ptr));
  if (found == all.by_address.end())
    return Status::invalid_argument("ptr is not the beginning of memory that ringcommMemAlloc returned");
  gone = std::move(found->second);
  all.by_address.erase(found);
  return {};
}

}  // namespace

std::shared_ptr<Segment> window_segment(const void* address, std::size_t bytes) {
  Windows& all = windows();
  const std::lock_guard lock(all.mutex);
  auto after = all.by_address.upper_bound(number_of(address));
  if (after == all.by_address.begin()) return nullptr;
  const auto& [first, window] = *--after;
  const std::size_t offset = number_of(address) - first;
  if (offset > window.bytes() || bytes > window.bytes() - offset) return nullptr;
  return window.segment();
}

}  // namespace ringcomm::inline v0::capi

namespace capi = ringcomm::capi;

extern "C" {

ringcommResult_t ringcommMemAlloc(ringcommComm_t comm, void** ptr, size_t bytes) {
  return capi::run_on("ringcommMemAlloc", comm,
                      [&](ringcommComm& handle) { return capi::allocate(handle, ptr, bytes); });
}

ringcommResult_t ringcommMemFree(void* ptr) {
  return capi::run("ringcommMemFree", [&] { return capi::free_memory(ptr); });
}
}
