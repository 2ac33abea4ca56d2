// SPDX-License-Identifier: Apache-2.0
// The C interface, in NCCL's shape: C99, and the only ABI that ringcomm promises. docs/linking.md has the
// rules.
#ifndef RINGCOMM_RINGCOMM_H_
#define RINGCOMM_RINGCOMM_H_

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "ringcomm/version.hpp"

#if defined(__GNUC__)
#define RINGCOMM_API __attribute__((visibility("default")))
#else
#define RINGCOMM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensorVersioned; /* DLPack's own, or ringcomm/interop/dlpack.h */

typedef struct ringcommComm* ringcommComm_t;
typedef struct ringcommRotation* ringcommRotation_t;
/* An ordered queue of operations with a worker of its own. NULL: the call blocks until it is done. */
typedef struct ringcommStream* ringcommStream_t;

/* 0 to 8 as ncclResult_t. */
typedef enum {
  ringcommSuccess = 0,
  ringcommUnhandledCudaError = 1,
  ringcommSystemError = 2,
  ringcommInternalError = 3,
  ringcommInvalidArgument = 4,
  ringcommInvalidUsage = 5,
  ringcommRemoteError = 6,
  ringcommInProgress = 7,
  ringcommTimeout = 8,
  ringcommMismatch = 16, /* ranks called with different values */
  ringcommAborted = 17,
  ringcommRevoked = 18,
  ringcommResultRange_ = INT_MIN /* so that the type holds every int: another library's codes are no trap */
} ringcommResult_t;

/* As ncclDataType_t. */
typedef enum {
  ringcommInt8 = 0,
  ringcommUint8 = 1,
  ringcommInt32 = 2,
  ringcommUint32 = 3,
  ringcommInt64 = 4,
  ringcommUint64 = 5,
  ringcommFloat16 = 6,
  ringcommFloat32 = 7,
  ringcommFloat64 = 8,
  ringcommBfloat16 = 9,
  ringcommFloat8e4m3 = 10,
  ringcommFloat8e5m2 = 11,
  ringcommDataTypeRange_ = INT_MIN /* wrong numbers are refused, not undefined */
} ringcommDataType_t;

/* As ncclRedOp_t (product and average are not offered). */
typedef enum {
  ringcommSum = 0,
  ringcommMax = 2,
  ringcommMin = 3,
  ringcommRedOpRange_ = INT_MIN
} ringcommRedOp_t;

/* Structs that a caller fills begin with size, magic and version, which their _INITIALIZER sets; fields that
   it leaves at "unset" mean what the environment or the library says. */
#define RINGCOMM_STRUCT_MAGIC 0x72696e67U
#define RINGCOMM_UNSET INT_MIN
#define RINGCOMM_STRUCT_HEAD(type) sizeof(type), RINGCOMM_STRUCT_MAGIC, RINGCOMM_VERSION_CODE

typedef struct {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int timeoutMs;     /* of each operation and of creation; unset: RINGCOMM_TIMEOUT, else 10 minutes */
  int blocking;      /* unset or 1; 0 is refused: a stream gives asynchronous calls */
  int waitStyle;     /* 0 automatic, 1 own_core, 2 oversubscribed; unset: RINGCOMM_WAIT, else automatic */
  size_t arenaBytes; /* 0: RINGCOMM_ARENA_BYTES, else 16 MiB */
  const char* transports; /* "shm,inproc"; NULL: RINGCOMM_TRANSPORTS, else the library's order */
  const char* commName;   /* in error texts; NULL: none. Copied. */
} ringcommConfig_t;
#define RINGCOMM_CONFIG_INITIALIZER \
  { RINGCOMM_STRUCT_HEAD(ringcommConfig_t), RINGCOMM_UNSET, RINGCOMM_UNSET, RINGCOMM_UNSET, 0, NULL, NULL }

#define RINGCOMM_UNIQUE_ID_BYTES 128
typedef struct {
  char internal[RINGCOMM_UNIQUE_ID_BYTES];
} ringcommUniqueId;

