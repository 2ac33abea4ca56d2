// SPDX-License-Identifier: Apache-2.0
// Barrier and all-gather.
#include "capi/operation.hpp"
#include "capi/tensors.hpp"

namespace capi = ringcomm::capi;
using ringcomm::CallOptions;
using ringcomm::Channel;
using ringcomm::Status;
using ringcomm::TensorView;

extern "C" {

ringcommResult_t ringcommBarrier(ringcommComm_t comm, ringcommStream_t stream) {
  return capi::operate("ringcommBarrier", comm, stream, [](ringcommComm&, capi::Operation& operation) {
    operation.run = [](Channel& channel, const CallOptions& options) {
      return ringcomm::barrier(channel, options);
    };
    return Status();
  });
}

ringcommResult_t ringcommAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                                   ringcommDataType_t datatype, ringcommComm_t comm,
                                   ringcommStream_t stream) {
  return capi::operate(
      "ringcommAllGather", comm, stream, [&](ringcommComm& handle, capi::Operation& operation) -> Status {
        RINGCOMM_TRY_ASSIGN(const TensorView input, capi::flat(sendbuff, sendcount, 1, datatype));
        RINGCOMM_TRY_ASSIGN(const TensorView output, capi::flat(recvbuff, sendcount, handle.size, datatype));
        operation.run = [input, output](Channel& channel, const CallOptions& options) {
          return ringcomm::all_gather(channel, input, output, {}, options);
        };
        return {};
      });
}

ringcommResult_t ringcommAllGatherV(const void* sendbuff, void* recvbuff, const int64_t* counts,
                                    ringcommDataType_t datatype, ringcommComm_t comm,
                                    ringcommStream_t stream) {
  return capi::operate(
      "ringcommAllGatherV", comm, stream, [&](ringcommComm& handle, capi::Operation& operation) -> Status {
        RINGCOMM_TRY_ASSIGN(const capi::Counts read, capi::read_counts(counts, handle.size, "counts"));
        const auto own = static_cast<std::size_t>(read.list[static_cast<std::size_t>(handle.rank)]);
        RINGCOMM_TRY_ASSIGN(const TensorView input, capi::flat(sendbuff, own, 1, datatype));
        RINGCOMM_TRY_ASSIGN(const TensorView output,
                            capi::flat(recvbuff, static_cast<std::size_t>(read.sum), 1, datatype));
        operation.run = [input, output, list = read.list](Channel& channel, const CallOptions& options) {
          return ringcomm::all_gather(channel, input, output, list, options);
        };
        return {};
      });
}
}
