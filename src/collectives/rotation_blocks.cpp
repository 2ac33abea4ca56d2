// SPDX-License-Identifier: Apache-2.0
#include "collectives/rotation_blocks.hpp"

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::collectives {
namespace {

Status check_pair(const TensorView& k, const TensorView& v) {
  RINGCOMM_TRY(validate(k, "ring rotation: k"));
  RINGCOMM_TRY(validate(v, "ring rotation: v"));
  if (k.axes != 3 || v.axes != 3) {
    return Status::invalid_argument(
        concat("ring rotation: k has ", k.axes, " axes, v has ", v.axes, " (both take [rows, heads, dim])"));
  }
  if (k.dtype != v.dtype) {
    return Status::invalid_argument(
        concat("ring rotation: k is ", name_of(k.dtype), ", v is ", name_of(v.dtype)));
  }
  for (const int axis : {0, 1}) {
    const auto at = static_cast<std::size_t>(axis);
    if (k.shape[at] == v.shape[at]) continue;
    return Status::invalid_argument(concat("ring rotation: k has ", k.shape[at],
                                           axis == 0 ? " rows" : " heads", ", v has ", v.shape[at]));
  }
  if (k.device.kind != DeviceKind::host || v.device.kind != DeviceKind::host)
    return Status::not_available("ring rotation: k or v is not in host memory");
  return {};
}

Status check_rows(const Channel& channel, std::int64_t own_rows, const std::vector<std::int64_t>& rows) {
  if (rows.size() != static_cast<std::size_t>(channel.size())) {
    return Status::invalid_argument(
        concat("ring rotation: ", rows.size(), " row counts for ", channel.size(), " ranks"));
  }
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    if (rows[rank] < 0) {
      return Status::invalid_argument(
          concat("ring rotation: the block of rank ", rank, " has ", rows[rank], " rows (negative)"));
    }
  }
  const std::int64_t expected = rows[static_cast<std::size_t>(channel.rank())];
  if (expected == own_rows) return {};
  return Status::invalid_argument(concat("ring rotation: k and v of rank ", channel.rank(), " have ",
                                         own_rows, " rows, its row count is ", expected));
}

}  // namespace

std::uint64_t RotationBlocks::k_bytes(int rank) const {
  return static_cast<std::uint64_t>(rows_of(rank) * heads * k_dim) * bytes_of(dtype);
}

std::uint64_t RotationBlocks::bytes(int rank) const {
  return static_cast<std::uint64_t>(rows_of(rank) * heads * (k_dim + v_dim)) * bytes_of(dtype);
}

std::vector<std::uint64_t> RotationBlocks::all_bytes() const {
  std::vector<std::uint64_t> sizes;
  for (std::size_t rank = 0; rank < rows.size(); ++rank) sizes.push_back(bytes(static_cast<int>(rank)));
  return sizes;
}

RotationPart RotationBlocks::part(int source) const {
  const std::int64_t count = rows_of(source);
  return {.source = source,
          .row_first = 0,
          .row_count = count,
          .head_first = 0,
          .k = TensorView::contiguous(nullptr, dtype, {count, heads, k_dim}),
          .v = TensorView::contiguous(nullptr, dtype, {count, heads, v_dim})};
}

Result<RotationBlocks> check_blocks(const Channel& channel, const TensorView& k, const TensorView& v,
                                    const RotationOptions& options) {
  RINGCOMM_TRY(check_pair(k, v));
  RotationBlocks blocks{
      .dtype = k.dtype, .heads = k.shape[1], .k_dim = k.shape[2], .v_dim = v.shape[2], .rows = options.rows};
  if (blocks.rows.empty()) blocks.rows.assign(static_cast<std::size_t>(channel.size()), k.shape[0]);
  RINGCOMM_TRY(check_rows(channel, k.shape[0], blocks.rows));
  // The products of bytes() have to fit for every rank, not only for the own block.
  for (std::size_t rank = 0; rank < blocks.rows.size(); ++rank) {
    std::int64_t dims = 0;
    std::int64_t product = 0;
    const bool overflows = __builtin_add_overflow(blocks.k_dim, blocks.v_dim, &dims) ||
                           __builtin_mul_overflow(dims, blocks.heads, &product) ||
                           __builtin_mul_overflow(product, blocks.rows[rank], &product) ||
                           __builtin_mul_overflow(product, std::int64_t{8}, &product);
    if (overflows) {
      return Status::invalid_argument(concat("ring rotation: the block of rank ", rank, " with ",
                                             blocks.rows[rank], " rows is larger than 2^60 elements"));
    }
  }
  return blocks;
}

}  // namespace ringcomm::inline v0::collectives
