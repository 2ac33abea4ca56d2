// SPDX-License-Identifier: Apache-2.0
// The host block kernel alone: one rank, one thread, useful GFLOP/s against the peak loop of the same
// process, with sampled rows checked against softmax in double.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "elements.hpp"
#include "ringcomm/attention/peak.hpp"
#include "ringcomm/attention/ring_attention.hpp"
#include "sample_request.hpp"
#include "stats.hpp"
#include "try.hpp"

namespace ringcomm::perf {
namespace {

struct Options {
  std::vector<std::string> dtypes{"bf16", "fp16", "fp32"};
  std::vector<std::string> masks{"full", "causal"};
  std::vector<std::int64_t> sequences{1024, 2048, 4096, 8192};
  int head_dim = 128, q_heads = 1, kv_heads = 1, iterations = 11;
  std::string level;
  bool is_json = false, is_serving = false;
};

struct Sample {
  double gflops = 0, peak_gflops = 0;
  std::string level, dtype, mask;
  std::int64_t sequence = 0, wrong = 0;
  int head_dim = 0;
};

constexpr std::chrono::milliseconds kPeakTime{10};

/// Of the faster instruction that the level has for the type: see measure_compute_peak().
double peak_of(DType dtype, CpuLevel level) {
  const ComputePeak peak = measure_compute_peak(kPeakTime, level);
  return dtype == DType::bfloat16 ? std::max(peak.bf16_dot_gflop_per_s, peak.fp32_fma_gflop_per_s)
                                  : peak.fp32_fma_gflop_per_s;
}

/// Uniform in [-1, 1), the same for everyone (splitmix64).
double noise(std::uint64_t index) {
  std::uint64_t bits = index * 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
  return static_cast<double>((bits ^ (bits >> 31)) >> 11) * 0x1p-52 - 1;
}

void fill(const TensorView& view, std::uint64_t seed) {
  for (std::int64_t row = 0; row < view.shape[0]; ++row)
    for (std::int64_t head = 0; head < view.shape[1]; ++head)
      for (std::int64_t d = 0; d < view.shape[2]; ++d) {
        const auto number = static_cast<std::uint64_t>((row * view.shape[1] + head) * view.shape[2] + d);
        const std::int64_t at = row * view.strides[0] + head * view.strides[1] + d;
        store_element(view.dtype, view.data, at, noise(seed << 40 | number));
      }
}

double element(const TensorView& view, std::int64_t row, std::int64_t head, std::int64_t d) {
  return load_element(view.dtype, view.data, row * view.strides[0] + head * view.strides[1] + d);
}

/// Elements of one row that are further from softmax in double than the type's rounding explains.
std::int64_t count_wrong(const RingAttention& ring, std::int64_t row, int head) {
  const AttentionSpec& spec = ring.spec();
  const std::int64_t keys = spec.mask == Mask::causal ? row + 1 : spec.tokens;
  const int kv_head = head / (spec.q_heads / spec.kv_heads);
  std::vector<double> expected(static_cast<std::size_t>(spec.head_dim), 0.0);
  double sum = 0;
  for (std::int64_t j = 0; j < keys; ++j) {
    double x = 0;
    for (int d = 0; d < spec.head_dim; ++d)
      x += element(ring.q(), row, head, d) * element(ring.k(), j, kv_head, d);
    const double weight = std::exp(x / std::sqrt(static_cast<double>(spec.head_dim)));  // |x| <= head_dim
    sum += weight;
    for (int d = 0; d < spec.head_dim; ++d)
      expected[static_cast<std::size_t>(d)] += weight * element(ring.v(), j, kv_head, d);
  }
  const double bound = spec.dtype == DType::float32 ? 1e-5 : spec.dtype == DType::float16 ? 2e-3 : 8e-3;
  std::int64_t wrong = 0;
  for (int d = 0; d < spec.head_dim; ++d) {
    const double want = expected[static_cast<std::size_t>(d)] / sum;
    wrong += std::abs(element(ring.out(), row, head, d) - want) <= bound ? 0 : 1;
  }
  return wrong;
}

std::int64_t count_wrong_samples(const RingAttention& ring) {
  const std::int64_t rows = ring.spec().tokens;
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(rows, 8); ++i) {
    const std::int64_t row = rows <= 8 ? i : i * (rows - 1) / 7;
    wrong += count_wrong(ring, row, static_cast<int>(i % ring.spec().q_heads));
  }
  return wrong;
}

Result<RingAttention> prepare(Communicator& comm, const Options& options, const std::string& dtype,
                              const std::string& mask, std::int64_t sequence) {
  const AttentionSpec spec{.tokens = sequence,
                           .q_heads = options.q_heads,
                           .kv_heads = options.kv_heads,
                           .head_dim = options.head_dim,
                           .dtype = dtype == "bf16"   ? DType::bfloat16
                                    : dtype == "fp16" ? DType::float16
                                                      : DType::float32,
                           .mask = mask == "full" ? Mask::full : Mask::causal};
  PERF_TRY_ASSIGN(RingAttention ring, RingAttention::create(comm, spec));
  fill(ring.q(), 1);
  fill(ring.k(), 2);
  fill(ring.v(), 3);
  return ring;
}

/// Median of `iterations` passes after one that is not counted; the larger peak of before and after.
Result<Sample> sample(RingAttention& ring, int iterations) {
  const AttentionSpec& spec = ring.spec();
  PERF_TRY(ring.forward());
  const CpuLevel level = ring.report().level;
  const double before = peak_of(spec.dtype, level);
  std::vector<double> seconds;
  for (int i = 0; i < iterations; ++i) {
    PERF_TRY(ring.forward());
    seconds.push_back(ring.report().seconds);
  }
  const double peak = std::max(before, peak_of(spec.dtype, level));
  return Sample{.gflops = ring.report().flop / median(std::move(seconds)) * 1e-9,
                .peak_gflops = peak,
                .level = std::string(name_of(level)),
                .dtype = spec.dtype == DType::bfloat16  ? "bf16"
                         : spec.dtype == DType::float16 ? "fp16"
                                                        : "fp32",
                .mask = spec.mask == Mask::full ? "full" : "causal",
                .sequence = spec.tokens,
                .wrong = count_wrong_samples(ring),
                .head_dim = spec.head_dim};
}

void print(const Sample& s, bool is_json) {
  const double share = s.peak_gflops > 0 ? s.gflops / s.peak_gflops : 0;
  const char* const format =
      is_json ? R"({"gflops": %.2f, "peak_gflops": %.2f, "share": %.4f, "level": "%s", "dtype": "%s", )"
                R"("mask": "%s", "seq": %lld, "head_dim": %d, "wrong": %lld})"
                "\n"
              : "%10.1f %10.1f %8.3f   %-12s %-6s %-7s %6lld %8d %6lld\n";
  std::printf(format, s.gflops, s.peak_gflops, share, s.level.c_str(), s.dtype.c_str(), s.mask.c_str(),
              static_cast<long long>(s.sequence), s.head_dim, static_cast<long long>(s.wrong));
  std::fflush(stdout);
}

/// Reads "go SEQ ITERATIONS" lines and answers each with one line of JSON, for the first dtype and mask.
Status serve(Communicator& comm, const Options& options) {
  for (;;) {
    const SampleRequest request = read_request(stdin);
    if (request.iterations <= 0) return {};
    PERF_TRY_ASSIGN(RingAttention ring,
                    prepare(comm, options, options.dtypes.front(), options.masks.front(), request.bytes));
    PERF_TRY_ASSIGN(const Sample one, sample(ring, request.iterations));
    print(one, true);
  }
}

Status sweep(Communicator& comm, const Options& options, std::int64_t& wrong) {
  if (!options.is_json)
    std::printf(
        "# one thread, %d query over %d KV heads; median of %d passes; share of the peak loop's rate\n"
        "#  GFLOP/s       peak    share   level        dtype  mask        seq head_dim  wrong\n",
        options.q_heads, options.kv_heads, options.iterations);
  for (const std::string& dtype : options.dtypes)
    for (const std::string& mask : options.masks)
      for (const std::int64_t sequence : options.sequences) {
        PERF_TRY_ASSIGN(RingAttention ring, prepare(comm, options, dtype, mask, sequence));
        PERF_TRY_ASSIGN(const Sample one, sample(ring, options.iterations));
        print(one, options.is_json);
        wrong += one.wrong;
      }
  return {};
}

}  // namespace
}  // namespace ringcomm::perf

