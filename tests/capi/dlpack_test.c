// SPDX-License-Identifier: Apache-2.0
// Method: a tensor given out and read back; memory counted as alive by its bytes; tensors made wrong one
// field at a time.
#include "ringcomm/interop/dlpack.h"

#include "support.h"

static void gives_windows_out(void) {
  ringcommComm_t comm = NULL;
  float* window = NULL;
  const int64_t shape[3] = {2, 3, 4};
  DLManagedTensorVersioned* tensor = NULL;
  OK(ringcommCommInitAll(&comm, 1, NULL));
  OK(ringcommMemAlloc(comm, (void**)&window, sizeof(float) * 30));
  OK(ringcommWindowToDLPack(window + 6, shape, 3, ringcommFloat32, 1, &tensor));
  CHECK(tensor->version.major == 1 && tensor->flags == DLPACK_FLAG_BITMASK_READ_ONLY);
  CHECK(tensor->dl_tensor.device.device_type == kDLCPU && tensor->dl_tensor.ndim == 3);
  CHECK(tensor->dl_tensor.dtype.code == kDLFloat && tensor->dl_tensor.dtype.bits == 32);
  CHECK(tensor->dl_tensor.strides[0] == 12 && tensor->dl_tensor.strides[1] == 4 &&
        tensor->dl_tensor.strides[2] == 1);
  CHECK(tensor->dl_tensor.data == window + 6 && tensor->dl_tensor.byte_offset == 0);
  DLManagedTensorVersioned* none = tensor;
  CHECK_RESULT(ringcommWindowToDLPack(window + 7, shape, 3, ringcommFloat32, 0, &none),
               ringcommInvalidArgument);
  CHECK_SAYS(NULL, "tensor of 96 bytes is not inside memory that ringcommMemAlloc returned");
  CHECK(none == NULL);
  CHECK_RESULT(ringcommWindowToDLPack(window, shape, 5, ringcommFloat32, 0, &none), ringcommInvalidArgument);
  CHECK_RESULT(ringcommWindowToDLPack(window, NULL, 1, ringcommFloat32, 0, &none), ringcommInvalidArgument);
  CHECK_RESULT(ringcommWindowToDLPack(window, shape, 3, ringcommFloat32, 0, NULL), ringcommInvalidArgument);
  window[6] = 42.0F;
  OK(ringcommMemFree(window));
  OK(ringcommCommDestroy(comm));
  CHECK(((const float*)tensor->dl_tensor.data)[0] == 42.0F);  // the tensor keeps the memory
  tensor->deleter(tensor);
}

static DLManagedTensorVersioned tensor_of(void* data, int64_t* shape, int axes) {
  DLManagedTensorVersioned tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.version.major = 1;
  tensor.version.minor = 1;
  tensor.dl_tensor.data = data;
  tensor.dl_tensor.device.device_type = kDLCPU;
  tensor.dl_tensor.ndim = axes;
  tensor.dl_tensor.dtype.code = kDLFloat;
  tensor.dl_tensor.dtype.bits = 32;
  tensor.dl_tensor.dtype.lanes = 1;
  tensor.dl_tensor.shape = shape;
  return tensor;
}

static void reads(void) {
  float data[64] = {0};
  int64_t shape[6] = {2, 3, 1, 2, 1, 5};
  int64_t strides[6] = {30, 10, 10, 5, 99, 1};
  ringcommTensor_t view;
  DLManagedTensorVersioned tensor = tensor_of(data, shape, 2);
  tensor.dl_tensor.byte_offset = 8;
  OK(ringcommTensorFromDLPack(&tensor, 1, &view));
  CHECK(view.data == data + 2 && view.datatype == ringcommFloat32 && view.axes == 2);
  CHECK(view.shape[0] == 2 && view.shape[1] == 3 && view.strides[0] == 3 && view.strides[1] == 1);
  tensor = tensor_of(data, shape, 2);
  tensor.dl_tensor.strides = strides;
  tensor.dl_tensor.dtype.code = kDLBfloat;
  tensor.dl_tensor.dtype.bits = 16;
  tensor.dl_tensor.device.device_type = kDLCUDAHost;
  tensor.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  OK(ringcommTensorFromDLPack(&tensor, 0, &view));
  CHECK(view.datatype == ringcommBfloat16 && view.strides[0] == 30 && view.strides[1] == 10);
  tensor = tensor_of(data, shape, 6);
  tensor.dl_tensor.strides = strides;  // without gaps, extents of one aside
  OK(ringcommTensorFromDLPack(&tensor, 0, &view));
  CHECK(view.axes == 1 && view.shape[0] == 60 && view.strides[0] == 1);
  strides[0] = 31;
  CHECK_RESULT(ringcommTensorFromDLPack(&tensor, 0, &view), ringcommInvalidUsage);
  CHECK_SAYS(NULL, "DLPack tensor of 6 axes with gaps");
  tensor = tensor_of(data, NULL, 0);
  OK(ringcommTensorFromDLPack(&tensor, 0, &view));
  CHECK(view.axes == 0);
}

