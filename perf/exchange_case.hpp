// SPDX-License-Identifier: Apache-2.0
// What operations that only move bytes share: an input of known bytes, an output compared byte by byte.
#pragma once

#include <cstring>

#include "collective_case.hpp"
#include "elements.hpp"
#include "operations.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "try.hpp"

namespace ringcomm::perf {

class ExchangeCase : public CollectiveCase {
 public:
  using CollectiveCase::CollectiveCase;

  Result<std::int64_t> check(Buffers buffers) override {
    std::memset(output_.data(), 0xff, output_.bytes());
    make_input_ready(buffers);
    PERF_TRY(barrier(comm_.channel()).status());
    PERF_TRY(call(buffers));
    std::int64_t wrong = 0;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(output_.data());
    for (std::size_t i = 0; i < output_.bytes(); i += element_bytes()) {
      bool differs = false;
      for (std::size_t b = i; b < i + element_bytes(); ++b) differs = differs || bytes[b] != expected(b);
      wrong += differs ? 1 : 0;
    }
    return wrong;
  }

 protected:
  /// Byte `index` of what must come out on this rank.
  virtual std::uint8_t expected(std::size_t index) const = 0;
  /// After the output was erased: puts back what an in-place call reads there.
  virtual void make_input_ready(Buffers /*buffers*/) {}

  /// Buffers of these sizes, the input filled with byte_of(rank, index).
  Status allocate(std::size_t input_bytes, std::size_t output_bytes) {
    input_ = Buffer();
    output_ = Buffer();
    PERF_TRY_ASSIGN(input_, Buffer::allocate(comm_, options_, input_bytes, unaligned_bytes()));
    PERF_TRY_ASSIGN(output_, Buffer::allocate(comm_, options_, output_bytes, unaligned_bytes()));
    fill(input_);
    input_.replicate();
    return {};
  }
  void fill(const Buffer& target) const {
    for (std::size_t b = 0; b < target.bytes(); ++b) target.data()[b] = std::byte{byte_of(comm_.rank(), b)};
  }
  void advance() override {
    input_.advance();
    output_.advance();
  }

  Buffer input_, output_;
};

}  // namespace ringcomm::perf
