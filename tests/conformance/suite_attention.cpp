// SPDX-License-Identifier: Apache-2.0
// Rotation, softmax merge and a small ring attention forward against float64.
#include <cmath>
#include <limits>
#include <vector>

#include "conformance/suite_case.hpp"
#include "ringcomm/attention/ring_attention.hpp"
#include "ringcomm/collectives/ring_rotation.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"
#include "support/oracle_attention.hpp"

namespace ringcomm::conformance {
namespace {

/// Independent values in (-1, 1) that any rank can repeat.
float noise(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t mixed = a * 0x9e3779b97f4a7c15U + b * 0xbf58476d1ce4e5b9U + c * 0x94d049bb133111ebU;
  mixed = (mixed ^ (mixed >> 31)) * 0x9e3779b97f4a7c15U;
  return static_cast<float>((mixed ^ (mixed >> 29)) >> 40) * 0x1p-23F - 1.0F;
}

Status rotate(Suite& suite, RotationChoice mode, plan::Overlap overlap, int direction, Place place) {
  constexpr std::int64_t kDim = 6;
  RotationOptions options;
  options.mode = mode;
  options.overlap = overlap;
  options.direction = direction;
  for (int rank = 0; rank < suite.ranks(); ++rank) options.rows.push_back(rank % 3 == 1 ? 0 : 4 + rank);
  const std::int64_t rows = options.rows[static_cast<std::size_t>(suite.rank())];
  const TensorView both = suite.tensor(0, DType::float32, 2 * rows * kDim, place);
  fill_pattern(both, suite.rank(), 4);
  const auto part = [&](std::int64_t first) {
    return TensorView::contiguous(
        static_cast<std::byte*>(both.data) + static_cast<std::size_t>(first) * sizeof(float), DType::float32,
        {rows, 1, kDim});
  };
  RINGCOMM_TRY_ASSIGN(auto rotation,
                      RingRotation::create(suite.channel(), part(0), part(rows * kDim), options));
  for (int repeat = 0; repeat < 2; ++repeat) {
    RINGCOMM_TRY(rotation.start());
    int steps = 0;
    while (RotationStep step = rotation.next()) {
      const RotationPart& got = step.parts()[0];
      const std::int64_t elements = options.rows[static_cast<std::size_t>(got.source)] * kDim;
      const auto flat = [&](const TensorView& view) {
        return TensorView::contiguous(view.data, DType::float32, {elements});
      };
      RINGCOMM_TRY(check_pattern(flat(got.k), 0, elements, got.source, 4));
      RINGCOMM_TRY(check_pattern(flat(got.v), 0, elements, got.source, 4, elements));
      ++steps;
    }
    RINGCOMM_TRY(rotation.status());
    RINGCOMM_TRY(expect(steps == suite.ranks(), concat(steps, " steps")));
  }
  return {};
}

/// Rank r's partial of row i has out noise and a log-sum-exp of its own; every fourth row of odd ranks is
/// empty.
bool is_empty_row(int rank, std::int64_t row) { return rank % 2 == 1 && row % 4 == 0; }
double lse_of(int rank, std::int64_t row) {
  return 3.0 *
         static_cast<double>(noise(5, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(row)));
}
double out_of(int rank, std::int64_t element) {
  return static_cast<double>(noise(6, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(element)));
}

Status merge(Suite& suite, MergeChoice choice, std::int64_t rows) {
  constexpr std::int64_t kDim = 8;
  const std::int64_t elements = rows * kDim;
  const TensorView all = suite.tensor(0, DType::float32, elements + rows, Place::window);
  auto* const out = static_cast<float*>(all.data);
  SoftmaxPartial partial;
  partial.out = TensorView::contiguous(out, DType::float32, {rows, kDim});
  partial.statistic = TensorView::contiguous(out + elements, DType::float32, {rows});
  for (std::int64_t i = 0; i < elements; ++i) out[i] = static_cast<float>(out_of(suite.rank(), i));
  for (std::int64_t row = 0; row < rows; ++row) {
    out[elements + row] = is_empty_row(suite.rank(), row) ? -std::numeric_limits<float>::infinity()
                                                          : static_cast<float>(lse_of(suite.rank(), row));
  }
  SoftmaxAllReduceOptions options;
  options.algorithm = choice;
  RINGCOMM_TRY(Suite::finish(softmax_all_reduce(suite.channel(), partial, partial, options)));
  for (std::int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    std::vector<double> wanted(kDim, 0.0);
    for (int rank = 0; rank < suite.ranks(); ++rank) {
      if (is_empty_row(rank, row)) continue;
      const double weight = std::exp(static_cast<double>(static_cast<float>(lse_of(rank, row))));
      sum += weight;
      for (std::int64_t d = 0; d < kDim; ++d)
        wanted[static_cast<std::size_t>(d)] += weight * out_of(rank, row * kDim + d);
    }
    RINGCOMM_TRY(expect(std::fabs(static_cast<double>(out[elements + row]) - std::log(sum)) < 1e-5,
                        concat("lse of row ", row)));
    for (std::int64_t d = 0; d < kDim; ++d) {
      const double got = static_cast<double>(out[row * kDim + d]);
      RINGCOMM_TRY(
          expect(std::fabs(got - wanted[static_cast<std::size_t>(d)] / sum) < 1e-5, concat("row ", row)));
    }
  }
  return {};
}

void fill_rows(const TensorView& tensor, const std::vector<std::int64_t>& positions, std::uint64_t salt) {
  auto* const data = static_cast<float*>(tensor.data);
  for (std::size_t row = 0; row < positions.size(); ++row) {
    for (std::int64_t head = 0; head < tensor.shape[1]; ++head) {
      for (std::int64_t d = 0; d < tensor.shape[2]; ++d) {
        data[static_cast<std::int64_t>(row) * tensor.strides[0] + head * tensor.strides[1] + d] = noise(
            static_cast<std::uint64_t>(positions[row]), salt, static_cast<std::uint64_t>(head * 1000 + d));
      }
    }
  }
}

/// q, k and v of all tokens, as one rank without peers would hold them.
struct WholeSequence {
  std::vector<float> memory[3];
  TensorView q, k, v;
  explicit WholeSequence(const AttentionSpec& spec) {
    std::vector<std::int64_t> positions;
    for (std::int64_t token = 0; token < spec.tokens; ++token) positions.push_back(token);
    TensorView* const views[] = {&q, &k, &v};
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t heads = i == 0 ? spec.q_heads : spec.kv_heads;
      memory[i].resize(static_cast<std::size_t>(spec.tokens * heads * spec.head_dim));
      *views[i] =
          TensorView::contiguous(memory[i].data(), DType::float32, {spec.tokens, heads, spec.head_dim});
      fill_rows(*views[i], positions, i + 1);
    }
  }
};

Status attend(Suite& suite, Mask mask, Layout layout, AttentionStrategy strategy) {
  AttentionSpec spec;
  spec.tokens = 53;
  spec.q_heads = 2;
  spec.kv_heads = 1;
  spec.head_dim = 64;
  spec.dtype = DType::float32;
  spec.mask = mask;
  spec.layout = layout;
  spec.strategy = strategy;
  RINGCOMM_TRY_ASSIGN(auto ring, RingAttention::create(suite.comm(), spec));
  fill_rows(ring.q(), ring.positions(), 1);
  fill_rows(ring.k(), ring.kv_positions(), 2);
  fill_rows(ring.v(), ring.kv_positions(), 3);
  RINGCOMM_TRY(ring.forward());
  const WholeSequence whole(spec);
  test::OracleProblem problem;
  problem.q = whole.q;
  problem.k = whole.k;
  problem.v = whole.v;
  problem.scale = 1.0 / std::sqrt(static_cast<double>(spec.head_dim));
  problem.band = band_of(mask);
  problem.rows = ring.positions();
  const test::OracleResult oracle = test::oracle_attention(problem);
  const TensorView out = ring.out();
  std::size_t at = 0;
  for (std::int64_t row = 0; row < out.shape[0]; ++row) {
    for (std::int64_t head = 0; head < out.shape[1]; ++head) {
      for (std::int64_t d = 0; d < out.shape[2]; ++d, ++at)
        RINGCOMM_TRY(expect(std::fabs(test::element(out, row, head, d) - oracle.out[at]) < 2e-5,
                            concat("out of row ", row, " head ", head)));
    }
  }
  return {};
}

}  // namespace