static void refuses(const DLManagedTensorVersioned* tensor, int is_output, ringcommResult_t expected,
                    const char* text) {
  ringcommTensor_t view;
  CHECK_RESULT(ringcommTensorFromDLPack(tensor, is_output, &view), expected);
  CHECK_SAYS(NULL, text);
}

static void refuses_what_it_cannot_serve(void) {
  float data[8] = {0};
  int64_t shape[1] = {4};
  int64_t backwards[1] = {-1};
  const DLManagedTensorVersioned good = tensor_of(data, shape, 1);
  refuses(NULL, 0, ringcommInvalidArgument, "tensor is NULL");
  DLManagedTensorVersioned tensor = good;
  tensor.version.major = 2;
  refuses(&tensor, 0, ringcommInvalidUsage, "DLPack tensor of version 2.1 (version 1 is understood)");
  tensor = good;
  tensor.dl_tensor.device.device_type = kDLCUDA;
  refuses(&tensor, 0, ringcommInvalidUsage, "DLPack tensor on a device of type 2");
  tensor = good;
  tensor.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  refuses(&tensor, 1, ringcommInvalidArgument, "read-only");
  tensor = good;
  tensor.dl_tensor.dtype.lanes = 4;
  refuses(&tensor, 0, ringcommInvalidUsage, "DLPack type code 2 of 32 bits and 4 lanes");
  tensor = good;
  tensor.dl_tensor.dtype.code = kDLComplex;
  refuses(&tensor, 0, ringcommInvalidUsage, "DLPack type code 5");
  tensor = good;
  tensor.dl_tensor.strides = backwards;
  refuses(&tensor, 0, ringcommInvalidArgument, "DLPack tensor");
  tensor = good;
  tensor.dl_tensor.data = NULL;
  refuses(&tensor, 0, ringcommInvalidArgument, "DLPack tensor");
  tensor = good;
  tensor.dl_tensor.byte_offset = 2;
  refuses(&tensor, 0, ringcommInvalidArgument, "not aligned to its elements of 4 bytes");
  tensor = good;
  tensor.dl_tensor.shape = NULL;
  refuses(&tensor, 0, ringcommInvalidArgument, "DLPack tensor of 1 axes without a shape");
  tensor = good;
  tensor.dl_tensor.ndim = -1;
  refuses(&tensor, 0, ringcommInvalidArgument, "DLPack tensor of -1 axes");
}

// Every second element of the input.
static void gathers(ringcommComm_t comm, int rank, int size) {
  float in[8];
  float out[4 * RANKS_MAX];
  for (int i = 0; i < 8; ++i) in[i] = (float)(100 * rank + i);
  int64_t in_shape[1] = {4};
  int64_t in_strides[1] = {2};
  int64_t out_shape[2] = {size, 4};
  DLManagedTensorVersioned input = tensor_of(in, in_shape, 1);
  DLManagedTensorVersioned output = tensor_of(out, out_shape, 2);
  input.dl_tensor.strides = in_strides;
  OK(ringcommAllGatherDLPack(&input, &output, comm, NULL));
  for (int i = 0; i < 4 * size; ++i) CHECK(out[i] == (float)(100 * (i / 4) + 2 * (i % 4)));
  output.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  CHECK_RESULT(ringcommAllGatherDLPack(&input, &output, comm, NULL), ringcommInvalidArgument);
  CHECK_RESULT(ringcommAllGatherDLPack(NULL, &output, comm, NULL), ringcommInvalidArgument);
  CHECK_SAYS(comm, "input is NULL");
}

void dlpack_test(void) {
  gives_windows_out();
  reads();
  refuses_what_it_cannot_serve();
  for_sizes(gathers);
}
