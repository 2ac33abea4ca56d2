// SPDX-License-Identifier: Apache-2.0
// DLPack 1.x for C and C++: the user's <dlpack/dlpack.h> where it is found, and what that lacks declared
// here.
#ifndef RINGCOMM_INTEROP_DLPACK_H_
#define RINGCOMM_INTEROP_DLPACK_H_

#include <stdint.h>

/* Theirs first, so that both may be included in any order. RINGCOMM_DLPACK_OWN: as if there were none. */
#if defined(__has_include) && !defined(RINGCOMM_DLPACK_OWN) && !defined(DLPACK_DLPACK_H_)
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifndef DLPACK_DLPACK_H_ /* no dlpack.h at all */
#ifdef __cplusplus
typedef enum : int32_t {
#else
typedef enum {
#endif
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3
} DLDeviceType;

typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

typedef enum {
  kDLInt = 0U,
  kDLUInt = 1U,
  kDLFloat = 2U,
  kDLOpaqueHandle = 3U,
  kDLBfloat = 4U,
  kDLComplex = 5U,
  kDLBool = 6U
} DLDataTypeCode;

typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides; /* in elements; NULL: row-major without gaps */
  uint64_t byte_offset;
} DLTensor;
#endif

#ifndef DLPACK_MAJOR_VERSION /* none, or one older than 1.0 (Debian 12 has 0.6) */
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL)

typedef struct {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;
#endif

#ifdef __cplusplus
}
#endif

#endif
