// SPDX-License-Identifier: Apache-2.0
// The operations by name: what each takes from the command line.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/core/descriptor.hpp"
#include "ringcomm/core/dtype.hpp"

namespace ringcomm::perf {

/// Which element types an operation can carry.
enum class TypeSet : std::uint8_t { any, arithmetic, softmax };

struct Operation {
  std::string_view name;
  TypeSet types = TypeSet::any;
  bool reduces = false;         ///< takes -o
  bool is_rooted = false;       ///< takes -r
  bool is_generic = true;       ///< takes -m, -z, -C, -R and -u; false: the operation has its own loop
  std::string_view definition;  ///< size, algbw and busbw in one line for --help
};

std::span<const Operation> operations();
const Operation* find_operation(std::string_view name);
/// The operation that a program called `program` measures ("all_gather_perf"), or empty.
std::string operation_of_program(std::string_view program);

std::vector<DType> types_of(const Operation& operation);
/// nccl-tests' name: "float", "half", "bfloat16", ...
std::string_view nccl_name_of(DType type);

}  // namespace ringcomm::perf
