// SPDX-License-Identifier: Apache-2.0
// Attention whose result is known in closed form: query (1, 0, ...), key (sin j, 0, ...) and value (cos j, 0,
// ...) make row i the mean of cos j over j <= i with weights exp(sin j), in float64 from the rounded inputs.
#include <cmath>

#include "core/try.hpp"
#include "ringcomm/attention/ring_attention.hpp"
#include "ringcomm/core/dtype.hpp"
#include "ringcomm/core/text.hpp"
#include "selftest.hpp"

namespace ringcomm::doctor {
namespace {

double rounded(double value, DType dtype) {
  return dtype == DType::bfloat16 ? static_cast<double>(to_float(to_bf16(static_cast<float>(value))))
                                  : static_cast<double>(static_cast<float>(value));
}

void store(const TensorView& tensor, std::size_t at, double value) {
  if (tensor.dtype == DType::bfloat16) {
    static_cast<bf16*>(tensor.data)[at] = to_bf16(static_cast<float>(value));
  } else {
    static_cast<float*>(tensor.data)[at] = static_cast<float>(value);
  }
}

double load(const TensorView& tensor, std::size_t at) {
  return tensor.dtype == DType::bfloat16
             ? static_cast<double>(to_float(static_cast<const bf16*>(tensor.data)[at]))
             : static_cast<double>(static_cast<const float*>(tensor.data)[at]);
}

template <class Value>
void fill(const TensorView& tensor, const std::vector<std::int64_t>& positions, Value&& value) {
  const auto row = static_cast<std::size_t>(tensor.shape[1] * tensor.shape[2]);
  const auto dim = static_cast<std::size_t>(tensor.shape[2]);
  for (std::size_t at = 0; at < positions.size() * row; ++at)
    store(tensor, at, at % dim == 0 ? value(static_cast<double>(positions[at / row])) : 0.0);
}

}  // namespace

Status check_attention(Communicator& comm, std::int64_t tokens, DType dtype) {
  AttentionSpec spec;
  spec.tokens = tokens;
  spec.q_heads = 4;
  spec.kv_heads = 2;
  spec.head_dim = 64;
  spec.dtype = dtype;
  spec.scale = 1.0F;
  RINGCOMM_TRY_ASSIGN(RingAttention ring, RingAttention::create(comm, spec));
  fill(ring.q(), ring.positions(), [](double) { return 1.0; });
  fill(ring.k(), ring.positions(), [](double j) { return std::sin(j); });
  fill(ring.v(), ring.positions(), [](double j) { return std::cos(j); });
  RINGCOMM_TRY(ring.forward());
  std::vector<double> expected;
  double weights = 0;
  double sum = 0;
  for (std::int64_t j = 0; j < tokens; ++j) {
    const double weight = std::exp(rounded(std::sin(static_cast<double>(j)), dtype));
    weights += weight;
    sum += weight * rounded(std::cos(static_cast<double>(j)), dtype);
    expected.push_back(sum / weights);
  }
  // fp32: rounding of some thousand additions; bf16: half an ulp of 1 for the result, as much for the
  // weights.
  const double tolerance = dtype == DType::bfloat16 ? 1.0 / 128 : 2e-5;
  const auto row = static_cast<std::size_t>(spec.q_heads * spec.head_dim);
  for (std::size_t at = 0; at < ring.positions().size() * row;
       at += static_cast<std::size_t>(spec.head_dim)) {
    const std::int64_t position = ring.positions()[at / row];
    const double wanted = expected[static_cast<std::size_t>(position)];
    const double got = load(ring.out(), at);
    if (std::fabs(got - wanted) <= tolerance) continue;
    return Status::internal(concat("attention over ", tokens, " tokens (", name_of(dtype), "): row ",
                                   position, " is ", got, " instead of ", wanted));
  }
  return {};
}

}  // namespace ringcomm::doctor
