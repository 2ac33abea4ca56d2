// SPDX-License-Identifier: Apache-2.0
// What a person wants to know, on one screen.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "ringcomm/core/text.hpp"
#include "ringcomm/version.hpp"
#include "run.hpp"

namespace ringcomm::demo {
namespace {

struct Summary {
  double seconds = 0, exposed_seconds = 0, flop = 0, copied = 0;
  double rank_bytes = 0, extra_bytes = 0, one_rank_bytes = 0;
  double rows = 0, error_rms = 0, rounding_rms = 0, error_max = 0, lse_error_max = 0, not_finite = 0;
  double effective_keys_median = 0;
  bool passed = false;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The result is rounded to bf16 once, and so are the softmax weights before the second product; each costs
/// about the rounding alone (attention spec 6.9, row iii), hence at most three times it, and LSE is fp32
/// throughout.
constexpr double kErrorOverRoundingMax = 3.0;
constexpr double kLseErrorMax = 2e-3;

Summary summarise(const DemoResult& result) {
  Summary s;
  double error_squares = 0, value_squares = 0, rounding_squares = 0;
  double rehearsal = 0;
  for (const RankNumbers& rank : result.ranks) {
    s.seconds = std::max(s.seconds, rank.seconds);
    rehearsal = std::max(rehearsal, rank.rehearsal_seconds);
    s.flop += rank.flop;
    s.copied += rank.bytes_copied;
    s.rank_bytes = std::max(s.rank_bytes, rank.tensor_bytes + rank.extra_bytes);
    s.extra_bytes = std::max(s.extra_bytes, rank.extra_bytes);
    s.one_rank_bytes += rank.tensor_bytes + rank.extra_bytes;
    s.rows += rank.rows;
    error_squares += rank.error_squares;
    value_squares += rank.value_squares;
    rounding_squares += rank.rounding_squares;
    s.error_max = std::max(s.error_max, rank.error_max);
    s.lse_error_max = std::max(s.lse_error_max, rank.lse_error_max);
    s.not_finite += rank.not_finite;
  }
  s.exposed_seconds = s.seconds - rehearsal;
  s.error_rms = std::sqrt(error_squares / value_squares);
  s.rounding_rms = std::sqrt(rounding_squares / value_squares);
  s.effective_keys_median = median(result.effective_keys);
  s.passed = s.rows > 0 && s.not_finite == 0 && s.error_rms <= kErrorOverRoundingMax * s.rounding_rms &&
             s.lse_error_max <= kLseErrorMax && s.effective_keys_median >= 1 &&
             s.effective_keys_median <= 100;
  return s;
}

void print_paths(const DemoResult& result) {
  std::map<std::string, int> counts;
  for (std::size_t from = 0; from < result.paths.size(); ++from) {
    for (std::size_t to = 0; to < result.paths.size(); ++to) {
      if (from != to) ++counts[result.paths[from][to]];
    }
  }
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{} ({} pairs)", text.empty() ? "" : ", ", name, count);
  fmt::print("  transport             {}\n", text.empty() ? "none (one rank)" : text);
  if (result.paths.size() < 2 || result.paths.size() > 8) return;
  fmt::print("  per pair              ");
  for (std::size_t to = 0; to < result.paths.size(); ++to) fmt::print("{:>8}", fmt::format("rank {}", to));
  for (std::size_t from = 0; from < result.paths.size(); ++from) {
    fmt::print("\n    from rank {:<2}        ", from);
    for (const std::string& name : result.paths[from]) fmt::print("{:>8}", name);
  }
  fmt::print("\n");
}

}  // namespace

bool print_result(const DemoResult& result) {
  const Summary s = summarise(result);
  const double mib = 1024.0 * 1024.0;
  fmt::print(
      "\nringcomm {}: ring attention, the shape of Llama-3-8B (32 query heads, 8 KV heads, dim 128, bf16)\n",
      RINGCOMM_VERSION);
  fmt::print("  input                 {} tokens of {}, causal, zigzag\n", result.options.tokens,
             result.text_name);
  fmt::print("  ranks                 {} {} on this host, kernels: {}\n", result.ranks.size(),
             result.options.threads ? "threads" : "processes", result.cpu_level);
  if (result.cpu_level == "scalar") {
    fmt::print("  note                  no AVX-512 bf16 on this CPU: {} tokens, plain C++ kernels\n",
               result.options.tokens);
  }
  fmt::print("  time                  {:.3f} s, {:.3f} TFLOP/s ({:.3f} TFLOP of useful work)\n", s.seconds,
             s.flop / s.seconds * 1e-12, s.flop * 1e-12);
  fmt::print(
      "  exposed communication {:.3f} s, {:.1f} % of the time (against the same schedule on local blocks)\n",
      s.exposed_seconds, 100 * s.exposed_seconds / s.seconds);
  fmt::print("  KV bytes copied       {} (blocks are read where they lie)\n",
             format_bytes(static_cast<unsigned long long>(s.copied)));
  fmt::print(
      "  memory per rank       {:.1f} MiB (of it {:.1f} MiB beside Q, K, V, out, lse); one rank alone: "
      "{:.1f} MiB\n",
      s.rank_bytes / mib, s.extra_bytes / mib, s.one_rank_bytes / mib);
  fmt::print(
      "  error against float64 rms {:.2e} of the output ({:.2f} x one bf16 rounding), max {:.2e}, lse max "
      "{:.1e}\n",
      s.error_rms, s.error_rms / s.rounding_rms, s.error_max, s.lse_error_max);
  fmt::print("  checked               {:.0f} rows ({:.0f} positions x 32 heads), {} values not finite\n",
             s.rows, s.rows / 32, s.not_finite);
  fmt::print("  effective keys        median {:.1f} of up to {} (a trained model: 1 to 100)\n",
             s.effective_keys_median, result.options.tokens);
  print_paths(result);
  fmt::print("  check                 {}\n", s.passed ? "passed" : "FAILED");
  return s.passed;
}

Status write_json(const DemoResult& result, const std::filesystem::path& file) {
  const Summary s = summarise(result);
  const nlohmann::json json{{"version", RINGCOMM_VERSION},
                            {"text", result.text_name},
                            {"tokens", result.options.tokens},
                            {"ranks", result.ranks.size()},
                            {"ranks_are", result.options.threads ? "threads" : "processes"},
                            {"cpu_level", result.cpu_level},
                            {"seconds", s.seconds},
                            {"tflop_per_s", s.flop / s.seconds * 1e-12},
                            {"exposed_seconds", s.exposed_seconds},
                            {"kv_bytes_copied", s.copied},
                            {"rank_bytes", s.rank_bytes},
                            {"one_rank_bytes", s.one_rank_bytes},
                            {"error_rms", s.error_rms},
                            {"error_rms_over_rounding", s.error_rms / s.rounding_rms},
                            {"lse_error_max", s.lse_error_max},
                            {"rows_checked", s.rows},
                            {"effective_keys_median", s.effective_keys_median},
                            {"paths", result.paths},
                            {"passed", s.passed}};
  std::ofstream stream(file);
  stream << json.dump(2) << "\n";
  return stream.good() ? Status() : Status::not_available(concat("cannot write ", file.string()));
}

}  // namespace ringcomm::demo
