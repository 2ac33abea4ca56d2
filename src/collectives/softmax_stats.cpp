// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/collectives/softmax_stats.hpp"

#include <algorithm>
#include <vector>

#include "collectives/memory_range.hpp"
#include "collectives/softmax_merge.hpp"
#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace collectives {
namespace {

bool is_payload(DType dtype) {
  return dtype == DType::float32 || dtype == DType::bfloat16 || dtype == DType::float16;
}

std::string_view name_of_form(PartialForm form) {
  return form == PartialForm::normalised ? "normalised" : "unnormalised";
}

std::int64_t out_row_bytes(std::int64_t dim, DType dtype) {
  return (dim * static_cast<std::int64_t>(bytes_of(dtype)) + 3) / 4 * 4;
}

Status check_statistic(const SoftmaxPartial& partial, std::string_view what) {
  const TensorView& statistic = partial.statistic;
  if (!validate(statistic, what).is_ok()) return validate(statistic, concat(what, " statistic"));
  if (statistic.dtype != DType::float32) {
    return Status::invalid_argument(
        concat(what, " statistic is ", name_of(statistic.dtype), " (statistics are float32)"));
  }
  if (reinterpret_cast<std::uintptr_t>(statistic.data) % alignof(float) != 0)
    return Status::invalid_argument(concat(what, " statistic is not aligned to 4 bytes"));
  const bool is_pair = partial.form == PartialForm::unnormalised;
  if (statistic.axes != (is_pair ? 2 : 1) || statistic.shape[0] != partial.rows() ||
      (is_pair && statistic.shape[1] != 2)) {
    return Status::invalid_argument(concat(what, " statistic has ", statistic.axes, " axes and ",
                                           statistic.shape[0], " rows (", name_of_form(partial.form),
                                           " partials take [", partial.rows(), is_pair ? ", 2])" : "])"));
  }
  return {};
}

}  // namespace

Status check_partial(const SoftmaxPartial& partial, std::string_view what) {
  const TensorView& out = partial.out;
  if (!validate(out, what).is_ok()) return validate(out, concat(what, " out"));
  if (out.axes != 2)
    return Status::invalid_argument(concat(what, " out has ", out.axes, " axes (it takes [rows, dim])"));
  if (!is_payload(out.dtype)) {
    return Status::invalid_argument(
        concat(what, " out is ", name_of(out.dtype), " (float32, bfloat16 and float16 are merged)"));
  }
  if (out.shape[1] > 1 && out.shape[0] > 0 && out.strides[1] != 1) {
    return Status::invalid_argument(concat(what, " out has stride ", out.strides[1],
                                           " on axis 1 (the elements of a row have to be neighbours)"));
  }
  if (out.device.kind != DeviceKind::host || partial.statistic.device.kind != DeviceKind::host)
    return Status::not_available(concat(what, " is not in host memory (the merge runs on the host)"));
  return check_statistic(partial, what);
}

Status check_same(const SoftmaxPartial& partial, std::string_view what, const SoftmaxPartial& other,
                  std::string_view other_what) {
  const auto differ = [&](std::string_view value, const auto& mine, const auto& theirs) {
    return Status::invalid_argument(
        concat(value, " differs: ", what, " has ", mine, ", ", other_what, " has ", theirs));
  };
  if (partial.form != other.form) return differ("form", name_of_form(partial.form), name_of_form(other.form));
  if (partial.base != other.base)
    return differ("log base", partial.base == LogBase::e ? "e" : "2", other.base == LogBase::e ? "e" : "2");
  if (partial.rows() != other.rows()) return differ("rows", partial.rows(), other.rows());
  if (partial.dim() != other.dim()) return differ("dim", partial.dim(), other.dim());
  return {};
}

Status check_aliasing(const SoftmaxPartial& a, std::string_view what, const SoftmaxPartial& b,
                      std::string_view other_what) {
  const MemoryRange a_ranges[] = {range_of(a.out), range_of(a.statistic)};
  const MemoryRange b_ranges[] = {range_of(b.out), range_of(b.statistic)};
  const auto is_same = [](const TensorView& x, const TensorView& y) {
    return x.data == y.data && x.dtype == y.dtype && x.strides == y.strides;
  };
  const bool overlaps[2][2] = {{a_ranges[0].overlaps(b_ranges[0]), a_ranges[0].overlaps(b_ranges[1])},
                               {a_ranges[1].overlaps(b_ranges[0]), a_ranges[1].overlaps(b_ranges[1])}};
  const bool is_wrong = overlaps[0][1] || overlaps[1][0] || (overlaps[0][0] && !is_same(a.out, b.out)) ||
                        (overlaps[1][1] && !is_same(a.statistic, b.statistic));
  if (!is_wrong) return {};
  return Status::invalid_argument(concat(what, " overlaps ", other_what,
                                         " without being the same memory (in place needs equal pointers)"));
}

