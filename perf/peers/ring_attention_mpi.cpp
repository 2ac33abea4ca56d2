// SPDX-License-Identifier: Apache-2.0
// Ring attention as a program for plain MPI would do it, with ringcomm's kernel, layout and running state:
// "sendrecv" exchanges, then computes; "isend" posts both requests around the computation.
#include <cstring>
#include <optional>

#include "../attention_pieces.hpp"
#include "attention_flags.hpp"
#include "peer.hpp"

namespace ringcomm::perf::peers {
namespace {

class RingAttentionPeer final : public Peer {
 public:
  explicit RingAttentionPeer(AttentionFlags flags) : flags_(std::move(flags)) {}

  std::size_t prepare(std::size_t bytes) override {
    const AttentionShape& shape = flags_.shape;
    tokens_ = static_cast<std::int64_t>(bytes / shape.token_bytes());
    auto map = ShardMap::create(Layout::zigzag, tokens_, size());
    must(map.status());
    map_.emplace(std::move(map).value());
    rows_ = map_->rows_of(rank());
    attention_.emplace(attention_of(shape, rows_));
    pieces_.clear();
    std::size_t largest = 0;
    for (int source = 0; source < size(); ++source) {
      pieces_.push_back(pieces_of_shard(*map_, flags_.mask, rank(), source));
      largest = std::max(largest, block_bytes(source));
    }
    for (Memory* memory : {&own_, &slots_[0], &slots_[1]}) *memory = allocate(largest);
    const TensorView query = view_of(nullptr, rows_, shape.q_heads);
    q_ = allocate(query.bytes());
    out_ = allocate(query.bytes());
    lse_.assign(static_cast<std::size_t>(rows_ * shape.q_heads), 0.0F);
    const std::vector<std::int64_t> positions = map_->positions(rank());
    fill_attention(view_of(q_.get(), rows_, shape.q_heads), positions, AttentionTensor::q);
    fill_attention(k_of(own_.get(), rank()), positions, AttentionTensor::k);
    fill_attention(v_of(own_.get(), rank()), positions, AttentionTensor::v);
    pristine_.assign(own_.get(), own_.get() + block_bytes(rank()));
    return static_cast<std::size_t>(tokens_) * shape.token_bytes();
  }

  void write() override {
    if (!pristine_.empty()) std::memcpy(own_.get(), pristine_.data(), pristine_.size());
  }

  void run() override {
    must(attention_->begin(view_of(q_.get(), rows_, flags_.shape.q_heads)));
    std::byte* block = own_.get();
    for (int step = 0; step < size(); ++step) {
      const int source = (rank() - step + size()) % size();
      if (step == size() - 1) {
        compute(source, block);
        break;
      }
      std::byte* const next = slots_[step % 2].get();
      if (flags_.form == "isend") {
        MPI_Request requests[2];
        const int arriving = (source - 1 + size()) % size();
        MPI_Irecv(next, count_of(arriving), MPI_BYTE, left(), 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(block, count_of(source), MPI_BYTE, right(), 0, MPI_COMM_WORLD, &requests[1]);
        compute(source, block);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      } else {
        const int arriving = (source - 1 + size()) % size();
        MPI_Sendrecv(block, count_of(source), MPI_BYTE, right(), 0, next, count_of(arriving), MPI_BYTE,
                     left(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        compute(source, block);
      }
      block = next;
    }
    const AttentionShape& shape = flags_.shape;
    must(attention_->finish(view_of(out_.get(), rows_, shape.q_heads),
                            TensorView::contiguous(lse_.data(), DType::float32, {shape.q_heads, rows_})));
  }

  std::int64_t count_wrong() override {
    std::int64_t wrong = 0;
    const std::vector<std::int64_t> positions = map_->positions(rank());
    for (const std::int64_t row : sample_rows(rows_)) {
      const std::int64_t position = positions[static_cast<std::size_t>(row)];
      const std::int64_t keys = flags_.mask == Mask::causal ? position + 1 : tokens_;
      for (const int head : sample_heads(flags_.shape.q_heads)) {
        wrong += count_wrong_elements(flags_.shape, {position, 0, keys, head},
                                      view_of(out_.get(), rows_, flags_.shape.q_heads), row);
      }
    }
    return wrong;
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  using Memory = std::unique_ptr<std::byte, Free>;

  static Memory allocate(std::size_t bytes) {
    constexpr std::size_t kLine = 64;
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(kLine, (bytes + kLine) / kLine * kLine));
    if (memory == nullptr) must(Status::out_of_memory("a block"));
    std::memset(memory, 0, bytes);
    return Memory(memory);
  }
  static int right() { return (rank() + 1) % size(); }
  static int left() { return (rank() + size() - 1) % size(); }
  TensorView view_of(std::byte* memory, std::int64_t rows, int heads) const {
    return TensorView::contiguous(memory, flags_.shape.dtype, {rows, heads, flags_.shape.head_dim});
  }
  std::size_t block_bytes(int source) const {
    return static_cast<std::size_t>(map_->rows_of(source)) * flags_.shape.token_bytes();
  }
  int count_of(int source) const { return static_cast<int>(block_bytes(source)); }
  /// A block is K, then V.
  TensorView k_of(std::byte* block, int source) const {
    return view_of(block, map_->rows_of(source), flags_.shape.kv_heads);
  }
  TensorView v_of(std::byte* block, int source) const {
    return k_of(block + block_bytes(source) / 2, source);
  }
  void compute(int source, std::byte* block) {
    must(add_pieces(*attention_, pieces_[static_cast<std::size_t>(source)], k_of(block, source),
                    v_of(block, source)));
  }

  AttentionFlags flags_;
  std::int64_t tokens_ = 0, rows_ = 0;
  std::optional<ShardMap> map_;
  std::optional<LocalAttention> attention_;
  std::vector<std::vector<AttentionPiece>> pieces_;  // by source
  Memory own_, slots_[2], q_, out_;
  std::vector<std::byte> pristine_;
  std::vector<float> lse_;
};

}  // namespace
}  // namespace ringcomm::perf::peers

int main(int argc, char** argv) {
  return ringcomm::perf::peers::serve_exchange<ringcomm::perf::peers::RingAttentionPeer>(argc, argv);
}
