// SPDX-License-Identifier: Apache-2.0
#include "operations.hpp"

#include <algorithm>
#include <array>

namespace ringcomm::perf {
namespace {

constexpr std::array kOperations{
    Operation{.name = "ring_rotate",
              .is_generic = false,
              .definition = "block S of K and V; busbw = S/t. --full: N S, (N-1)/N"},
    Operation{.name = "softmax_all_reduce",
              .types = TypeSet::softmax,
              .definition = "rows x (D x element + statistics); 2(N-1)/N"},
    Operation{.name = "softmax_reduce_scatter",
              .types = TypeSet::softmax,
              .definition = "as softmax_all_reduce; (N-1)/N"},
    Operation{.name = "all_gather", .definition = "the gathered total; (N-1)/N"},
    Operation{.name = "all_reduce",
              .types = TypeSet::arithmetic,
              .reduces = true,
              .definition = "the input; 2(N-1)/N"},
    Operation{.name = "reduce_scatter",
              .types = TypeSet::arithmetic,
              .reduces = true,
              .definition = "the whole input; (N-1)/N"},
    Operation{.name = "alltoall", .definition = "what a rank sends to all; (N-1)/N"},
    Operation{.name = "broadcast", .is_rooted = true, .definition = "the root's input; 1"},
    Operation{.name = "sendrecv", .definition = "what a rank sends to the next; 1"},
    Operation{.name = "ring_attention",
              .types = TypeSet::softmax,
              .is_generic = false,
              .definition = "K and V of all tokens; (N-1)/N, and TFLOP/s"},
    Operation{.name = "attention_step",
              .types = TypeSet::softmax,
              .is_generic = false,
              .definition = "block S of K and V, --queries rows against it; 1"},
    Operation{.name = "decode_step",
              .types = TypeSet::softmax,
              .is_generic = false,
              .definition = "batch x heads partial rows; as softmax_all_reduce"},
};

}  // namespace

std::span<const Operation> operations() { return kOperations; }

const Operation* find_operation(std::string_view name) {
  const auto at = std::ranges::find(kOperations, name, &Operation::name);
  return at == kOperations.end() ? nullptr : &*at;
}

std::string operation_of_program(std::string_view program) {
  if (const auto slash = program.rfind('/'); slash != std::string_view::npos)
    program.remove_prefix(slash + 1);
  constexpr std::string_view kSuffix = "_perf";
  if (!program.ends_with(kSuffix)) return {};
  program.remove_suffix(kSuffix.size());
  return find_operation(program) != nullptr ? std::string(program) : std::string();
}

std::vector<DType> types_of(const Operation& operation) {
  using enum DType;
  switch (operation.types) {
    case TypeSet::softmax:
      return {float16, float32, bfloat16};
    case TypeSet::arithmetic:
      return {int8, uint8, int32, uint32, int64, uint64, float16, float32, float64, bfloat16};
    default:
      return {int8,    uint8,   int32,   uint32,   int64,       uint64,
              float16, float32, float64, bfloat16, float8_e4m3, float8_e5m2};
  }
}

std::string_view nccl_name_of(DType type) {
  switch (type) {
    case DType::float16:
      return "half";
    case DType::float32:
      return "float";
    case DType::float64:
      return "double";
    case DType::float8_e4m3:
      return "f8e4m3";
    case DType::float8_e5m2:
      return "f8e5m2";
    default:
      return name_of(type);
  }
}

}  // namespace ringcomm::perf
