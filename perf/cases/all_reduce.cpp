// SPDX-License-Identifier: Apache-2.0
// all_reduce of exact values; in place means that the output is the input.
#include <cstring>

#include "../collective_case.hpp"
#include "../operations.hpp"
#include "../reduction_data.hpp"
#include "../try.hpp"
#include "ringcomm/collectives/reduce.hpp"

namespace ringcomm::perf {
namespace {

class AllReduce final : public CollectiveCase {
 public:
  using CollectiveCase::CollectiveCase;

  Result<RowHead> prepare(const RowSpec& spec) override {
    spec_ = spec;
    count_ = static_cast<std::int64_t>(spec.bytes / element_bytes());
    const std::size_t bytes = static_cast<std::size_t>(count_) * element_bytes();
    input_ = Buffer();
    output_ = Buffer();
    PERF_TRY_ASSIGN(input_, Buffer::allocate(comm_, options_, bytes, unaligned_bytes()));
    PERF_TRY_ASSIGN(output_, Buffer::allocate(comm_, options_, bytes, unaligned_bytes()));
    fill(input_);
    input_.replicate();
    RowHead head{.size = bytes, .count = count_, .type = std::string(nccl_name_of(spec.dtype))};
    head.bus_factor = 2.0 * (comm_.size() - 1) / comm_.size();
    head.has_in_place = true;
    head.work = static_cast<double>(bytes) * comm_.size();
    return head;
  }

  Result<std::int64_t> check(Buffers buffers) override {
    if (buffers == Buffers::out_of_place) std::memset(output_.data(), 0xff, output_.bytes());
    if (refresh(buffers)) PERF_TRY(barrier(comm_.channel()).status());
    PERF_TRY(call(buffers));
    return count_wrong_reduction(spec_.dtype, spec_.redop, comm_.size(), output_.data(), 0, count_);
  }

 protected:
  bool refresh(Buffers buffers) override {
    if (buffers == Buffers::in_place) fill(output_);
    return buffers == Buffers::in_place;
  }

  Status call(Buffers buffers) override {
    const TensorView output = TensorView::contiguous(output_.data(), spec_.dtype, {count_});
    const TensorView input = TensorView::contiguous(input_.data(), spec_.dtype, {count_});
    return all_reduce(comm_.channel(), buffers == Buffers::in_place ? output : input, output, spec_.redop)
        .status();
  }

  void advance() override {
    input_.advance();
    output_.advance();
  }

 private:
  void fill(const Buffer& target) const {
    fill_reduction(spec_.dtype, target.data(), comm_.rank(), 0, count_);
  }

  std::int64_t count_ = 0;
  Buffer input_, output_;
};

}  // namespace

std::unique_ptr<Case> make_all_reduce(Communicator& comm, const Options& options) {
  return std::make_unique<AllReduce>(comm, options);
}

}  // namespace ringcomm::perf
