// SPDX-License-Identifier: Apache-2.0
// all_gather of equal blocks; in place means that the input already lies in its place of the output.
#include <algorithm>

#include "../case.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/core/deadline.hpp"

namespace ringcomm::perf {
namespace {

class AllGather final : public Case {
 public:
  AllGather(Communicator& comm, const Options& options) : comm_(comm), options_(options) {}

  Result<RowHead> prepare(std::size_t bytes) override {
    const std::size_t element = bytes_of(options_.dtype);
    const auto ranks = static_cast<std::size_t>(comm_.size());
    block_bytes_ = bytes / ranks / element * element;
    auto input = comm_.allocate(block_bytes_);
    auto output = comm_.allocate(block_bytes_ * ranks);
    if (!input.is_ok()) return input.status();
    if (!output.is_ok()) return output.status();
    input_ = std::move(input).value();
    output_ = std::move(output).value();
    fill(input_.data());
    fill(output_.data() + block_bytes_ * static_cast<std::size_t>(comm_.rank()));
    RowHead head{.size = block_bytes_ * ranks,
                 .count = static_cast<std::int64_t>(block_bytes_ / element),
                 .type = std::string(name_of(options_.dtype))};
    head.bus_factor = (static_cast<double>(ranks) - 1) / static_cast<double>(ranks);
    head.has_in_place = true;
    return head;
  }

  Result<double> run(Buffers buffers) override {
    std::byte* own = output_.data() + block_bytes_ * static_cast<std::size_t>(comm_.rank());
    const auto count = static_cast<std::int64_t>(block_bytes_ / bytes_of(options_.dtype));
    const std::int64_t begun_ns = now_ns();
    auto done = all_gather(
        comm_.channel(),
        TensorView::contiguous(buffers == Buffers::in_place ? own : input_.data(), options_.dtype, {count}),
        TensorView::contiguous(output_.data(), options_.dtype, {count * comm_.size()}));
    if (!done.is_ok()) return done.status();
    return static_cast<double>(now_ns() - begun_ns) * 1e-9;
  }

  Result<std::int64_t> check(Buffers buffers) override {
    for (std::size_t i = 0; i < output_.bytes(); ++i) {
      const bool is_own =
          i / std::max<std::size_t>(block_bytes_, 1) == static_cast<std::size_t>(comm_.rank());
      if (buffers == Buffers::out_of_place || !is_own) output_.data()[i] = std::byte{0xff};
    }
    if (auto done = run(buffers); !done.is_ok()) return done.status();
    std::int64_t wrong = 0;
    const std::size_t element = bytes_of(options_.dtype);
    for (std::size_t i = 0; i < output_.bytes(); i += element) {
      bool differs = false;
      for (std::size_t b = i; b < i + element; ++b) {
        differs = differs || output_.data()[b] != value(static_cast<int>(b / block_bytes_), b % block_bytes_);
      }
      wrong += differs ? 1 : 0;
    }
    return wrong;
  }

 private:
  static std::byte value(int rank, std::size_t index) {
    return static_cast<std::byte>((static_cast<std::size_t>(rank) * 131 + index * 7 + (index >> 8)) & 0xff);
  }
  void fill(std::byte* block) const {
    for (std::size_t i = 0; i < block_bytes_; ++i) block[i] = value(comm_.rank(), i);
  }

  Communicator& comm_;
  const Options& options_;
  std::size_t block_bytes_ = 0;
  Window input_, output_;
};

}  // namespace

std::unique_ptr<Case> make_all_gather(Communicator& comm, const Options& options) {
  return std::make_unique<AllGather>(comm, options);
}

}  // namespace ringcomm::perf
