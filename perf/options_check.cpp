// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include "background.hpp"
#include "operations.hpp"
#include "options_flags.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::perf {
namespace {

bool is_attention(const Options& o) {
  return o.op == "ring_attention" || o.op == "attention_step" || o.op == "decode_step";
}

std::optional<UsageError> read_types(Options& o, const Operation& operation, const std::string& word) {
  const std::vector<DType> possible = types_of(operation);
  if (word.empty()) {
    if (is_attention(o)) o.dtypes = {DType::bfloat16};
    return {};
  }
  if (word == "all") {
    o.dtypes = possible;
    return {};
  }
  auto type = parse_dtype(word == "f8e4m3" ? "float8_e4m3" : word == "f8e5m2" ? "float8_e5m2" : word);
  if (!type.is_ok()) return UsageError{concat("-d: ", type.status().message())};
  o.dtypes = {type.value()};
  if (std::find(possible.begin(), possible.end(), type.value()) == possible.end())
    return UsageError{concat("-d ", word, " is not implemented for ", o.op), kNotAvailable};
  return {};
}

std::optional<UsageError> read_redop(Options& o, const std::string& word) {
  using enum ReduceOp;
  if (word.empty()) return {};
  if (word == "all") {
    o.redops = {sum, max, min};
  } else if (word == "sum" || word == "max" || word == "min") {
    o.redops = {word == "sum" ? sum : word == "max" ? max : min};
  } else if (word == "prod" || word == "avg" || word == "mulsum") {
    return UsageError{concat("-o ", word, " is not implemented (sum, max and min are)"), kNotAvailable};
  } else {
    return UsageError{concat("-o ", word, " is no reduction. Did you mean ",
                             nearest_word(word, {"sum", "max", "min", "all"}), "?")};
  }
  return {};
}

std::optional<UsageError> read_root(Options& o, const std::string& word) {
  if (word.empty()) return {};
  o.all_roots = word == "all";
  if (o.all_roots) return {};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), o.root);
  if (error != std::errc() || end != word.data() + word.size() || o.root < 0)
    return UsageError{concat("-r ", word, " is neither a rank nor all")};
  return {};
}

std::optional<UsageError> check_sizes(const Options& o) {
  if (o.bytes_min > o.bytes_max)
    return UsageError{concat("-b ", o.bytes_min, " is larger than -e ", o.bytes_max)};
  if (o.factor != 0 && o.factor <= 1)
    return UsageError{concat("-f ", o.factor, " never reaches -e (it must be larger than 1)")};
  if (o.factor == 0 && o.bytes_step == 0 && o.bytes_min != o.bytes_max)
    return UsageError{"-i 0 never reaches -e"};
  return {};
}

/// Flags that the operation would ignore in silence.
std::optional<UsageError> check_combination(const Options& o, const Operation& operation) {
  const bool is_rotation = o.op == "ring_rotate";
  if (!operation.is_generic && (o.cpu_time || o.unalign != 0 || o.blocking != Blocking::none))
    return UsageError{concat("-C, -u and -z are not applicable to ", o.op, " (it has its own loop)")};
  if (is_attention(o) && (o.aggregated > 1 || o.is_cold || o.memory != Memory::window))
    return UsageError{concat("-m, -R 0 and --cold are not applicable to ", o.op)};
  if (o.op != "ring_attention" && (o.local != Local::none || o.limits))
    return UsageError{"--local and --limits are ring_attention's"};
  if (o.local != Local::none && o.limits) return UsageError{"--local excludes --limits"};
  if (!is_rotation && (o.full || o.no_read || o.plan_overhead || o.compute_us > 0))
    return UsageError{"--full, --no-read, --compute and --plan-overhead are ring_rotate's"};
  if (o.op != "softmax_all_reduce" && o.op != "sendrecv" &&
      (o.input_memory || o.result != ResultPlace::as_buffers))
    return UsageError{"--input and --result are softmax_all_reduce's and sendrecv's"};
  if (o.op == "sendrecv" && o.result == ResultPlace::in_place)
    return UsageError{"--result in_place is softmax_all_reduce's"};
  if (!o.background.empty()) {
    const auto known = background_operations();
    if (std::find(known.begin(), known.end(), o.background) == known.end())
      return UsageError{concat("--background ", o.background, " is not known. Did you mean ",
                               nearest_word(o.background, known), "?")};
  }
  if (o.sweep && o.serve) return UsageError{"--sweep excludes --serve"};
  if (o.sweep && o.cycles != 1) return UsageError{"--sweep excludes -N"};
  return {};
}

}  // namespace

std::optional<UsageError> check_calibration(const Options& o) {
  if (!o.op.empty())
    return UsageError{concat("--calibrate measures paths, not ", o.op, " (give no operation)")};
  if (o.sweep || o.serve || o.plan_overhead || !o.background.empty() || !o.json.empty())
    return UsageError{"--calibrate excludes --sweep, --serve, --background, --plan-overhead and -J"};
  // 8 bytes give alpha; a block of the size of a page or less gives no bandwidth.
  constexpr std::size_t kLargeBytesMin = 64U << 10;
  if (o.bytes_max < kLargeBytesMin)
    return UsageError{concat("-e ", o.bytes_max, " is too small to measure a bandwidth (at least 64K)")};
  return {};
}

std::optional<UsageError> check(Options& o, const Words& words) {
  if (!o.calibrate.empty()) return check_calibration(o);
  if (o.op.ends_with("_perf")) o.op.resize(o.op.size() - 5);
  const Operation* operation = find_operation(o.op);
  if (operation == nullptr) {
    std::vector<std::string> names;
    for (const Operation& known : operations()) names.emplace_back(known.name);
    if (o.op.empty()) return UsageError{"which operation? (op: all_gather, ring_rotate, ...)"};
    return UsageError{
        concat("unknown operation '", o.op, "'. Did you mean ", nearest_word(o.op, names), "?")};
  }
  for (const auto& error :
       {check_sizes(o), read_types(o, *operation, words.dtype), read_redop(o, words.redop),
        read_root(o, words.root), check_combination(o, *operation)}) {
    if (error) return error;
  }
  constexpr std::int64_t kTokens = 4096, kDecodeTokens = 512;
  if (o.tokens == 0) o.tokens = o.op == "decode_step" ? kDecodeTokens : kTokens;
  return {};
}

}  // namespace ringcomm::perf
