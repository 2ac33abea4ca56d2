// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/core/call_site.hpp"

#include <array>
#include <atomic>
#include <functional>
#include <new>
#include <string>

namespace ringcomm::inline v0 {
namespace {

thread_local std::string_view current_site;

constexpr std::string_view kTooMany = "(more than 1024 call sites)";

/// Names that were ever used: an open-addressed table that only grows, read without a lock. Nothing is given
/// back, also not at exit: recorders compare and keep addresses.
class Names {
 public:
  std::string_view keep(std::string_view name) noexcept {
    if (name.empty()) return {};
    name = name.substr(0, CallSite::kNameMax);
    const std::size_t start = std::hash<std::string_view>()(name);
    for (std::size_t probe = 0; probe < kPlaces; ++probe) {
      std::atomic<const std::string*>& place = places_[(start + probe) % kPlaces];
      const std::string* there = place.load(std::memory_order_acquire);
      if (there == nullptr) there = put(place, name);
      if (there == nullptr) return kTooMany;
      if (*there == name) return *there;
    }
    return kTooMany;
  }

 private:
  static constexpr std::size_t kPlaces = 2 * CallSite::kNamesMax;

  /// What is in `place` now; null when there is no room.
  const std::string* put(std::atomic<const std::string*>& place, std::string_view name) noexcept {
    if (used_.fetch_add(1, std::memory_order_relaxed) >= CallSite::kNamesMax) {
      used_.fetch_sub(1, std::memory_order_relaxed);
      return nullptr;
    }
    try {
      const auto* const made = new std::string(name);
      const std::string* there = nullptr;
      if (place.compare_exchange_strong(there, made, std::memory_order_acq_rel)) return made;
      delete made;
      used_.fetch_sub(1, std::memory_order_relaxed);
      return there;
    } catch (const std::bad_alloc&) {
      used_.fetch_sub(1, std::memory_order_relaxed);
      return nullptr;
    }
  }

  std::array<std::atomic<const std::string*>, kPlaces> places_{};
  std::atomic<std::size_t> used_{0};
};

Names names;

}  // namespace

CallSite::CallSite(std::string_view name) noexcept : before_(current_site) {
  current_site = names.keep(name);
}

CallSite::~CallSite() { current_site = before_; }

std::string_view CallSite::current() noexcept { return current_site; }

CallSite::Default::Default(const char* name) noexcept : is_set_(current_site.empty()) {
  if (is_set_) current_site = name;
}

CallSite::Default::~Default() {
  if (is_set_) current_site = {};
}

}  // namespace ringcomm::inline v0
