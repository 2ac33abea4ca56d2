// SPDX-License-Identifier: Apache-2.0
// exp and log of the softmax merge, on vectors: without branches, tables, fused operations or the C library,
// so that every vector width, compiler and machine gives the same bits.
#pragma once

#include "collectives/merge_vectors.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"

namespace ringcomm::inline v0::collectives {
namespace {

/// x + kRound - kRound is x rounded to the nearest integer, and the low bits of x + kRound are that integer
/// (|x| < 2^22).
constexpr float kRound = 0x1.8p23F;

/// y * 2^n, rounded once. NaN stays NaN whatever `n` is.
[[gnu::always_inline]] inline Vector scaled(const Vector& y, const Integers& n) {
  const Integers half = n >> 1;
  const Integers rest = n - half;
  return y * std::bit_cast<Vector>((half + 127) << 23) * std::bit_cast<Vector>((rest + 127) << 23);
}

[[gnu::always_inline]] inline Integers integer_in(const Vector& shifted) {
  return std::bit_cast<Integers>(std::bit_cast<Words>(shifted) - std::bit_cast<std::uint32_t>(kRound));
}

/// e^x for x <= 0; NaN stays NaN, 0 gives exactly 1, below -104 the result is 0. Relative error below 2e-7
/// where the result is normal. Coefficients: Cephes (Moshier), expf; 0.693359375 has 9 bits, so that its
/// product with the exponent is exact.
[[gnu::always_inline]] inline Vector merge_exp(Vector x) {
  x = x < -110.0F ? Vector{} - 110.0F : x;
  const Vector shifted = x * 0x1.715476p0F + kRound;
  const Vector whole = shifted - kRound;
  const Vector part = (x - whole * 0.693359375F) - whole * -2.12194440e-4F;
  Vector sum = 1.9875691500e-4F * part + 1.3981999507e-3F;
  sum = sum * part + 8.3334519073e-3F;
  sum = sum * part + 4.1665795894e-2F;
  sum = sum * part + 1.6666665459e-1F;
  sum = sum * part + 5.0000001201e-1F;
  return scaled(sum * (part * part) + part + 1.0F, integer_in(shifted));
}

/// 2^x for x <= 0, as merge_exp(). Minimax of degree 5 as in the attention kernels (error 9.2e-8 before
/// rounding), constant term 1.
[[gnu::always_inline]] inline Vector merge_exp2(Vector x) {
  x = x < -160.0F ? Vector{} - 160.0F : x;
  const Vector shifted = x + kRound;
  const Vector part = x - (shifted - kRound);
  Vector sum = 0x1.5bba14p-10F * part + 0x1.3cea88p-7F;
  sum = sum * part + 0x1.c6b752p-5F;
  sum = sum * part + 0x1.ebf9bcp-3F;
  sum = sum * part + 0x1.62e42ap-1F;
  return scaled(sum * part + 1.0F, integer_in(shifted));
}

/// exponent + log(mantissa) of x, the mantissa in [sqrt(1/2), sqrt(2)).
struct LogParts {
  Vector exponent;
  Vector rest;   ///< mantissa - 1
  Vector curve;  ///< log(mantissa) - rest
};

/// Coefficients: Cephes (Moshier), logf.
[[gnu::always_inline]] inline LogParts log_parts(const Vector& x) {
  const auto bits = std::bit_cast<Words>(x);
  const Integers exponent = std::bit_cast<Integers>(bits - 0x3f3504f3U) >> 23;
  const auto mantissa = std::bit_cast<Vector>(bits - (std::bit_cast<Words>(exponent) << 23));
  const Vector f = mantissa - 1.0F;
  const Vector square = f * f;
  Vector sum = 7.0376836292e-2F * f + -1.1514610310e-1F;
  sum = sum * f + 1.1676998740e-1F;
  sum = sum * f + -1.2420140846e-1F;
  sum = sum * f + 1.4249322787e-1F;
  sum = sum * f + -1.6668057665e-1F;
  sum = sum * f + 2.0000714765e-1F;
  sum = sum * f + -2.4999993993e-1F;
  sum = sum * f + 3.3333331174e-1F;
  return {__builtin_convertvector(exponent, Vector), f, sum * f * square - 0.5F * square};
}

/// ln x for normal, finite x > 0 (a sum of weights is at least 1); NaN stays NaN, 1 gives exactly 0. Error
/// below 2e-7 of the larger of 1 and |ln x|.
[[gnu::always_inline]] inline Vector merge_log(const Vector& x) {
  const LogParts parts = log_parts(x);
  const Vector curve = parts.curve + parts.exponent * -2.12194440e-4F;
  const Vector result = (parts.rest + curve) + parts.exponent * 0.693359375F;
  return x != x ? x : result;
}

/// As merge_log(), base 2.
[[gnu::always_inline]] inline Vector merge_log2(const Vector& x) {
  const LogParts parts = log_parts(x);
  const Vector result = (parts.rest + parts.curve) * 0x1.715476p0F + parts.exponent;
  return x != x ? x : result;
}

template <LogBase kBase>
[[gnu::always_inline]] inline Vector exponential(const Vector& x) {
  return kBase == LogBase::e ? merge_exp(x) : merge_exp2(x);
}
template <LogBase kBase>
[[gnu::always_inline]] inline Vector logarithm(const Vector& x) {
  return kBase == LogBase::e ? merge_log(x) : merge_log2(x);
}

}  // namespace
}  // namespace ringcomm::inline v0::collectives
