// SPDX-License-Identifier: Apache-2.0
// Merge of softmax partials, each rank keeping its share of rows. There is no in-place form.
#include <algorithm>
#include <cstring>

#include "../collective_case.hpp"
#include "../operations.hpp"
#include "../softmax_data.hpp"
#include "../try.hpp"

namespace ringcomm::perf {
namespace {

class SoftmaxReduceScatter final : public CollectiveCase {
 public:
  using CollectiveCase::CollectiveCase;

  Result<RowHead> prepare(const RowSpec& spec) override {
    spec_ = spec;
    data_ = SoftmaxData(comm_.size(), options_.head_dim, spec.dtype, options_.form);
    rows_ = static_cast<std::int64_t>(spec.bytes / data_.row_bytes());
    input_ = Buffer();
    output_ = Buffer();
    PERF_TRY_ASSIGN(input_, Buffer::allocate(comm_, options_, data_.bytes_of_rows(rows_), unaligned_bytes()));
    PERF_TRY_ASSIGN(output_,
                    Buffer::allocate(comm_, options_, data_.bytes_of_rows(own_rows()), unaligned_bytes()));
    pristine_.resize(data_.bytes_of_rows(rows_));
    data_.fill(data_.view(pristine_.data(), rows_), comm_.rank());
    write();
    input_.replicate();
    RowHead head{.size = data_.row_bytes() * static_cast<std::size_t>(rows_),
                 .count = rows_ * options_.head_dim,
                 .type = std::string(nccl_name_of(spec.dtype)),
                 .redop = "softmax"};
    head.bus_factor = (comm_.size() - 1.0) / comm_.size();
    head.work = static_cast<double>(head.size) * comm_.size();
    return head;
  }

  Result<std::int64_t> check(Buffers buffers) override {
    std::memset(output_.data(), 0xff, output_.bytes());
    PERF_TRY(barrier(comm_.channel()).status());
    PERF_TRY(call(buffers));
    const SoftmaxPartial result = data_.view(output_.data(), own_rows());
    std::int64_t wrong = 0;
    for (std::int64_t row = 0; row < own_rows(); ++row)
      wrong += data_.count_wrong(result, row, first_row(comm_.rank()) + row);
    return wrong;
  }

 protected:
  bool refresh(Buffers /*buffers*/) override {
    if (!options_.is_cold) write();
    return true;
  }

  Status call(Buffers /*buffers*/) override {
    SoftmaxReduceScatterOptions call;
    call.algorithm = options_.algorithm;
    return softmax_reduce_scatter(comm_.channel(), data_.view(input_.data(), rows_),
                                  data_.view(output_.data(), own_rows()), call)
        .status();
  }

  void advance() override {
    input_.advance();
    output_.advance();
  }

 private:
  /// The library's bounds: rank r keeps rows [floor(r * H / N), floor((r + 1) * H / N)).
  std::int64_t first_row(int rank) const { return rank * rows_ / comm_.size(); }
  std::int64_t own_rows() const { return first_row(comm_.rank() + 1) - first_row(comm_.rank()); }
  void write() { std::copy(pristine_.begin(), pristine_.end(), input_.data()); }

  SoftmaxData data_;
  std::int64_t rows_ = 0;
  Buffer input_, output_;
  std::vector<std::byte> pristine_;
};

}  // namespace

std::unique_ptr<Case> make_softmax_reduce_scatter(Communicator& comm, const Options& options) {
  return std::make_unique<SoftmaxReduceScatter>(comm, options);
}

}  // namespace ringcomm::perf
