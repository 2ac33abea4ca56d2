// SPDX-License-Identifier: Apache-2.0
#define RINGCOMM_DLPACK_OWN  // the library is the same whatever header is installed where it is built
#include "ringcomm/interop/dlpack.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace interop {
namespace {

constexpr std::uint32_t kMajor = 1;
constexpr std::uint32_t kMinor = 0;
constexpr unsigned kFloat8e4m3fn = 10;  // codes of DLPack 1.1
constexpr unsigned kFloat8e5m2 = 12;

// The layout is DLPack's promise.
static_assert(offsetof(DLManagedTensorVersioned, manager_ctx) == 8);
static_assert(offsetof(DLManagedTensorVersioned, flags) == 24);
static_assert(offsetof(DLManagedTensorVersioned, dl_tensor) == 32);
static_assert(sizeof(DLTensor) == 48);

struct TypePair {
  DType dtype;
  unsigned code;
  unsigned bits;
};
/// By the number of the DType.
constexpr std::array<TypePair, 12> kTypes{{{DType::int8, kDLInt, 8},
                                           {DType::uint8, kDLUInt, 8},
                                           {DType::int32, kDLInt, 32},
                                           {DType::uint32, kDLUInt, 32},
                                           {DType::int64, kDLInt, 64},
                                           {DType::uint64, kDLUInt, 64},
                                           {DType::float16, kDLFloat, 16},
                                           {DType::float32, kDLFloat, 32},
                                           {DType::float64, kDLFloat, 64},
                                           {DType::bfloat16, kDLBfloat, 16},
                                           {DType::float8_e4m3, kFloat8e4m3fn, 8},
                                           {DType::float8_e5m2, kFloat8e5m2, 8}}};

/// What a tensor that was given away holds.
struct Managed {
  DLManagedTensorVersioned tensor{};
  std::array<std::int64_t, TensorView::kAxesMax> shape{};
  std::array<std::int64_t, TensorView::kAxesMax> strides{};
  std::shared_ptr<const void> keep;
};

void release_tensor(DLManagedTensorVersioned* self) {
  if (self != nullptr) delete static_cast<Managed*>(self->manager_ctx);
}

Result<DType> dtype_of(const DLDataType& type) {
  for (const TypePair& pair : kTypes) {
    if (pair.code == type.code && pair.bits == type.bits && type.lanes == 1) return pair.dtype;
  }
  return Status::not_available(concat("DLPack type code ", unsigned{type.code}, " of ", unsigned{type.bits},
                                      " bits and ", type.lanes, " lanes has no counterpart in ringcomm"));
}

Status check_origin(const DLManagedTensorVersioned& tensor, bool is_output) {
  if (tensor.version.major != kMajor) {
    return Status::not_available(concat("DLPack tensor of version ", tensor.version.major, ".",
                                        tensor.version.minor, " (version ", kMajor, " is understood)"));
  }
  const auto device = static_cast<int>(tensor.dl_tensor.device.device_type);
  if (device != kDLCPU && device != kDLCUDAHost)
    return Status::not_available(concat("DLPack tensor on a device of type ", device,
                                        " (1, the CPU, and 3, CUDA's host memory, are served)"));
  if (is_output && (tensor.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0)
    return Status::invalid_argument("DLPack tensor is read-only and cannot be an output");
  return {};
}

/// Row-major without gaps, extents of one aside.
bool is_compact(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  std::int64_t expected = 1;
  for (int axis = tensor.ndim - 1; axis >= 0; --axis) {
    if (tensor.shape[axis] == 0) return true;
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != expected) return false;
    if (__builtin_mul_overflow(expected, tensor.shape[axis], &expected)) return false;
  }
  return true;
}

/// -1, which validate() refuses, when an extent is negative or the product overflows.
std::int64_t product(const std::int64_t* shape, int axes) {
  std::int64_t elements = 1;
  for (int axis = 0; axis < axes; ++axis) {
    if (shape[axis] < 0 || __builtin_mul_overflow(elements, shape[axis], &elements)) return -1;
  }
  return elements;
}

Status read_axes(const DLTensor& tensor, TensorView& view) {
  const bool is_flat = tensor.ndim > TensorView::kAxesMax;
  if (is_flat && !is_compact(tensor)) {
    return Status::not_available(concat("DLPack tensor of ", tensor.ndim, " axes with gaps (more than ",
                                        TensorView::kAxesMax, " axes have to be row-major)"));
  }
  view.axes = is_flat ? 1 : tensor.ndim;
  std::int64_t stride = 1;
  for (auto axis = static_cast<std::size_t>(view.axes); axis-- > 0;) {
    view.shape[axis] = is_flat ? product(tensor.shape, tensor.ndim) : tensor.shape[axis];
    view.strides[axis] = is_flat || tensor.strides == nullptr ? stride : tensor.strides[axis];
    if (view.shape[axis] > 0 && __builtin_mul_overflow(stride, view.shape[axis], &stride)) stride = -1;
  }
  return {};
}

}  // namespace
}  // namespace interop

Result<DLManagedTensorVersioned*> to_dlpack(std::shared_ptr<const void> keep, const TensorView& view,
                                            bool is_read_only) {
  RINGCOMM_TRY(validate(view, "to_dlpack: tensor"));
  if (view.device.kind != DeviceKind::host)
    return Status::not_available("to_dlpack: tensor is not in host memory");
  std::unique_ptr<interop::Managed> managed(new (std::nothrow) interop::Managed);
  if (!managed) return Status::out_of_memory("to_dlpack: the system refused memory for bookkeeping");
  managed->shape = view.shape;
  managed->strides = view.strides;
  managed->keep = std::move(keep);
  const auto& type = interop::kTypes[static_cast<std::size_t>(view.dtype)];
  DLManagedTensorVersioned& tensor = managed->tensor;
  tensor.version = {interop::kMajor, interop::kMinor};
  tensor.deleter = interop::release_tensor;
  tensor.flags = is_read_only ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  tensor.dl_tensor.data = view.data;
  tensor.dl_tensor.device = {kDLCPU, 0};
  tensor.dl_tensor.ndim = view.axes;
  tensor.dl_tensor.dtype = {static_cast<std::uint8_t>(type.code), static_cast<std::uint8_t>(type.bits), 1};
  tensor.dl_tensor.shape = managed->shape.data();
  tensor.dl_tensor.strides = managed->strides.data();
  tensor.manager_ctx = managed.get();
  return &managed.release()->tensor;
}

Result<TensorView> from_dlpack(const DLManagedTensorVersioned& tensor, bool is_output) {
  RINGCOMM_TRY(interop::check_origin(tensor, is_output));
  const DLTensor& given = tensor.dl_tensor;
  TensorView view;
  RINGCOMM_TRY_ASSIGN(view.dtype, interop::dtype_of(given.dtype));
  if (given.ndim < 0 || (given.ndim > 0 && given.shape == nullptr))
    return Status::invalid_argument(concat("DLPack tensor of ", given.ndim, " axes without a shape"));
  RINGCOMM_TRY(interop::read_axes(given, view));
  view.data = given.data == nullptr ? nullptr : static_cast<std::byte*>(given.data) + given.byte_offset;
  RINGCOMM_TRY(validate(view, "DLPack tensor"));
  if (reinterpret_cast<std::uintptr_t>(view.data) % bytes_of(view.dtype) != 0)
    return Status::invalid_argument(
        concat("DLPack tensor is not aligned to its elements of ", bytes_of(view.dtype), " bytes"));
  return view;
}

}  // namespace ringcomm::inline v0
