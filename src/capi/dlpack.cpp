// SPDX-License-Identifier: Apache-2.0
#define RINGCOMM_DLPACK_OWN
#include "ringcomm/interop/dlpack.hpp"

#include <algorithm>

#include "capi/dlpack.hpp"
#include "capi/memory.hpp"
#include "capi/operation.hpp"
#include "capi/tensors.hpp"

namespace ringcomm::inline v0::capi {
namespace {

Result<TensorView> row_major(void* ptr, const std::int64_t* shape, int axes, int datatype) {
  TensorView view{.data = ptr, .axes = axes};
  RINGCOMM_TRY_ASSIGN(view.dtype, dtype_of(datatype));
  if (axes < 0 || axes > TensorView::kAxesMax)
    return Status::invalid_argument(
        concat("axes is ", axes, " (0 to ", TensorView::kAxesMax, " are possible)"));
  if (axes > 0) RINGCOMM_TRY(not_null(shape, "shape"));
  std::copy_n(shape, axes, view.shape.begin());
  std::int64_t stride = 1;
  for (auto axis = static_cast<std::size_t>(axes); axis-- > 0;) {
    view.strides[axis] = stride;
    if (view.shape[axis] > 0 && __builtin_mul_overflow(stride, view.shape[axis], &stride)) stride = -1;
  }
  RINGCOMM_TRY(validate(view, "tensor"));
  return view;
}

Status give_away(void* ptr, const std::int64_t* shape, int axes, int datatype, int read_only,
                 DLManagedTensorVersioned** tensor) {
  RINGCOMM_TRY(not_null(tensor, "tensor"));
  *tensor = nullptr;
  RINGCOMM_TRY_ASSIGN(const TensorView view, row_major(ptr, shape, axes, datatype));
  auto segment = window_segment(ptr, view.bytes());
  if (!segment) {
    return Status::invalid_argument(
        concat("tensor of ", view.bytes(), " bytes is not inside memory that ringcommMemAlloc returned"));
  }
  RINGCOMM_TRY_ASSIGN(*tensor, to_dlpack(std::move(segment), view, read_only != 0));
  return {};
}

Status describe(const DLManagedTensorVersioned* tensor, int for_output, ringcommTensor_t* view) {
  RINGCOMM_TRY(not_null(view, "view"));
  RINGCOMM_TRY_ASSIGN(const TensorView read, read_dlpack(tensor, "tensor", for_output != 0));
  *view = {};
  view->data = read.data;
  view->datatype = static_cast<ringcommDataType_t>(read.dtype);
  view->axes = read.axes;
  std::ranges::copy(read.shape, view->shape);
  std::ranges::copy(read.strides, view->strides);
  return {};
}

}  // namespace

Result<TensorView> read_dlpack(const DLManagedTensorVersioned* tensor, std::string_view what,
                               bool is_output) {
  RINGCOMM_TRY(not_null(tensor, what));
  return from_dlpack(*tensor, is_output);
}

}  // namespace ringcomm::inline v0::capi

namespace capi = ringcomm::capi;
using ringcomm::CallOptions;
using ringcomm::Channel;
using ringcomm::Status;
using ringcomm::TensorView;

static_assert(RINGCOMM_TENSOR_AXES_MAX == TensorView::kAxesMax);

extern "C" {

ringcommResult_t ringcommWindowToDLPack(void* ptr, const int64_t* shape, int axes,
                                        ringcommDataType_t datatype, int readOnly,
                                        struct DLManagedTensorVersioned** tensor) {
  return capi::run("ringcommWindowToDLPack",
                   [&] { return capi::give_away(ptr, shape, axes, datatype, readOnly, tensor); });
}

ringcommResult_t ringcommTensorFromDLPack(const struct DLManagedTensorVersioned* tensor, int forOutput,
                                          ringcommTensor_t* view) {
  return capi::run("ringcommTensorFromDLPack", [&] { return capi::describe(tensor, forOutput, view); });
}

ringcommResult_t ringcommAllGatherDLPack(const struct DLManagedTensorVersioned* input,
                                         const struct DLManagedTensorVersioned* output, ringcommComm_t comm,
                                         ringcommStream_t stream) {
  return capi::operate("ringcommAllGatherDLPack", comm, stream,
                       [&](ringcommComm&, capi::Operation& operation) -> Status {
                         RINGCOMM_TRY_ASSIGN(const TensorView from, capi::read_dlpack(input, "input", false));
                         RINGCOMM_TRY_ASSIGN(const TensorView to, capi::read_dlpack(output, "output", true));
                         operation.run = [from, to](Channel& channel, const CallOptions& options) {
                           return ringcomm::all_gather(channel, from, to, {}, options);
                         };
                         return {};
                       });
}
}
