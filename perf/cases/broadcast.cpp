// SPDX-License-Identifier: Apache-2.0
// broadcast; in place means that the root's output is its input.
#include "../exchange_case.hpp"
#include "ringcomm/collectives/exchange.hpp"

namespace ringcomm::perf {
namespace {

class Broadcast final : public ExchangeCase {
 public:
  using ExchangeCase::ExchangeCase;

  Result<RowHead> prepare(const RowSpec& spec) override {
    spec_ = spec;
    const std::size_t bytes = spec.bytes / element_bytes() * element_bytes();
    PERF_TRY(allocate(bytes, bytes));
    if (is_root()) {
      fill(output_);
      output_.replicate();
    }
    RowHead head{.size = bytes, .count = count(), .type = std::string(nccl_name_of(spec.dtype))};
    head.has_in_place = true;
    head.work = static_cast<double>(bytes) * comm_.size();
    return head;
  }

 protected:
  std::uint8_t expected(std::size_t index) const override { return byte_of(spec_.root, index); }
  void make_input_ready(Buffers buffers) override {
    if (is_root() && buffers == Buffers::in_place) fill(output_);
  }
  Status call(Buffers buffers) override {
    const TensorView output = TensorView::contiguous(output_.data(), spec_.dtype, {count()});
    const TensorView input = TensorView::contiguous(input_.data(), spec_.dtype, {count()});
    return broadcast(comm_.channel(), buffers == Buffers::in_place ? output : input, output, spec_.root)
        .status();
  }

 private:
  bool is_root() const { return comm_.rank() == spec_.root; }
  std::int64_t count() const { return static_cast<std::int64_t>(output_.bytes() / element_bytes()); }
};

}  // namespace

std::unique_ptr<Case> make_broadcast(Communicator& comm, const Options& options) {
  return std::make_unique<Broadcast>(comm, options);
}

}  // namespace ringcomm::perf
