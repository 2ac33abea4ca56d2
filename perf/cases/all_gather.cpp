// SPDX-License-Identifier: Apache-2.0
// all_gather of equal blocks; in place means that the input already lies in its place of the output.
#include <algorithm>
#include <cstring>

#include "../collective_case.hpp"
#include "../elements.hpp"
#include "../operations.hpp"
#include "../try.hpp"
#include "ringcomm/collectives/basic.hpp"

namespace ringcomm::perf {
namespace {

class AllGather final : public CollectiveCase {
 public:
  using CollectiveCase::CollectiveCase;

  Result<RowHead> prepare(const RowSpec& spec) override {
    spec_ = spec;
    block_bytes_ = spec.bytes / ranks() / element_bytes() * element_bytes();
    input_ = Buffer();
    output_ = Buffer();
    PERF_TRY_ASSIGN(input_, Buffer::allocate(comm_, options_, block_bytes_, unaligned_bytes()));
    PERF_TRY_ASSIGN(output_, Buffer::allocate(comm_, options_, block_bytes_ * ranks(), unaligned_bytes()));
    fill(input_.data());
    fill(own_place());
    input_.replicate();
    output_.replicate();
    RowHead head{
        .size = block_bytes_ * ranks(), .count = count(), .type = std::string(nccl_name_of(spec.dtype))};
    head.bus_factor = (comm_.size() - 1.0) / comm_.size();
    head.has_in_place = true;
    head.work = static_cast<double>(head.size) * comm_.size();
    return head;
  }

  Result<std::int64_t> check(Buffers buffers) override {
    std::memset(output_.data(), 0xff, output_.bytes());
    if (buffers == Buffers::in_place) fill(own_place());
    PERF_TRY(call(buffers));
    std::int64_t wrong = 0;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(output_.data());
    for (std::size_t i = 0; i < output_.bytes(); i += element_bytes()) {
      bool differs = false;
      for (std::size_t b = i; b < i + element_bytes(); ++b)
        differs = differs || bytes[b] != byte_of(static_cast<int>(b / block_bytes_), b % block_bytes_);
      wrong += differs ? 1 : 0;
    }
    return wrong;
  }

 protected:
  Status call(Buffers buffers) override {
    return all_gather(comm_.channel(),
                      TensorView::contiguous(buffers == Buffers::in_place ? own_place() : input_.data(),
                                             spec_.dtype, {count()}),
                      TensorView::contiguous(output_.data(), spec_.dtype, {count() * comm_.size()}))
        .status();
  }

  void advance() override {
    input_.advance();
    output_.advance();
  }

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(block_bytes_ / element_bytes()); }
  std::byte* own_place() const { return output_.data() + block_bytes_ * rank(); }
  void fill(std::byte* block) const {
    for (std::size_t i = 0; i < block_bytes_; ++i) block[i] = std::byte{byte_of(comm_.rank(), i)};
  }

  std::size_t block_bytes_ = 0;
  Buffer input_, output_;
};

}  // namespace

std::unique_ptr<Case> make_all_gather(Communicator& comm, const Options& options) {
  return std::make_unique<AllGather>(comm, options);
}

}  // namespace ringcomm::perf
