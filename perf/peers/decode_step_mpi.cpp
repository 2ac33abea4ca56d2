// SPDX-License-Identifier: Apache-2.0
// decode_step in plain MPI: ringcomm's kernel on this rank's shard of the keys, then a merge of the partials
// by three all-reduces ("three") or an all-gather and a local merge ("gather").
#include <optional>

#include "../decode_batch.hpp"
#include "attention_flags.hpp"
#include "softmax_gather.hpp"
#include "softmax_three.hpp"

namespace ringcomm::perf::peers {
namespace {

/// `Merge` is the softmax peer, whose inputs attention writes.
template <class Merge>
class DecodeStepPeer final : public Merge {
 public:
  explicit DecodeStepPeer(AttentionFlags flags) : flags_(std::move(flags)) {}

  std::size_t prepare(std::size_t bytes) override {
    const std::size_t sequence_bytes =
        static_cast<std::size_t>(flags_.shape.q_heads) * kRowFloats * sizeof(float);
    const std::size_t batch = bytes / sequence_bytes;
    auto made = DecodeBatch::create({.shape = flags_.shape,
                                     .batch = static_cast<std::int64_t>(batch),
                                     .tokens = flags_.tokens,
                                     .ranks = size(),
                                     .rank = rank()});
    must(made.status());
    batch_.emplace(std::move(made).value());
    return Merge::prepare(batch * sequence_bytes);
  }
  void write() override {}
  void run() override {
    must(batch_->attend(this->out_.data(), this->lse_.data()));
    Merge::run();
  }
  std::int64_t count_wrong() override { return batch_->count_wrong(this->result_out_.data()); }

 private:
  AttentionFlags flags_;
  std::optional<DecodeBatch> batch_;
};

template <class Merge>
int serve_with(int* argc, char*** argv, const AttentionFlags& flags, const char* name) {
  DecodeStepPeer<Merge> peer(flags);
  return serve(argc, argv, name, peer);
}

}  // namespace
}  // namespace ringcomm::perf::peers

int main(int argc, char** argv) {
  namespace peers = ringcomm::perf::peers;
  const peers::AttentionFlags flags = peers::read_attention_flags(argc, argv, "three|gather");
  if (flags.form == "three")
    return peers::serve_with<peers::ThreeReductions>(&argc, &argv, flags, "3 x MPI_Allreduce");
  return peers::serve_with<peers::GatherAndMerge>(&argc, &argv, flags, "MPI_Allgather + merge");
}