/* An all-gather of the caller's own, as UCC's ucc_oob_coll_t: everybody's `bytes` in rank order. reqTest
   answers ringcommSuccess when done, ringcommInProgress before. */
typedef struct {
  size_t size;
  unsigned int magic;
  unsigned int version;
  ringcommResult_t (*allgather)(const void* send, void* receive, size_t bytes, void* info, void** request);
  ringcommResult_t (*reqTest)(void* request);
  ringcommResult_t (*reqFree)(void* request);
  void* info;
  int nranks;
  int rank;
} ringcommOob_t;
#define RINGCOMM_OOB_INITIALIZER \
  { RINGCOMM_STRUCT_HEAD(ringcommOob_t), NULL, NULL, NULL, NULL, 0, 0 }

/* Versions and errors. */

/* Version of the library that runs, in the form of RINGCOMM_VERSION_CODE. */
RINGCOMM_API ringcommResult_t ringcommGetVersion(int* version);
RINGCOMM_API const char* ringcommGetErrorString(ringcommResult_t result);
/* What went wrong last on `comm`, or in this thread for NULL: call, rank, code and a sentence that names
   peer, operation and sequence. Valid until this thread calls it again; "" when nothing has failed. */
RINGCOMM_API const char* ringcommGetLastError(ringcommComm_t comm);

/* Communicators: one thread at a time, but Abort, Revoke, GetAsyncError and GetLastError from any. */

/* Opens the meeting place in this process; hand the id to all ranks by any means. */
RINGCOMM_API ringcommResult_t ringcommGetUniqueId(ringcommUniqueId* id);
RINGCOMM_API ringcommResult_t ringcommCommInitRank(ringcommComm_t* comm, int nranks, ringcommUniqueId id,
                                                   int rank);
RINGCOMM_API ringcommResult_t ringcommCommInitRankConfig(ringcommComm_t* comm, int nranks,
                                                         ringcommUniqueId id, int rank,
                                                         const ringcommConfig_t* config);
/* n communicators for n threads of this process. */
RINGCOMM_API ringcommResult_t ringcommCommInitAll(ringcommComm_t* comms, int n,
                                                  const ringcommConfig_t* config);
/* From the launcher's variables (docs/running.md); with none of them set, one rank. */
RINGCOMM_API ringcommResult_t ringcommCommInitEnv(ringcommComm_t* comm, const ringcommConfig_t* config);
RINGCOMM_API ringcommResult_t ringcommCommInitOob(ringcommComm_t* comm, const ringcommOob_t* oob,
                                                  const ringcommConfig_t* config);
/* As MPI_Comm_split; *newcomm is NULL for color RINGCOMM_SPLIT_NOCOLOR. */
#define RINGCOMM_SPLIT_NOCOLOR -1
RINGCOMM_API ringcommResult_t ringcommCommSplit(ringcommComm_t comm, int color, int key,
                                                ringcommComm_t* newcomm, const ringcommConfig_t* config);

/* Waits for what this communicator queued on streams; later operations are refused. Not a collective. */
RINGCOMM_API ringcommResult_t ringcommCommFinalize(ringcommComm_t comm);
/* Frees the communicator (also after Abort); never a collective. Rotations have to be destroyed before. */
RINGCOMM_API ringcommResult_t ringcommCommDestroy(ringcommComm_t comm);
/* Fails the communicator on all ranks and returns at once; blocked calls return ringcommAborted. Unlike
   NCCL's it does not free: another thread may be inside. */
RINGCOMM_API ringcommResult_t ringcommCommAbort(ringcommComm_t comm);
/* The same with ringcommRevoked on all ranks, for those who go on with another communicator. */
RINGCOMM_API ringcommResult_t ringcommCommRevoke(ringcommComm_t comm);

