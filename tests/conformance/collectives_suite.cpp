// SPDX-License-Identifier: Apache-2.0
#include "conformance/collectives_suite.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <type_traits>

#include "conformance/suite_case.hpp"

namespace ringcomm::conformance {
namespace {

constexpr std::byte kGuard{0xA5};

std::byte pattern(int owner, int salt, std::int64_t index, std::size_t byte) {
  const auto mixed = static_cast<std::uint64_t>(index) * 31 + static_cast<std::uint64_t>(owner) * 101 +
                     static_cast<std::uint64_t>(salt) * 57 + byte * 17;
  return static_cast<std::byte>((mixed ^ (mixed >> 8)) & 0xffU);
}

/// Calls `act` with a value of the C++ type of `dtype`.
template <class Act>
auto with_type(DType dtype, Act&& act) {
  switch (dtype) {
    case DType::int8:
      return act(std::int8_t{});
    case DType::int32:
      return act(std::int32_t{});
    case DType::uint32:
      return act(std::uint32_t{});
    case DType::int64:
      return act(std::int64_t{});
    case DType::uint64:
      return act(std::uint64_t{});
    case DType::float16:
      return act(fp16{});
    case DType::float32:
      return act(float{});
    case DType::float64:
      return act(double{});
    case DType::bfloat16:
      return act(bf16{});
    default:
      return act(std::uint8_t{});
  }
}

}  // namespace

Result<Suite> Suite::create(Communicator& comm, std::uint32_t seed, std::string only, int* cases) {
  Suite suite;
  suite.comm_ = &comm;
  suite.random_.seed(seed * 1000 + static_cast<std::uint32_t>(comm.rank()));
  suite.only_ = std::move(only);
  suite.cases_ = cases;
  suite.private_.resize(kSlots * kSlotBytes);
  RINGCOMM_TRY_ASSIGN(suite.window_, comm.allocate(kSlots * kSlotBytes));
  RINGCOMM_TRY_ASSIGN(auto stream, host_device().create_stream({}));
  suite.stream_.emplace(std::move(stream));
  return suite;
}

void Suite::pause() {
  if (random_() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random_() % 200));
}

std::byte* Suite::base(int slot, Place place) const {
  std::byte* const memory = place == Place::window ? window_.data() : const_cast<std::byte*>(private_.data());
  return memory + static_cast<std::size_t>(slot) * kSlotBytes;
}

TensorView Suite::tensor(int slot, DType dtype, std::int64_t count, Place place) {
  places_[slot] = place;
  std::byte* const memory = base(slot, place);
  const std::size_t span = static_cast<std::size_t>(count) * bytes_of(dtype) * 2 + 2 * kGuardBytes + 1;
  std::memset(memory, static_cast<int>(kGuard), std::min(span, kSlotBytes));
  std::byte* const data = memory + kGuardBytes + (place == Place::shifted ? 1 : 0);
  TensorView view = TensorView::contiguous(data, dtype, {count});
  if (place == Place::strided) view.strides[0] = 2;
  return view;
}

bool Suite::are_guards_whole(int slot, const TensorView& view) const {
  const std::byte* const memory = base(slot, places_[slot]);
  const auto* const data = static_cast<const std::byte*>(view.data);
  const std::byte* const end = data + view.bytes();
  const auto is_guard = [](std::byte byte) { return byte == kGuard; };
  return std::all_of(memory, data, is_guard) && std::all_of(end, end + kGuardBytes, is_guard);
}

CallOptions Suite::options(bool in_stream) const {
  CallOptions options;
  if (in_stream) options.stream = stream_->view();
  return options;
}

Status Suite::finish(const Result<Work>& work) {
  RINGCOMM_TRY(work.status());
  return work.value().wait(Deadline::after(std::chrono::seconds(60)));
}

Status expect(bool holds, const std::string& what) { return holds ? Status() : Status::internal(what); }

std::span<std::byte> bytes_at(const TensorView& view, std::int64_t index) {
  const std::size_t size = bytes_of(view.dtype);
  return {static_cast<std::byte*>(view.data) + static_cast<std::size_t>(index * view.strides[0]) * size,
          size};
}

double number_at(const TensorView& view, std::int64_t index) {
  return with_type(view.dtype, [&](auto value) {
    std::memcpy(&value, bytes_at(view, index).data(), sizeof value);
    using T = decltype(value);
    if constexpr (std::is_same_v<T, fp16> || std::is_same_v<T, bf16>) {
      return static_cast<double>(to_float(value));
    } else {
      return static_cast<double>(value);
    }
  });
}

void set_number(const TensorView& view, std::int64_t index, double number) {
  with_type(view.dtype, [&](auto value) {
    using T = decltype(value);
    if constexpr (std::is_same_v<T, fp16> || std::is_same_v<T, bf16>) {
      value = from_float<T>(static_cast<float>(number));
    } else {
      value = static_cast<T>(number);
    }
    std::memcpy(bytes_at(view, index).data(), &value, sizeof value);
  });
}

void fill_pattern(const TensorView& view, int owner, int salt, std::int64_t first) {
  for (std::int64_t i = 0; i < view.element_count(); ++i) {
    const std::span<std::byte> element = bytes_at(view, i);
    for (std::size_t byte = 0; byte < element.size(); ++byte)
      element[byte] = pattern(owner, salt, first + i, byte);
  }
}

Status check_pattern(const TensorView& view, std::int64_t at, std::int64_t count, int owner, int salt,
                     std::int64_t first) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::span<std::byte> element = bytes_at(view, at + i);
    for (std::size_t byte = 0; byte < element.size(); ++byte) {
      if (element[byte] != pattern(owner, salt, first + i, byte))
        return expect(false, concat("element ", at + i, " is not element ", first + i, " of rank ", owner));
    }
  }
  return {};
}

Status run_collectives_suite(Communicator& comm, const SuiteOptions& options, int* cases) {
  RINGCOMM_TRY_ASSIGN(Suite suite, Suite::create(comm, options.seed, options.only, cases));
  RINGCOMM_TRY(suite_of_moves(suite));
  RINGCOMM_TRY(suite_of_messages(suite));
  RINGCOMM_TRY(suite_of_reductions(suite));
  RINGCOMM_TRY(suite_of_attention(suite));
  return suite.run("last barrier", [&] { return Suite::finish(barrier(suite.channel())); });
}

}  // namespace ringcomm::conformance
