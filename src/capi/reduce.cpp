// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/collectives/reduce.hpp"

#include "capi/dlpack.hpp"
#include "capi/operation.hpp"
#include "capi/tensors.hpp"

namespace capi = ringcomm::capi;
using ringcomm::CallOptions;
using ringcomm::Channel;
using ringcomm::ReduceOp;
using ringcomm::Status;
using ringcomm::TensorView;

extern "C" {

ringcommResult_t ringcommAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                                   ringcommDataType_t datatype, ringcommRedOp_t op, ringcommComm_t comm,
                                   ringcommStream_t stream) {
  return capi::operate(
      "ringcommAllReduce", comm, stream, [&](ringcommComm&, capi::Operation& operation) -> Status {
        RINGCOMM_TRY_ASSIGN(const TensorView input, capi::flat(sendbuff, count, 1, datatype));
        RINGCOMM_TRY_ASSIGN(const TensorView output, capi::flat(recvbuff, count, 1, datatype));
        RINGCOMM_TRY_ASSIGN(const ReduceOp reduce, capi::reduce_op_of(op));
        operation.run = [input, output, reduce](Channel& channel, const CallOptions& options) {
          return ringcomm::all_reduce(channel, input, output, reduce, options);
        };
        return {};
      });
}

ringcommResult_t ringcommReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                                       ringcommDataType_t datatype, ringcommRedOp_t op, ringcommComm_t comm,
                                       ringcommStream_t stream) {
  return capi::operate(
      "ringcommReduceScatter", comm, stream, [&](ringcommComm& handle, capi::Operation& operation) -> Status {
        RINGCOMM_TRY_ASSIGN(const TensorView input, capi::flat(sendbuff, recvcount, handle.size, datatype));
        RINGCOMM_TRY_ASSIGN(const TensorView output, capi::flat(recvbuff, recvcount, 1, datatype));
        RINGCOMM_TRY_ASSIGN(const ReduceOp reduce, capi::reduce_op_of(op));
        operation.run = [input, output, reduce](Channel& channel, const CallOptions& options) {
          return ringcomm::reduce_scatter(channel, input, output, reduce, {}, options);
        };
        return {};
      });
}

ringcommResult_t ringcommReduceScatterV(const void* sendbuff, void* recvbuff, const int64_t* counts,
                                        ringcommDataType_t datatype, ringcommRedOp_t op, ringcommComm_t comm,
                                        ringcommStream_t stream) {
  return capi::operate(
      "ringcommReduceScatterV", comm, stream,
      [&](ringcommComm& handle, capi::Operation& operation) -> Status {
        RINGCOMM_TRY_ASSIGN(const capi::Counts read, capi::read_counts(counts, handle.size, "counts"));
        const auto own = static_cast<std::size_t>(read.list[static_cast<std::size_t>(handle.rank)]);
        RINGCOMM_TRY_ASSIGN(const TensorView input,
                            capi::flat(sendbuff, static_cast<std::size_t>(read.sum), 1, datatype));
        RINGCOMM_TRY_ASSIGN(const TensorView output, capi::flat(recvbuff, own, 1, datatype));
        RINGCOMM_TRY_ASSIGN(const ReduceOp reduce, capi::reduce_op_of(op));
        operation.run = [input, output, reduce, list = read.list](Channel& channel,
                                                                  const CallOptions& options) {
          return ringcomm::reduce_scatter(channel, input, output, reduce, list, options);
        };
        return {};
      });
}

ringcommResult_t ringcommAllReduceDLPack(const struct DLManagedTensorVersioned* input,
                                         const struct DLManagedTensorVersioned* output, ringcommRedOp_t op,
                                         ringcommComm_t comm, ringcommStream_t stream) {
  return capi::operate("ringcommAllReduceDLPack", comm, stream,
                       [&](ringcommComm&, capi::Operation& operation) -> Status {
                         RINGCOMM_TRY_ASSIGN(const TensorView from, capi::read_dlpack(input, "input", false));
                         RINGCOMM_TRY_ASSIGN(const TensorView to, capi::read_dlpack(output, "output", true));
                         RINGCOMM_TRY_ASSIGN(const ReduceOp reduce, capi::reduce_op_of(op));
                         operation.run = [from, to, reduce](Channel& channel, const CallOptions& options) {
                           return ringcomm::all_reduce(channel, from, to, reduce, options);
                         };
                         return {};
                       });
}
}