RINGCOMM_API ringcommResult_t ringcommCommCount(ringcommComm_t comm, int* count);
RINGCOMM_API ringcommResult_t ringcommCommUserRank(ringcommComm_t comm, int* rank);
/* *error: ringcommSuccess, or why the communicator failed. */
RINGCOMM_API ringcommResult_t ringcommCommGetAsyncError(ringcommComm_t comm, ringcommResult_t* error);
/* *name: what moves bytes to `peer` ("inproc", "shm", "self", ...); lives as long as the communicator. */
RINGCOMM_API ringcommResult_t ringcommCommPathName(ringcommComm_t comm, int peer, const char** name);

/* Memory that peers read without a copy (a window); may outlive the communicator. */

RINGCOMM_API ringcommResult_t ringcommMemAlloc(ringcommComm_t comm, void** ptr, size_t bytes);
/* `ptr` as returned; NULL is legal. */
RINGCOMM_API ringcommResult_t ringcommMemFree(void* ptr);

/* Streams of the host. */

RINGCOMM_API ringcommResult_t ringcommStreamCreate(ringcommStream_t* stream);
/* Waits for all that was queued; the first failure stays with the stream. */
RINGCOMM_API ringcommResult_t ringcommStreamSynchronize(ringcommStream_t stream);
RINGCOMM_API ringcommResult_t ringcommStreamDestroy(ringcommStream_t stream);

/* Collectives: same order on all ranks; a count of 0 is legal and is still an operation. */

RINGCOMM_API ringcommResult_t ringcommBarrier(ringcommComm_t comm, ringcommStream_t stream);
RINGCOMM_API ringcommResult_t ringcommAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                                                ringcommDataType_t datatype, ringcommComm_t comm,
                                                ringcommStream_t stream);
/* counts[nranks]: elements of each rank, the same list everywhere. */
RINGCOMM_API ringcommResult_t ringcommAllGatherV(const void* sendbuff, void* recvbuff, const int64_t* counts,
                                                 ringcommDataType_t datatype, ringcommComm_t comm,
                                                 ringcommStream_t stream);
RINGCOMM_API ringcommResult_t ringcommAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                                                ringcommDataType_t datatype, ringcommRedOp_t op,
                                                ringcommComm_t comm, ringcommStream_t stream);
RINGCOMM_API ringcommResult_t ringcommReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                                                    ringcommDataType_t datatype, ringcommRedOp_t op,
                                                    ringcommComm_t comm, ringcommStream_t stream);
RINGCOMM_API ringcommResult_t ringcommReduceScatterV(const void* sendbuff, void* recvbuff,
                                                     const int64_t* counts, ringcommDataType_t datatype,
                                                     ringcommRedOp_t op, ringcommComm_t comm,
                                                     ringcommStream_t stream);
/* `count` elements to each rank and as many from each. */
RINGCOMM_API ringcommResult_t ringcommAllToAll(const void* sendbuff, void* recvbuff, size_t count,
                                               ringcommDataType_t datatype, ringcommComm_t comm,
                                               ringcommStream_t stream);
RINGCOMM_API ringcommResult_t ringcommAllToAllV(const void* sendbuff, const int64_t* sendcounts,
                                                void* recvbuff, const int64_t* recvcounts,
                                                ringcommDataType_t datatype, ringcommComm_t comm,
                                                ringcommStream_t stream);
RINGCOMM_API ringcommResult_t ringcommBroadcast(const void* sendbuff, void* recvbuff, size_t count,
                                                ringcommDataType_t datatype, int root, ringcommComm_t comm,
                                                ringcommStream_t stream);
RINGCOMM_API ringcommResult_t ringcommSend(const void* sendbuff, size_t count, ringcommDataType_t datatype,
                                           int peer, ringcommComm_t comm, ringcommStream_t stream);
RINGCOMM_API ringcommResult_t ringcommRecv(void* recvbuff, size_t count, ringcommDataType_t datatype,
                                           int peer, ringcommComm_t comm, ringcommStream_t stream);
