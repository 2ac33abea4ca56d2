// SPDX-License-Identifier: Apache-2.0
// Runs ring attention on N ranks over inputs that are functions of the global position, and compares the
// whole output with the float64 oracle.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ringcomm/attention/ring_attention.hpp"
#include "support/host_tensor.hpp"
#include "support/oracle_attention.hpp"

namespace ringcomm::test {

/// Value of an element by its token's global position; the same for every layout and number of ranks.
using Fill = std::function<float(std::int64_t position, std::int64_t head, std::int64_t dim)>;
struct Inputs {
  Fill q, k, v;
};
/// Independent values in (-1, 1) times `factor`, from a hash of position, head and dim.
Fill noise(unsigned seed, float factor = 1.0F);
Inputs noise_inputs();

void fill_rows(const TensorView& tensor, const std::vector<std::int64_t>& positions, const Fill& fill);

/// The usual small shape: 4 query and 2 KV heads of 64.
AttentionSpec spec_of(std::int64_t tokens);

/// q, k and v of the object's own tensors.
void fill_all(const RingAttention& ring, const Inputs& inputs);
/// The bytes of contiguous out and lse, for comparisons bit by bit.
std::string bits_of(const TensorView& out, const TensorView& lse);

/// What all ranks together computed, by global position. Rows that nobody wrote stay NaN.
struct Outcome {
  explicit Outcome(const AttentionSpec& spec, int ranks);
  HostTensor out;          ///< [tokens, q_heads, head_dim]
  std::vector<float> lse;  ///< [q_heads, tokens]
  std::vector<AttentionReport> reports;
  std::vector<std::size_t> extra_bytes;
};
/// Copies one rank's rows to their places; safe from several threads for different ranks.
void collect(const RingAttention& ring, int rank, const TensorView& out, const TensorView& lse,
             Outcome& outcome);

/// create, fill, forward, collect.
Status run_rank(Communicator& comm, const AttentionSpec& spec, const Inputs& inputs, Outcome& outcome);

/// A small arena, so that eight ranks of a test do not fill memory.
CommunicatorOptions small_options();
/// All of it with threads; failures of any rank become a test failure.
Outcome run_ring(const AttentionSpec& spec, int ranks, const Inputs& inputs);

/// Oracle results, kept by (tokens, heads, dim, dtype, mask): many cases share one.
class OracleCache {
 public:
  explicit OracleCache(Inputs inputs) : inputs_(std::move(inputs)) {}
  const OracleResult& of(const AttentionSpec& spec);

 private:
  Inputs inputs_;
  std::map<std::string, OracleResult> results_;
};
OracleResult oracle_of(const AttentionSpec& spec, const Inputs& inputs);

struct Difference {
  double max_out = 0, rms_out = 0, max_lse = 0;  ///< infinite where one side is NaN or an infinity alone
};
Difference compare(const Outcome& outcome, const OracleResult& oracle, const AttentionSpec& spec);

/// Largest difference that rounding explains, for values of V up to `v_max` (attention spec 6.14).
double tolerance(const AttentionSpec& spec, double v_max = 1.0);
std::string describe(const AttentionSpec& spec, int ranks);

}  // namespace ringcomm::test