int main(int argc, char** argv) {
  namespace rc = ringcomm;
  rc::perf::Options options;
  CLI::App app{
      "Useful GFLOP/s of the host block kernel, checked on sampled rows. Exit codes: 0 ok, 6 usage, 7 "
      "wrong data, 5 not possible here."};
  app.add_option("--dtype", options.dtypes, "comma list of bf16, fp16, fp32 (all)")
      ->delimiter(',')
      ->check(CLI::IsMember({"bf16", "fp16", "fp32"}));
  app.add_option("--mask", options.masks, "comma list of full, causal (both)")
      ->delimiter(',')
      ->check(CLI::IsMember({"full", "causal"}));
  app.add_option("--seq", options.sequences, "comma list of lengths (1024,2048,4096,8192)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--head-dim", options.head_dim, "32, 64, 96, 128, 192 or 256 (128)");
  app.add_option("--q-heads", options.q_heads, "query heads (1)");
  app.add_option("--kv-heads", options.kv_heads, "KV heads (1)");
  app.add_option("--level", options.level, "scalar, avx2 or avx512_bf16 (RINGCOMM_DISPATCH, else the best)");
  app.add_option("--iterations", options.iterations, "passes of which the median counts (11)")
      ->check(CLI::Range(1, 1000000));
  app.add_flag("--json", options.is_json, "one JSON object a line");
  app.add_flag("--serve", options.is_serving, R"(answer "go SEQ ITERATIONS" lines, for perf/compare)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return 6;
  }
  if (!options.level.empty()) setenv("RINGCOMM_DISPATCH", options.level.c_str(), 1);
  std::int64_t wrong = 0;
  const rc::Status status = rc::run_threads(1, [&](rc::Communicator& comm) {
    return options.is_serving ? rc::perf::serve(comm, options) : rc::perf::sweep(comm, options, wrong);
  });
  if (!status.is_ok()) {
    std::fprintf(stderr, "ringcomm-block-kernel: %s\n", status.to_string().c_str());
    return 5;
  }
  return wrong == 0 ? 0 : 7;
}
