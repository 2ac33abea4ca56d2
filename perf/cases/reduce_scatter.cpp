// SPDX-License-Identifier: Apache-2.0
// reduce_scatter of equal shares; in place means that the output is the own share's place in the input.
#include <cstring>

#include "../collective_case.hpp"
#include "../operations.hpp"
#include "../reduction_data.hpp"
#include "../try.hpp"
#include "ringcomm/collectives/reduce.hpp"

namespace ringcomm::perf {
namespace {

class ReduceScatter final : public CollectiveCase {
 public:
  using CollectiveCase::CollectiveCase;

  Result<RowHead> prepare(const RowSpec& spec) override {
    spec_ = spec;
    count_ = static_cast<std::int64_t>(spec.bytes / ranks() / element_bytes());
    const std::size_t share = static_cast<std::size_t>(count_) * element_bytes();
    input_ = Buffer();
    output_ = Buffer();
    PERF_TRY_ASSIGN(input_, Buffer::allocate(comm_, options_, share * ranks(), unaligned_bytes()));
    PERF_TRY_ASSIGN(output_, Buffer::allocate(comm_, options_, share, unaligned_bytes()));
    fill();
    input_.replicate();
    RowHead head{.size = share * ranks(), .count = count_, .type = std::string(nccl_name_of(spec.dtype))};
    head.bus_factor = (comm_.size() - 1.0) / comm_.size();
    head.has_in_place = true;
    head.work = static_cast<double>(head.size) * comm_.size();
    return head;
  }

  Result<std::int64_t> check(Buffers buffers) override {
    std::memset(output_.data(), 0xff, output_.bytes());
    fill();
    PERF_TRY(barrier(comm_.channel()).status());
    PERF_TRY(call(buffers));
    const std::int64_t wrong = count_wrong_reduction(
        spec_.dtype, spec_.redop, comm_.size(), buffers == Buffers::in_place ? own_place() : output_.data(),
        count_ * comm_.rank(), count_);
    PERF_TRY(barrier(comm_.channel()).status());
    fill();  // the next timed runs start from whole inputs
    return wrong;
  }

 protected:
  bool refresh(Buffers buffers) override {
    if (buffers == Buffers::in_place)
      fill_reduction(spec_.dtype, own_place(), comm_.rank(), count_ * comm_.rank(), count_);
    return buffers == Buffers::in_place;
  }

  Status call(Buffers buffers) override {
    return reduce_scatter(comm_.channel(),
                          TensorView::contiguous(input_.data(), spec_.dtype, {count_ * comm_.size()}),
                          TensorView::contiguous(buffers == Buffers::in_place ? own_place() : output_.data(),
                                                 spec_.dtype, {count_}),
                          spec_.redop)
        .status();
  }

  void advance() override {
    input_.advance();
    output_.advance();
  }

 private:
  std::byte* own_place() const { return input_.data() + output_.bytes() * rank(); }
  void fill() const { fill_reduction(spec_.dtype, input_.data(), comm_.rank(), 0, count_ * comm_.size()); }

  std::int64_t count_ = 0;
  Buffer input_, output_;
};

}  // namespace

std::unique_ptr<Case> make_reduce_scatter(Communicator& comm, const Options& options) {
  return std::make_unique<ReduceScatter>(comm, options);
}

}  // namespace ringcomm::perf
