// SPDX-License-Identifier: Apache-2.0
// attention_step in plain MPI: the block by MPI_Sendrecv ("sendrecv") or by two requests ("isend"), then
// attention on it by ringcomm's kernel.
#include <cstring>
#include <optional>

#include "attention_flags.hpp"
#include "peer.hpp"
#include "ringcomm/attention/local_attention.hpp"

namespace ringcomm::perf::peers {
namespace {

class AttentionStepPeer final : public Peer {
 public:
  explicit AttentionStepPeer(AttentionFlags flags) : flags_(std::move(flags)) {}

  std::size_t prepare(std::size_t bytes) override {
    const AttentionShape& shape = flags_.shape;
    keys_ = static_cast<std::int64_t>(bytes / shape.token_bytes());
    bytes_ = static_cast<std::size_t>(keys_) * shape.token_bytes();
    attention_.emplace(attention_of(shape, flags_.queries));
    sent_ = std::make_unique<std::byte[]>(bytes_);
    received_ = std::make_unique<std::byte[]>(bytes_);
    const std::vector<std::int64_t> tokens = positions_from(rank() * keys_, keys_);
    fill_attention(k_of(sent_.get()), tokens, AttentionTensor::k);
    fill_attention(v_of(sent_.get()), tokens, AttentionTensor::v);
    pristine_.assign(sent_.get(), sent_.get() + bytes_);
    q_.resize(queries_view(nullptr).bytes());
    out_.resize(q_.size());
    lse_.resize(static_cast<std::size_t>(flags_.queries * shape.q_heads));
    fill_attention(queries_view(q_.data()), positions_from(0, flags_.queries), AttentionTensor::q);
    return bytes_;
  }
  void write() override { std::memcpy(sent_.get(), pristine_.data(), bytes_); }

  void run() override {
    const int previous = (rank() + size() - 1) % size();
    const int next = (rank() + 1) % size();
    const int count = static_cast<int>(bytes_);
    if (flags_.form == "isend") {
      MPI_Request requests[2];
      MPI_Irecv(received_.get(), count, MPI_BYTE, previous, 0, MPI_COMM_WORLD, &requests[0]);
      MPI_Isend(sent_.get(), count, MPI_BYTE, next, 0, MPI_COMM_WORLD, &requests[1]);
      must(attention_->begin(queries_view(q_.data())));
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else {
      MPI_Sendrecv(sent_.get(), count, MPI_BYTE, next, 0, received_.get(), count, MPI_BYTE, previous, 0,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      must(attention_->begin(queries_view(q_.data())));
    }
    must(attention_->add(k_of(received_.get()), v_of(received_.get())));
    must(attention_->finish(
        queries_view(out_.data()),
        TensorView::contiguous(lse_.data(), DType::float32, {flags_.shape.q_heads, flags_.queries})));
  }

  std::int64_t count_wrong() override {
    const std::int64_t previous = (rank() + size() - 1) % size();
    std::int64_t wrong = 0;
    for (const std::int64_t row : sample_rows(flags_.queries)) {
      for (const int head : sample_heads(flags_.shape.q_heads)) {
        wrong += count_wrong_elements(flags_.shape, {row, previous * keys_, keys_, head},
                                      queries_view(out_.data()), row);
      }
    }
    return wrong;
  }

 private:
  TensorView queries_view(std::byte* memory) const {
    return TensorView::contiguous(memory, flags_.shape.dtype,
                                  {flags_.queries, flags_.shape.q_heads, flags_.shape.head_dim});
  }
  TensorView k_of(std::byte* block) const {
    return TensorView::contiguous(block, flags_.shape.dtype,
                                  {keys_, flags_.shape.kv_heads, flags_.shape.head_dim});
  }
  TensorView v_of(std::byte* block) const { return k_of(block + bytes_ / 2); }

  AttentionFlags flags_;
  std::int64_t keys_ = 0;
  std::size_t bytes_ = 0;
  std::optional<LocalAttention> attention_;
  std::unique_ptr<std::byte[]> sent_, received_;
  std::vector<std::byte> pristine_, q_, out_;
  std::vector<float> lse_;
};

}  // namespace
}  // namespace ringcomm::perf::peers

int main(int argc, char** argv) {
  return ringcomm::perf::peers::serve_exchange<ringcomm::perf::peers::AttentionStepPeer>(argc, argv);
}
