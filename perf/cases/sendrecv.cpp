// SPDX-License-Identifier: Apache-2.0
// Each rank sends to the next and receives from the one before, as nccl-tests' sendrecv_perf. No in-place
// form.
#include <array>

#include "../exchange_case.hpp"
#include "ringcomm/collectives/exchange.hpp"

namespace ringcomm::perf {
namespace {

class SendRecv final : public ExchangeCase {
 public:
  using ExchangeCase::ExchangeCase;

  Result<RowHead> prepare(const RowSpec& spec) override {
    spec_ = spec;
    const std::size_t bytes = spec.bytes / element_bytes() * element_bytes();
    input_ = Buffer();
    output_ = Buffer();
    PERF_TRY_ASSIGN(input_, Buffer::allocate(comm_, options_, bytes, unaligned_bytes(),
                                             options_.input_memory.value_or(options_.memory)));
    PERF_TRY_ASSIGN(output_, Buffer::allocate(comm_, options_, bytes, unaligned_bytes(), result_memory()));
    fill(input_);
    input_.replicate();
    RowHead head{.size = bytes, .count = count(), .type = std::string(nccl_name_of(spec.dtype))};
    head.work = static_cast<double>(bytes) * comm_.size();
    return head;
  }

 protected:
  /// Beside peers that write their block before each call (perf/compare), so does this one.
  bool refresh(Buffers /*buffers*/) override {
    if (options_.serve) fill(input_);
    return options_.serve;
  }
  std::uint8_t expected(std::size_t index) const override { return byte_of(previous(), index); }
  Status call(Buffers /*buffers*/) override {
    const std::array<PointToPoint, 2> group{
        PointToPoint{.kind = PointToPoint::Kind::send,
                     .peer = (comm_.rank() + 1) % comm_.size(),
                     .tensor = TensorView::contiguous(input_.data(), spec_.dtype, {count()})},
        PointToPoint{.kind = PointToPoint::Kind::receive,
                     .peer = previous(),
                     .tensor = TensorView::contiguous(output_.data(), spec_.dtype, {count()})}};
    return send_recv(comm_.channel(), group).status();
  }

 private:
  Memory result_memory() const {
    if (options_.result == ResultPlace::as_buffers) return options_.memory;
    return options_.result == ResultPlace::window ? Memory::window : Memory::private_memory;
  }
  int previous() const { return (comm_.rank() + comm_.size() - 1) % comm_.size(); }
  std::int64_t count() const { return static_cast<std::int64_t>(output_.bytes() / element_bytes()); }
};

}  // namespace

std::unique_ptr<Case> make_sendrecv(Communicator& comm, const Options& options) {
  return std::make_unique<SendRecv>(comm, options);
}

}  // namespace ringcomm::perf