PartialRows rows_of(const SoftmaxPartial& partial) {
  return {.out = static_cast<std::byte*>(partial.out.data),
          .dtype = partial.out.dtype,
          .out_stride = partial.out.strides[0],
          .statistic = static_cast<float*>(partial.statistic.data),
          .statistic_stride = partial.statistic.strides[0],
          .pair_stride = partial.form == PartialForm::unnormalised ? partial.statistic.strides[1] : 1};
}

std::uint64_t softmax_row_bytes(std::int64_t dim, DType dtype, PartialForm form) {
  return static_cast<std::uint64_t>(out_row_bytes(dim, dtype) + 4 * statistics_per_row(form));
}

PartialRows rows_in_block(std::byte* block, std::int64_t rows, std::int64_t dim, DType dtype,
                          PartialForm form) {
  return {.out = block,
          .dtype = dtype,
          .out_stride = dim,
          .statistic = reinterpret_cast<float*>(block + rows * out_row_bytes(dim, dtype)),
          .statistic_stride = statistics_per_row(form),
          .pair_stride = 1};
}

SoftmaxPartial partial_at(std::byte* block, std::int64_t rows, std::int64_t dim, DType dtype,
                          MergeKind kind) {
  const PartialRows at = rows_in_block(block, rows, dim, dtype, kind.form);
  return {.form = kind.form,
          .base = kind.base,
          .out = TensorView::contiguous(at.out, dtype, {rows, dim}),
          .statistic = kind.form == PartialForm::normalised
                           ? TensorView::contiguous(at.statistic, DType::float32, {rows})
                           : TensorView::contiguous(at.statistic, DType::float32, {rows, 2})};
}

}  // namespace collectives

std::size_t SoftmaxPartial::bytes_needed(std::int64_t rows, std::int64_t dim, DType dtype, PartialForm form) {
  if (rows <= 0 || dim < 0) return 0;
  return static_cast<std::size_t>(rows) * collectives::softmax_row_bytes(dim, dtype, form);
}

Result<SoftmaxPartial> SoftmaxPartial::in(const Window& window, std::int64_t rows, std::int64_t dim,
                                          DType dtype, PartialForm form) {
  constexpr std::int64_t kExtentMax = std::int64_t{1} << 31;
  if (rows < 0 || dim < 0 || rows > kExtentMax || dim > kExtentMax / 64) {
    return Status::invalid_argument(
        concat("softmax partial of ", rows, " rows of ", dim, " elements (negative or beyond the limit)"));
  }
  if (!collectives::is_payload(dtype)) {
    return Status::invalid_argument(
        concat("softmax partial of ", name_of(dtype), " (float32, bfloat16 and float16 are merged)"));
  }
  const std::size_t needed = bytes_needed(rows, dim, dtype, form);
  if (window.bytes() < needed) {
    return Status::invalid_argument(concat("softmax partial of ", rows, " rows of ", dim, " ", name_of(dtype),
                                           " needs ", needed, " bytes, the window has ", window.bytes()));
  }
  return collectives::partial_at(window.data(), rows, dim, dtype, {form, LogBase::e});
}

Status merge_softmax_partials(const SoftmaxPartial& target, std::span<const SoftmaxPartial> sources) {
  if (sources.empty())
    return Status::invalid_argument("merge_softmax_partials got no source (there is nothing to merge)");
  RINGCOMM_TRY(collectives::check_partial(target, "target"));
  std::vector<collectives::PartialRows> rows;
  rows.reserve(sources.size());
  for (std::size_t k = 0; k < sources.size(); ++k) {
    const std::string name = concat("source ", k);
    RINGCOMM_TRY(collectives::check_partial(sources[k], name));
    RINGCOMM_TRY(collectives::check_same(target, "target", sources[k], name));
    RINGCOMM_TRY(collectives::check_aliasing(target, "target", sources[k], name));
    rows.push_back(collectives::rows_of(sources[k]));
  }
  collectives::MergeScratch scratch(sources.size());
  collectives::merge_rows({target.form, target.base}, target.dim(), collectives::rows_of(target), rows, 0,
                          target.rows(), scratch);
  return {};
}

}  // namespace ringcomm::inline v0
