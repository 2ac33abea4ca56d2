// SPDX-License-Identifier: Apache-2.0
#include "collectives/tensor_checks.hpp"

#include "collectives/memory_range.hpp"
#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::collectives {

// The text is put together only for a failure: these checks are on the path of every call.
Status check_host(std::string_view what, std::string_view name, const TensorView& view) {
  if (Status status = validate(view, name); !status.is_ok())
    return Status::invalid_argument(concat(what, ": ", status.message()));
  if (view.device.kind == DeviceKind::host) return {};
  return Status::not_available(concat(what, ": ", name, " is not in host memory"));
}

Status check_output(std::string_view what, const TensorView& input, const TensorView& output) {
  if (output.dtype != input.dtype) {
    return Status::invalid_argument(
        concat(what, ": output is ", name_of(output.dtype), ", input is ", name_of(input.dtype)));
  }
  if (!output.is_contiguous()) return Status::invalid_argument(concat(what, ": output is not contiguous"));
  return {};
}

Status check_apart(std::string_view what, const TensorView& input, const TensorView& output) {
  if (!range_of(input).overlaps(range_of(output))) return {};
  return Status::invalid_argument(concat(
      what, ": input overlaps output (only the exact place that its documentation names is possible)"));
}

Status check_elements(std::string_view what, std::string_view name, const TensorView& view,
                      std::int64_t expected) {
  if (view.element_count() == expected) return {};
  return Status::invalid_argument(
      concat(what, ": ", name, " has ", view.element_count(), " elements, ", expected, " are needed"));
}

Result<std::int64_t> sum_of(std::string_view what, std::string_view name,
                            std::span<const std::int64_t> counts, int members, DType dtype) {
  if (counts.size() != static_cast<std::size_t>(members)) {
    return Status::invalid_argument(
        concat(what, ": ", counts.size(), " ", name, " for ", members, " ranks (one per rank)"));
  }
  std::int64_t sum = 0;
  std::int64_t bytes = 0;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    if (counts[rank] < 0) {
      return Status::invalid_argument(
          concat(what, ": ", name, " of rank ", rank, " is ", counts[rank], " (negative)"));
    }
    if (__builtin_add_overflow(sum, counts[rank], &sum) ||
        __builtin_mul_overflow(sum, static_cast<std::int64_t>(bytes_of(dtype)), &bytes))
      return Status::invalid_argument(concat(what, ": the sum of the ", name, " does not fit 63 bits"));
  }
  return sum;
}

}  // namespace ringcomm::inline v0::collectives
