// SPDX-License-Identifier: Apache-2.0
// Names what the caller does, so that a hang is told as "layer 3 forward" and not as the 417th all-gather.
#pragma once

#include <cstddef>
#include <string_view>

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// While it lives, operations that this thread starts carry its name in the flight recorder. Scopes nest; the
/// innermost one counts. Names are kept for the life of the process: use few (a layer, not a step number).
///
///     const CallSite site("layer 3 forward");
class CallSite {
 public:
  static constexpr std::size_t kNameMax = 63;     ///< bytes; longer names are cut
  static constexpr std::size_t kNamesMax = 1024;  ///< later ones are all called "(more than 1024 call sites)"

  explicit CallSite(std::string_view name) noexcept;
  ~CallSite();
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;
  /// Of this thread; "" outside every scope. Stays valid: equal names have one address.
  static std::string_view current() noexcept;

  /// For layers of this library: counts only where the caller has set none. `name` is a literal.
  struct Default {
    explicit Default(const char* name) noexcept;
    ~Default();
    Default(const Default&) = delete;
    Default& operator=(const Default&) = delete;

   private:
    bool is_set_;
  };

 private:
  std::string_view before_;
};

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
