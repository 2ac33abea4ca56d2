// SPDX-License-Identifier: Apache-2.0
// all_to_all of equal parts. There is no in-place form.
#include "../exchange_case.hpp"
#include "ringcomm/collectives/exchange.hpp"

namespace ringcomm::perf {
namespace {

class AllToAll final : public ExchangeCase {
 public:
  using ExchangeCase::ExchangeCase;

  Result<RowHead> prepare(const RowSpec& spec) override {
    spec_ = spec;
    part_bytes_ = spec.bytes / ranks() / element_bytes() * element_bytes();
    PERF_TRY(allocate(part_bytes_ * ranks(), part_bytes_ * ranks()));
    RowHead head{.size = part_bytes_ * ranks(),
                 .count = static_cast<std::int64_t>(part_bytes_ / element_bytes()),
                 .type = std::string(nccl_name_of(spec.dtype))};
    head.bus_factor = (comm_.size() - 1.0) / comm_.size();
    head.work = static_cast<double>(head.size) * comm_.size();
    return head;
  }

 protected:
  std::uint8_t expected(std::size_t index) const override {
    return byte_of(static_cast<int>(index / part_bytes_), rank() * part_bytes_ + index % part_bytes_);
  }
  Status call(Buffers /*buffers*/) override {
    const auto count = static_cast<std::int64_t>(input_.bytes() / element_bytes());
    return all_to_all(comm_.channel(), TensorView::contiguous(input_.data(), spec_.dtype, {count}),
                      TensorView::contiguous(output_.data(), spec_.dtype, {count}))
        .status();
  }

 private:
  std::size_t part_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Case> make_alltoall(Communicator& comm, const Options& options) {
  return std::make_unique<AllToAll>(comm, options);
}

}  // namespace ringcomm::perf
