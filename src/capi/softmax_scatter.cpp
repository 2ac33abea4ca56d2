// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "capi/operation.hpp"
#include "capi/softmax.hpp"
#include "capi/tensors.hpp"

namespace ringcomm::inline v0::capi {
namespace {

/// What the rank keeps: rows, or heads of every token.
Result<PartialShape> share_of(const PartialShape& whole, const ringcommSoftmaxDesc_t& desc,
                              const std::vector<std::int64_t>& counts, const ringcommComm& comm) {
  const bool is_heads = desc.scatter == ringcommSoftmaxScatterHeads;
  if (is_heads && (desc.heads < 1 || whole.rows % desc.heads != 0)) {
    return Status::invalid_argument(concat("ringcommSoftmaxDesc_t.heads is ", desc.heads,
                                           ", which does not divide ", whole.rows, " rows"));
  }
  const std::int64_t all = is_heads ? desc.heads : whole.rows;
  const std::int64_t own = counts.empty() ? (comm.rank + 1) * all / comm.size - comm.rank * all / comm.size
                                          : counts[static_cast<std::size_t>(comm.rank)];
  PartialShape share = whole;
  share.rows = is_heads ? whole.rows / desc.heads * own : own;
  return share;
}

Status reduce_scatter(Operation& operation, const PartialShape& whole, const ringcommSoftmaxDesc_t& desc,
                      const SoftmaxPartial& partial, void* out, void* out_statistic) {
  ringcommComm& comm = *operation.comm;
  if (desc.order != ringcommSoftmaxCanonical)
    return Status::not_available("ringcommSoftmaxStatReduceScatter has only the canonical order");
  SoftmaxReduceScatterOptions options;
  options.scatter = desc.scatter == ringcommSoftmaxScatterHeads ? MergeScatter::heads : MergeScatter::rows;
  options.heads = desc.heads;
  if (desc.counts != nullptr) {
    RINGCOMM_TRY_ASSIGN(Counts read, read_counts(desc.counts, comm.size, "desc->counts"));
    options.counts = std::move(read.list);
  }
  RINGCOMM_TRY_ASSIGN(const PartialShape share, share_of(whole, desc, options.counts, comm));
  operation.run = [&comm, share, options, partial, out, out_statistic](
                      Channel& channel, const CallOptions& call) -> Result<Work> {
    void* statistic = out_statistic;
    if (statistic == nullptr) {
      RINGCOMM_TRY_ASSIGN(statistic, unwanted_statistics(comm, share));
    }
    SoftmaxReduceScatterOptions with_call = options;
    with_call.call = call;
    return softmax_reduce_scatter(channel, partial, partial_of(share, out, statistic), with_call);
  };
  return {};
}

}  // namespace
}  // namespace ringcomm::inline v0::capi

namespace capi = ringcomm::capi;
using ringcomm::Status;

extern "C" {

ringcommResult_t ringcommSoftmaxStatReduceScatter(const void* partialOut, const void* partialStat, void* out,
                                                  void* outStat, int64_t rows, int64_t dim,
                                                  ringcommDataType_t datatype,
                                                  const ringcommSoftmaxDesc_t* desc, ringcommComm_t comm,
                                                  ringcommStream_t stream) {
  return capi::operate("ringcommSoftmaxStatReduceScatter", comm, stream,
                       [&](ringcommComm&, capi::Operation& operation) -> Status {
                         RINGCOMM_TRY_ASSIGN(const auto read, capi::read_softmax_desc(desc));
                         RINGCOMM_TRY_ASSIGN(const auto shape, capi::shape_of(read, rows, dim, datatype));
                         return capi::reduce_scatter(operation, shape, read,
                                                     capi::partial_of(shape, partialOut, partialStat), out,
                                                     outStat);
                       });
}
}
