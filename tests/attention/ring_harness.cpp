// SPDX-License-Identifier: Apache-2.0
#include "attention/ring_harness.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "ringcomm/core/text.hpp"

namespace ringcomm::test {
namespace {

/// splitmix64's finaliser: neighbours get unrelated values.
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

std::vector<std::int64_t> counting(std::int64_t count) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void set(const TensorView& tensor, std::int64_t at, float value) {
  if (tensor.dtype == DType::bfloat16) static_cast<bf16*>(tensor.data)[at] = to_bf16(value);
  if (tensor.dtype == DType::float16) static_cast<fp16*>(tensor.data)[at] = to_fp16(value);
  if (tensor.dtype == DType::float32) static_cast<float*>(tensor.data)[at] = value;
}

double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double d = std::fabs(a - b);
  return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

}  // namespace

Fill noise(unsigned seed, float factor) {
  return [=](std::int64_t position, std::int64_t head, std::int64_t dim) {
    const auto key = static_cast<std::uint64_t>(position) * 0x9e3779b97f4a7c15U +
                     static_cast<std::uint64_t>(head) * 0x100000001U + static_cast<std::uint64_t>(dim) +
                     (std::uint64_t{seed} << 40);
    return factor * (static_cast<float>(mix(key) >> 40) * 0x1p-23F - 1.0F);
  };
}

Inputs noise_inputs() { return {.q = noise(1, 2.0F), .k = noise(2, 2.0F), .v = noise(3)}; }

AttentionSpec spec_of(std::int64_t tokens) {
  AttentionSpec spec;
  spec.tokens = tokens;
  spec.q_heads = 4;
  spec.kv_heads = 2;
  spec.head_dim = 64;
  return spec;
}

void fill_rows(const TensorView& tensor, const std::vector<std::int64_t>& positions, const Fill& fill) {
  for (std::size_t row = 0; row < positions.size(); ++row) {
    for (std::int64_t head = 0; head < tensor.shape[1]; ++head) {
      const std::int64_t first =
          static_cast<std::int64_t>(row) * tensor.strides[0] + head * tensor.strides[1];
      for (std::int64_t d = 0; d < tensor.shape[2]; ++d)
        set(tensor, first + d, fill(positions[row], head, d));
    }
  }
}

void fill_all(const RingAttention& ring, const Inputs& inputs) {
  fill_rows(ring.q(), ring.positions(), inputs.q);
  fill_rows(ring.k(), ring.kv_positions(), inputs.k);
  fill_rows(ring.v(), ring.kv_positions(), inputs.v);
}

std::string bits_of(const TensorView& out, const TensorView& lse) {
  return std::string(static_cast<const char*>(out.data), out.bytes()) +
         std::string(static_cast<const char*>(lse.data), lse.bytes());
}

Outcome::Outcome(const AttentionSpec& spec, int ranks)
    : out(spec.dtype, spec.tokens, spec.q_heads, spec.head_dim),
      lse(static_cast<std::size_t>(spec.tokens * spec.q_heads), std::numeric_limits<float>::quiet_NaN()),
      reports(static_cast<std::size_t>(ranks)),
      extra_bytes(static_cast<std::size_t>(ranks)) {}

void collect(const RingAttention& ring, int rank, const TensorView& out, const TensorView& lse,
             Outcome& outcome) {
  const auto index = static_cast<std::size_t>(rank);
  outcome.reports[index] = ring.report();
  outcome.extra_bytes[index] = ring.extra_bytes();
  const bool is_replicated = ring.spec().queries == QueryPlacement::replicated;
  if (is_replicated && rank != 0) return;
  const std::int64_t tokens = ring.spec().tokens;
  for (std::size_t row = 0; row < ring.positions().size(); ++row) {
    const auto local = static_cast<std::int64_t>(row);
    const std::int64_t position = ring.positions()[row];
    for (std::int64_t head = 0; head < out.shape[1]; ++head) {
      for (std::int64_t d = 0; d < out.shape[2]; ++d)
        outcome.out.set(position, head, d, static_cast<float>(element(out, local, head, d)));
      outcome.lse[static_cast<std::size_t>(head * tokens + position)] =
          static_cast<const float*>(lse.data)[head * lse.strides[0] + local * lse.strides[1]];
    }
  }
}

Status run_rank(Communicator& comm, const AttentionSpec& spec, const Inputs& inputs, Outcome& outcome) {
  Result<RingAttention> ring = RingAttention::create(comm, spec);
  if (!ring.is_ok()) return ring.status();
  fill_all(ring.value(), inputs);
  if (Status done = ring->forward(); !done.is_ok()) return done;
  collect(ring.value(), comm.rank(), ring->out(), ring->lse(), outcome);
  return {};
}

CommunicatorOptions small_options() {
  CommunicatorOptions options;
  options.arena_bytes = std::size_t{1} << 20;
  options.deadline = std::chrono::seconds(60);
  return options;
}

Outcome run_ring(const AttentionSpec& spec, int ranks, const Inputs& inputs) {
  Outcome outcome(spec, ranks);
  const auto body = [&](Communicator& comm) { return run_rank(comm, spec, inputs, outcome); };
  const Status status = run_threads(ranks, body, small_options());
  EXPECT_TRUE(status.is_ok()) << status.to_string() << "\n" << describe(spec, ranks);
  return outcome;
}

const OracleResult& OracleCache::of(const AttentionSpec& spec) {
  const std::string key = concat(spec.tokens, '/', spec.q_heads, '/', spec.kv_heads, '/', spec.head_dim, '/',
                                 static_cast<int>(spec.dtype), '/', static_cast<int>(spec.mask));
  const auto found = results_.find(key);
  if (found != results_.end()) return found->second;
  return results_.emplace(key, oracle_of(spec, inputs_)).first->second;
}

OracleResult oracle_of(const AttentionSpec& spec, const Inputs& inputs) {
  HostTensor q(spec.dtype, spec.tokens, spec.q_heads, spec.head_dim);
  HostTensor k(spec.dtype, spec.tokens, spec.kv_heads, spec.head_dim);
  HostTensor v(spec.dtype, spec.tokens, spec.kv_heads, spec.head_dim);
  fill_rows(q.view(), counting(spec.tokens), inputs.q);
  fill_rows(k.view(), counting(spec.tokens), inputs.k);
  fill_rows(v.view(), counting(spec.tokens), inputs.v);
  OracleProblem problem{
      .q = q.view(), .k = k.view(), .v = v.view(), .q_global = {}, .k_global = {}, .rows = {}};
  problem.scale = spec.scale != 0 ? double{spec.scale} : 1.0 / std::sqrt(double(spec.head_dim));
  problem.band = band_of(spec.mask);
  return oracle_attention(problem);
}

Difference compare(const Outcome& outcome, const OracleResult& oracle, const AttentionSpec& spec) {
  Difference difference;
  double squares = 0;
  std::size_t at = 0;
  for (std::int64_t row = 0; row < spec.tokens; ++row) {
    for (std::int64_t head = 0; head < spec.q_heads; ++head) {
      for (std::int64_t d = 0; d < spec.head_dim; ++d, ++at) {
        const double error = distance(element(outcome.out.view(), row, head, d), oracle.out[at]);
        difference.max_out = std::max(difference.max_out, error);
        squares += error * error;
      }
    }
  }
  difference.rms_out = at == 0 ? 0 : std::sqrt(squares / static_cast<double>(at));
  for (std::size_t index = 0; index < oracle.lse.size(); ++index) {
    difference.max_lse =
        std::max(difference.max_lse, distance(double{outcome.lse[index]}, oracle.lse[index]));
  }
  return difference;
}

double tolerance(const AttentionSpec& spec, double v_max) {
  const double keys = std::sqrt(static_cast<double>(std::max<std::int64_t>(spec.tokens, 1)));
  if (spec.dtype == DType::float32) return 2e-6 * keys * v_max;
  // Half an ulp of the output and, on vector units, of every weight: 2^-8 for bf16; fp16 weights may be bf16.
  return (spec.dtype == DType::bfloat16 ? 0x1p-7 : 0x1p-8) * v_max;
}

std::string describe(const AttentionSpec& spec, int ranks) {
  return concat("ranks ", ranks, " tokens ", spec.tokens, " heads ", spec.q_heads, "/", spec.kv_heads,
                " dim ", spec.head_dim, " ", name_of(spec.dtype), " mask ", static_cast<int>(spec.mask),
                " layout ", static_cast<int>(spec.layout), " strategy ", static_cast<int>(spec.strategy),
                " queries ", static_cast<int>(spec.queries), " overlap ", static_cast<int>(spec.overlap),
                " chunk ", spec.chunk_bytes);
}

}  // namespace ringcomm::test