Status suite_of_attention(Suite& suite) {
  for (const RotationChoice mode : {RotationChoice::automatic, RotationChoice::relay}) {
    for (const plan::Overlap overlap : {plan::Overlap::on, plan::Overlap::off}) {
      for (const int direction : {1, -1}) {
        for (const Place place : {Place::window, Place::shifted}) {
          if (place == Place::shifted && overlap == plan::Overlap::on) continue;
          RINGCOMM_TRY(suite.run(concat("ring_rotation mode ", static_cast<int>(mode), " overlap ",
                                        static_cast<int>(overlap), " direction ", direction),
                                 [&] { return rotate(suite, mode, overlap, direction, place); }));
        }
      }
    }
  }
  for (const MergeChoice choice : {MergeChoice::automatic, MergeChoice::one_shot, MergeChoice::two_shot}) {
    for (const std::int64_t rows : {0, 1, 13, 300})
      RINGCOMM_TRY(suite.run(concat("softmax_all_reduce choice ", static_cast<int>(choice), " rows ", rows),
                             [&] { return merge(suite, choice, rows); }));
  }
  for (const AttentionStrategy strategy :
       {AttentionStrategy::automatic, AttentionStrategy::ring_relay, AttentionStrategy::all_gather}) {
    for (const Mask mask : {Mask::causal, Mask::full}) {
      const Layout layout = mask == Mask::causal ? Layout::zigzag : Layout::contiguous;
      RINGCOMM_TRY(suite.run(
          concat("ring_attention strategy ", static_cast<int>(strategy), " mask ", static_cast<int>(mask)),
          [&] { return attend(suite, mask, layout, strategy); }));
    }
  }
  return {};
}

}  // namespace ringcomm::conformance