/* `bytes` to the next rank and as many from the one before, in one operation. */
RINGCOMM_API ringcommResult_t ringcommRingRotate(const void* sendbuff, void* recvbuff, size_t bytes,
                                                 ringcommComm_t comm, ringcommStream_t stream);

/* Between them this thread's operations are only noted; the outermost End runs them, communicator by
   communicator at the same time, each in its order. Neighbouring Send and Recv of one communicator proceed
   together. Errors come at End; pointers to counts and structs are read at the call. */
RINGCOMM_API ringcommResult_t ringcommGroupStart(void);
RINGCOMM_API ringcommResult_t ringcommGroupEnd(void);

/* Ring rotation: every rank sees every rank's K and V, in place where the transport can. */

enum { ringcommRotateAutomatic = 0, ringcommRotateDirect = 1, ringcommRotateRelay = 2 };
typedef struct {
  size_t size;
  unsigned int magic;
  unsigned int version;
  const void* k; /* [rows, heads, kDim], contiguous; in a window with V right behind K nothing is copied */
  const void* v; /* [rows, heads, vDim] */
  int64_t rows;  /* of this rank */
  int64_t heads;
  int64_t kDim;
  int64_t vDim;
  ringcommDataType_t datatype;
  int mode;                /* ringcommRotateAutomatic, ... */
  int direction;           /* +1: the blocks move to the next rank; -1 */
  int overlap;             /* relay: 1 receives the next step during this one */
  size_t chunkBytes;       /* relay: cuts a step's message; 0 whole */
  const int64_t* rankRows; /* [nranks] rows of each rank; NULL: `rows` everywhere */
} ringcommRotateDesc_t;
#define RINGCOMM_ROTATE_DESC_INITIALIZER                                                 \
  {                                                                                      \
    RINGCOMM_STRUCT_HEAD(ringcommRotateDesc_t), NULL, NULL, 0, 0, 0, 0, ringcommFloat32, \
        ringcommRotateAutomatic, 1, 1, 0, NULL                                           \
  }

/* A contiguous piece of a step. */
typedef struct {
  const void* k;
  const void* v;
  int64_t rowFirst; /* inside the owner's block */
  int64_t rowCount;
  int64_t headFirst;
  int64_t headCount;
} ringcommRotationPart_t;

typedef struct {
  int index;  /* -1: the rotation is over, all peers have given this rank's block back */
  int source; /* whose rows these are; -1 when nobody's (a step without rows) */
  int partCount;
  const ringcommRotationPart_t* parts; /* dead at the next call on the rotation */
} ringcommRotationStep_t;

/* Collective, as are the walks: Start, then Next until index is -1. Start again without allocation. */
RINGCOMM_API ringcommResult_t ringcommRotateCreate(ringcommRotation_t* rotation,
                                                   const ringcommRotateDesc_t* desc, ringcommComm_t comm);
RINGCOMM_API ringcommResult_t ringcommRotateStart(ringcommRotation_t rotation);
/* Gives the last step back and waits for the next. */
RINGCOMM_API ringcommResult_t ringcommRotateNext(ringcommRotation_t rotation, ringcommRotationStep_t* step);
/* Gives the step back early. */
RINGCOMM_API ringcommResult_t ringcommRotateRelease(ringcommRotation_t rotation);
RINGCOMM_API ringcommResult_t ringcommRotateDestroy(ringcommRotation_t rotation);

/* Softmax statistics: merges partial attention results (out, statistic) of the ranks. */

