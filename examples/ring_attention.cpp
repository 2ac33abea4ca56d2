// SPDX-License-Identifier: Apache-2.0
// Ring attention of 4 threads (--threads 4) or of 4 processes (--procs 4), one line per rank.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ringcomm/ringcomm.hpp>
#include <string_view>
#include <vector>

namespace rc = ringcomm;

constexpr rc::AttentionSpec kSpec{
    .tokens = 1001, .q_heads = 8, .kv_heads = 2, .head_dim = 64, .dtype = rc::DType::float32, .scale = 1.0F};

// Query (1, 0, ...) and key (sin j, 0, ...) make the score of token j sin j; its value is cos j.
void fill(const rc::TensorView& tensor, const std::vector<std::int64_t>& positions, double (*value)(double)) {
  auto* data = static_cast<float*>(tensor.data);
  const auto row_elements = static_cast<std::size_t>(tensor.strides[0]);
  for (std::size_t at = 0; at < positions.size() * row_elements; ++at) {
    const auto position = static_cast<double>(positions[at / row_elements]);
    data[at] = at % kSpec.head_dim == 0 ? static_cast<float>(value(position)) : 0.0F;
  }
}

rc::Status run_rank(rc::Communicator& comm) {
  rc::Result<rc::RingAttention> ring = rc::RingAttention::create(comm, kSpec);
  if (!ring.is_ok()) return ring.status();
  fill(ring->q(), ring->positions(), [](double) { return 1.0; });
  fill(ring->k(), ring->positions(), [](double j) { return std::sin(j); });
  fill(ring->v(), ring->positions(), [](double j) { return std::cos(j); });
  if (rc::Status done = ring->forward(); !done.is_ok()) return done;

  std::vector<double> expected;  // causal: the weighted mean over tokens 0..i
  double weights = 0, sum = 0;
  for (double j = 0; j < kSpec.tokens; ++j) {
    weights += std::exp(std::sin(j));
    sum += std::exp(std::sin(j)) * std::cos(j);
    expected.push_back(sum / weights);
  }
  double checksum = 0, error_max = 0;
  const auto* out = static_cast<const float*>(ring->out().data);
  for (std::size_t at = 0; at < static_cast<std::size_t>(ring->out().element_count()); at += kSpec.head_dim) {
    const std::int64_t position = ring->positions()[at / (kSpec.q_heads * kSpec.head_dim)];
    error_max = std::fmax(error_max, std::fabs(out[at] - expected[static_cast<std::size_t>(position)]));
    checksum += out[at];
  }
  std::printf("rank %d of %d: %zu tokens, checksum %.6f, max error %.1e\n", comm.rank(), comm.size(),
              ring->positions().size(), checksum, error_max);
  std::fflush(stdout);
  return error_max < 1e-5 ? rc::Status{} : rc::Status::internal("the output is wrong");
}

int main(int argc, char** argv) {
  const std::string_view mode = argc == 3 ? argv[1] : "--threads";
  const int ranks = argc == 3 ? std::atoi(argv[2]) : 4;
  rc::check(mode == "--procs" ? rc::run_processes(ranks, run_rank) : rc::run_threads(ranks, run_rank));
}
