// SPDX-License-Identifier: Apache-2.0
// Broadcast, all-to-all, and the messages of groups.
#include "ringcomm/collectives/exchange.hpp"

#include "capi/operation.hpp"
#include "capi/tensors.hpp"

namespace ringcomm::inline v0::capi {
namespace {

Status add_message(Operation& operation, PointToPoint::Kind kind, const void* data, std::size_t count,
                   int datatype, int peer) {
  RINGCOMM_TRY_ASSIGN(const TensorView tensor, flat(data, count, 1, datatype));
  operation.messages.push_back({.kind = kind, .peer = peer, .tensor = tensor});
  operation.exchange = &send_recv;
  return {};
}

}  // namespace
}  // namespace ringcomm::inline v0::capi

namespace capi = ringcomm::capi;
using ringcomm::CallOptions;
using ringcomm::Channel;
using ringcomm::PointToPoint;
using ringcomm::Status;
using ringcomm::TensorView;

extern "C" {

ringcommResult_t ringcommAllToAll(const void* sendbuff, void* recvbuff, size_t count,
                                  ringcommDataType_t datatype, ringcommComm_t comm, ringcommStream_t stream) {
  return capi::operate(
      "ringcommAllToAll", comm, stream, [&](ringcommComm& handle, capi::Operation& operation) -> Status {
        RINGCOMM_TRY_ASSIGN(const TensorView input, capi::flat(sendbuff, count, handle.size, datatype));
        RINGCOMM_TRY_ASSIGN(const TensorView output, capi::flat(recvbuff, count, handle.size, datatype));
        operation.run = [input, output](Channel& channel, const CallOptions& options) {
          return ringcomm::all_to_all(channel, input, output, {}, {}, options);
        };
        return {};
      });
}

ringcommResult_t ringcommAllToAllV(const void* sendbuff, const int64_t* sendcounts, void* recvbuff,
                                   const int64_t* recvcounts, ringcommDataType_t datatype,
                                   ringcommComm_t comm, ringcommStream_t stream) {
  return capi::operate(
      "ringcommAllToAllV", comm, stream, [&](ringcommComm& handle, capi::Operation& operation) -> Status {
        RINGCOMM_TRY_ASSIGN(const capi::Counts sends,
                            capi::read_counts(sendcounts, handle.size, "sendcounts"));
        RINGCOMM_TRY_ASSIGN(const capi::Counts receives,
                            capi::read_counts(recvcounts, handle.size, "recvcounts"));
        RINGCOMM_TRY_ASSIGN(const TensorView input,
                            capi::flat(sendbuff, static_cast<std::size_t>(sends.sum), 1, datatype));
        RINGCOMM_TRY_ASSIGN(const TensorView output,
                            capi::flat(recvbuff, static_cast<std::size_t>(receives.sum), 1, datatype));
        operation.run = [input, output, to = sends.list, from = receives.list](Channel& channel,
                                                                               const CallOptions& options) {
          return ringcomm::all_to_all(channel, input, output, to, from, options);
        };
        return {};
      });
}

ringcommResult_t ringcommBroadcast(const void* sendbuff, void* recvbuff, size_t count,
                                   ringcommDataType_t datatype, int root, ringcommComm_t comm,
                                   ringcommStream_t stream) {
  return capi::operate(
      "ringcommBroadcast", comm, stream, [&](ringcommComm& handle, capi::Operation& operation) -> Status {
        TensorView input;
        if (root == handle.rank) {
          RINGCOMM_TRY_ASSIGN(input, capi::flat(sendbuff, count, 1, datatype));
        }
        RINGCOMM_TRY_ASSIGN(const TensorView output, capi::flat(recvbuff, count, 1, datatype));
        operation.run = [input, output, root](Channel& channel, const CallOptions& options) {
          return ringcomm::broadcast(channel, input, output, root, options);
        };
        return {};
      });
}

ringcommResult_t ringcommSend(const void* sendbuff, size_t count, ringcommDataType_t datatype, int peer,
                              ringcommComm_t comm, ringcommStream_t stream) {
  return capi::operate("ringcommSend", comm, stream, [&](ringcommComm&, capi::Operation& operation) {
    return capi::add_message(operation, PointToPoint::Kind::send, sendbuff, count, datatype, peer);
  });
}

ringcommResult_t ringcommRecv(void* recvbuff, size_t count, ringcommDataType_t datatype, int peer,
                              ringcommComm_t comm, ringcommStream_t stream) {
  return capi::operate("ringcommRecv", comm, stream, [&](ringcommComm&, capi::Operation& operation) {
    return capi::add_message(operation, PointToPoint::Kind::receive, recvbuff, count, datatype, peer);
  });
}

ringcommResult_t ringcommRingRotate(const void* sendbuff, void* recvbuff, size_t bytes, ringcommComm_t comm,
                                    ringcommStream_t stream) {
  return capi::operate(
      "ringcommRingRotate", comm, stream, [&](ringcommComm& handle, capi::Operation& operation) -> Status {
        const int next = (handle.rank + 1) % handle.size;
        const int previous = (handle.rank + handle.size - 1) % handle.size;
        RINGCOMM_TRY(
            capi::add_message(operation, PointToPoint::Kind::send, sendbuff, bytes, ringcommUint8, next));
        return capi::add_message(operation, PointToPoint::Kind::receive, recvbuff, bytes, ringcommUint8,
                                 previous);
      });
}
}