/* 0 is refused for form and base: to guess them would be wrong in silence. */
enum {
  ringcommSoftmaxNormalised = 1,
  ringcommSoftmaxUnnormalised = 2
}; /* lse [rows]; (m, l) pairs [rows, 2] */
enum { ringcommSoftmaxBaseE = 1, ringcommSoftmaxBase2 = 2 };
enum { ringcommSoftmaxCanonical = 0, ringcommSoftmaxFast = 1 };
enum { ringcommSoftmaxScatterNone = 0, ringcommSoftmaxScatterRows = 1, ringcommSoftmaxScatterHeads = 2 };
typedef struct {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int form;
  int base;
  int order;             /* canonical: the same bits on every rank and for every algorithm */
  int scatter;           /* of ReduceScatter: rows (also for none) or heads of [tokens, heads] */
  int64_t heads;         /* per token, for heads */
  const int64_t* counts; /* [nranks] rows or heads that each rank keeps; NULL: evenly */
} ringcommSoftmaxDesc_t;
#define RINGCOMM_SOFTMAX_DESC_INITIALIZER                                                                    \
  {                                                                                                          \
    RINGCOMM_STRUCT_HEAD(ringcommSoftmaxDesc_t), 0, 0, ringcommSoftmaxCanonical, ringcommSoftmaxScatterNone, \
        1, NULL                                                                                              \
  }

/* out [rows, dim] of `datatype` (float32, bfloat16, float16), statistics float32; contiguous. In place is
   legal (equal pointers). outStat may be NULL. */
RINGCOMM_API ringcommResult_t ringcommSoftmaxStatAllReduce(const void* partialOut, const void* partialStat,
                                                           void* out, void* outStat, int64_t rows,
                                                           int64_t dim, ringcommDataType_t datatype,
                                                           const ringcommSoftmaxDesc_t* desc,
                                                           ringcommComm_t comm, ringcommStream_t stream);
/* rows: of the partial; out gets this rank's share. */
RINGCOMM_API ringcommResult_t ringcommSoftmaxStatReduceScatter(const void* partialOut,
                                                               const void* partialStat, void* out,
                                                               void* outStat, int64_t rows, int64_t dim,
                                                               ringcommDataType_t datatype,
                                                               const ringcommSoftmaxDesc_t* desc,
                                                               ringcommComm_t comm, ringcommStream_t stream);
/* Merges `count` partials of this process in their order; no communication. */
RINGCOMM_API ringcommResult_t ringcommSoftmaxStatMerge(const void* const* partialOuts,
                                                       const void* const* partialStats, int count, void* out,
                                                       void* outStat, int64_t rows, int64_t dim,
                                                       ringcommDataType_t datatype,
                                                       const ringcommSoftmaxDesc_t* desc);

/* DLPack 1.x, in and out. */

/* A row-major tensor at `ptr` inside memory of ringcommMemAlloc. Its deleter (the caller's duty) gives it
   back; the memory lives at least as long. readOnly sets DLPack's flag. */
RINGCOMM_API ringcommResult_t ringcommWindowToDLPack(void* ptr, const int64_t* shape, int axes,
                                                     ringcommDataType_t datatype, int readOnly,
                                                     struct DLManagedTensorVersioned** tensor);

#define RINGCOMM_TENSOR_AXES_MAX 4
typedef struct {
  void* data; /* byte_offset added */
  ringcommDataType_t datatype;
  int axes;
  int64_t shape[RINGCOMM_TENSOR_AXES_MAX];
  int64_t strides[RINGCOMM_TENSOR_AXES_MAX]; /* in elements */
} ringcommTensor_t;
/* Checks and describes; does not take ownership. A read-only tensor is refused with forOutput. */
RINGCOMM_API ringcommResult_t ringcommTensorFromDLPack(const struct DLManagedTensorVersioned* tensor,
                                                       int forOutput, ringcommTensor_t* view);
/* The collectives on DLPack tensors: input of any strides, output contiguous. */
RINGCOMM_API ringcommResult_t ringcommAllReduceDLPack(const struct DLManagedTensorVersioned* input,
                                                      const struct DLManagedTensorVersioned* output,
                                                      ringcommRedOp_t op, ringcommComm_t comm,
                                                      ringcommStream_t stream);
RINGCOMM_API ringcommResult_t ringcommAllGatherDLPack(const struct DLManagedTensorVersioned* input,
                                                      const struct DLManagedTensorVersioned* output,
                                                      ringcommComm_t comm, ringcommStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
