// SPDX-License-Identifier: Apache-2.0
// What the cases of the collectives suite share: where tensors lie, what is in them, and how a case fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/try.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/comm/channel.hpp"
#include "ringcomm/comm/communicator.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/device/device.hpp"

namespace ringcomm::conformance {

/// window: peers may read it in place. shifted: private memory at an odd address. strided: every second
/// element of private memory.
enum class Place : std::uint8_t { window, shifted, strided };
inline constexpr Place kPlaces[] = {Place::window, Place::shifted, Place::strided};

inline constexpr DType kNumbers[] = {DType::int8,    DType::uint8,   DType::int32,   DType::uint32,
                                     DType::int64,   DType::uint64,  DType::float16, DType::float32,
                                     DType::float64, DType::bfloat16};

/// One rank's view of the run: the same sequence of cases on all ranks.
class Suite {
 public:
  static Result<Suite> create(Communicator& comm, std::uint32_t seed, std::string only, int* cases);

  Communicator& comm() const { return *comm_; }
  Channel& channel() const { return comm_->channel(); }
  int rank() const { return comm_->rank(); }
  int ranks() const { return comm_->size(); }

  /// Runs `body` (returning Status) as a case, after a random pause, so that ranks meet in every order.
  template <class Body>
  Status run(const std::string& name, Body&& body) {
    if (!only_.empty() && name.rfind(only_, 0) != 0) return {};
    if (cases_ != nullptr) ++*cases_;
    pause();
    const Status status = body();
    if (status.is_ok()) return {};
    return Status(status.code(),
                  concat(name, ", ", ranks(), " ranks, rank ", rank(), ": ", status.message()));
  }

  /// A tensor of `count` elements; the memory is valid until the next tensor of the same `slot` (0 to 3).
  /// Bytes around it are guards.
  TensorView tensor(int slot, DType dtype, std::int64_t count, Place place);
  /// True if nothing but the elements of `view` has been written.
  bool are_guards_whole(int slot, const TensorView& view) const;

  /// Blocking, or in the suite's own stream and waited for.
  CallOptions options(bool in_stream) const;
  static Status finish(const Result<Work>& work);

 private:
  static constexpr std::size_t kSlots = 4;
  static constexpr std::size_t kSlotBytes = std::size_t{1} << 17;
  static constexpr std::size_t kGuardBytes = 64;
  void pause();
  std::byte* base(int slot, Place place) const;

  Communicator* comm_ = nullptr;
  std::mt19937 random_;
  std::string only_;
  int* cases_ = nullptr;
  Window window_;
  std::vector<std::byte> private_;
  std::optional<Stream> stream_;
  Place places_[kSlots]{};
};

Status expect(bool holds, const std::string& what);

/// Element `index` of a view with at most one axis, as a number.
double number_at(const TensorView& view, std::int64_t index);
void set_number(const TensorView& view, std::int64_t index, double value);
/// Its bytes.
std::span<std::byte> bytes_at(const TensorView& view, std::int64_t index);

/// Bytes that say which rank's `index`-th element they are, and of what.
void fill_pattern(const TensorView& view, int owner, int salt, std::int64_t first = 0);
/// ok if elements [at, at + count) of `view` are elements [first, ...) of that pattern.
Status check_pattern(const TensorView& view, std::int64_t at, std::int64_t count, int owner, int salt,
                     std::int64_t first = 0);

Status suite_of_moves(Suite& suite);       ///< barrier, all_gather, broadcast, all_to_all
Status suite_of_messages(Suite& suite);    ///< send_recv
Status suite_of_reductions(Suite& suite);  ///< all_reduce, reduce_scatter
Status suite_of_attention(Suite& suite);   ///< rotation, softmax merge, ring attention

}  // namespace ringcomm::conformance
