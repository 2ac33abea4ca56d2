// SPDX-License-Identifier: Apache-2.0
#include "capi/softmax.hpp"

#include <algorithm>
#include <vector>

#include "capi/operation.hpp"
#include "capi/tensors.hpp"

namespace ringcomm::inline v0::capi {
namespace {

constexpr ringcommSoftmaxDesc_t kUnset = RINGCOMM_SOFTMAX_DESC_INITIALIZER;

Status check_choice(std::string_view field, int value, int first, int last) {
  if (value >= first && value <= last) return {};
  return Status::invalid_argument(concat("ringcommSoftmaxDesc_t.", field, " is ", value, " (", first, " to ",
                                         last, "; form and base have no default)"));
}

Status all_reduce(Operation& operation, const PartialShape& shape, const ringcommSoftmaxDesc_t& desc,
                  const SoftmaxPartial& partial, void* out, void* out_statistic) {
  if (desc.scatter != ringcommSoftmaxScatterNone)
    return Status::invalid_argument(
        "ringcommSoftmaxDesc_t.scatter belongs to ringcommSoftmaxStatReduceScatter");
  const MergeOrder order = desc.order == ringcommSoftmaxFast ? MergeOrder::fast : MergeOrder::canonical;
  operation.run = [comm = operation.comm, shape, order, partial, out, out_statistic](
                      Channel& channel, const CallOptions& call) -> Result<Work> {
    void* statistic = out_statistic;
    if (statistic == nullptr) {
      RINGCOMM_TRY_ASSIGN(statistic, unwanted_statistics(*comm, shape));
    }
    SoftmaxAllReduceOptions options;
    options.order = order;
    options.call = call;
    return softmax_all_reduce(channel, partial, partial_of(shape, out, statistic), options);
  };
  return {};
}

Status merge(const void* const* outs, const void* const* statistics, int count, void* out,
             void* out_statistic, const PartialShape& shape) {
  RINGCOMM_TRY(not_null(outs, "partialOuts"));
  RINGCOMM_TRY(not_null(statistics, "partialStats"));
  std::vector<SoftmaxPartial> sources;
  for (int i = 0; i < count; ++i) sources.push_back(partial_of(shape, outs[i], statistics[i]));
  std::vector<float> unwanted;
  if (out_statistic == nullptr) {
    unwanted.resize(static_cast<std::size_t>(std::max<std::int64_t>(shape.statistics(), 0)));
    out_statistic = unwanted.data();
  }
  return merge_softmax_partials(partial_of(shape, out, out_statistic), sources);
}

}  // namespace

Result<ringcommSoftmaxDesc_t> read_softmax_desc(const ringcommSoftmaxDesc_t* given) {
  RINGCOMM_TRY(not_null(given, "desc"));
  RINGCOMM_TRY_ASSIGN(const ringcommSoftmaxDesc_t desc, read_sized("ringcommSoftmaxDesc_t", given, kUnset));
  RINGCOMM_TRY(check_choice("form", desc.form, ringcommSoftmaxNormalised, ringcommSoftmaxUnnormalised));
  RINGCOMM_TRY(check_choice("base", desc.base, ringcommSoftmaxBaseE, ringcommSoftmaxBase2));
  RINGCOMM_TRY(check_choice("order", desc.order, ringcommSoftmaxCanonical, ringcommSoftmaxFast));
  RINGCOMM_TRY(
      check_choice("scatter", desc.scatter, ringcommSoftmaxScatterNone, ringcommSoftmaxScatterHeads));
  return desc;
}

Result<PartialShape> shape_of(const ringcommSoftmaxDesc_t& desc, std::int64_t rows, std::int64_t dim,
                              int datatype) {
  RINGCOMM_TRY_ASSIGN(const DType dtype, dtype_of(datatype));
  constexpr std::int64_t kRowsMax = std::int64_t{1} << 50;
  if (rows < 0 || rows > kRowsMax)
    return Status::invalid_argument(concat("rows is ", rows, " (0 to 2^50 are possible)"));
  const bool is_normalised = desc.form == ringcommSoftmaxNormalised;
  return PartialShape{.form = is_normalised ? PartialForm::normalised : PartialForm::unnormalised,
                      .base = desc.base == ringcommSoftmaxBaseE ? LogBase::e : LogBase::two,
                      .dtype = dtype,
                      .rows = rows,
                      .dim = dim};
}

SoftmaxPartial partial_of(const PartialShape& shape, const void* out, const void* statistic) {
  SoftmaxPartial partial{.form = shape.form, .base = shape.base, .out = {}, .statistic = {}};
  partial.out = TensorView::contiguous(writable(out), shape.dtype, {shape.rows, shape.dim});
  partial.statistic = shape.form == PartialForm::normalised
                          ? TensorView::contiguous(writable(statistic), DType::float32, {shape.rows})
                          : TensorView::contiguous(writable(statistic), DType::float32, {shape.rows, 2});
  return partial;
}

Result<void*> unwanted_statistics(ringcommComm& comm, const PartialShape& shape) {
  const auto wanted = static_cast<std::size_t>(shape.statistics());
  if (comm.unwanted.size() < wanted) {
    RINGCOMM_TRY(comm.last_work.wait(Deadline::after(comm.communicator.deadline())));  // it may write there
    comm.unwanted.resize(wanted);
  }
  return static_cast<void*>(comm.unwanted.data());
}

}  // namespace ringcomm::inline v0::capi

namespace capi = ringcomm::capi;
using ringcomm::Status;

extern "C" {

ringcommResult_t ringcommSoftmaxStatAllReduce(const void* partialOut, const void* partialStat, void* out,
                                              void* outStat, int64_t rows, int64_t dim,
                                              ringcommDataType_t datatype, const ringcommSoftmaxDesc_t* desc,
                                              ringcommComm_t comm, ringcommStream_t stream) {
  return capi::operate(
      "ringcommSoftmaxStatAllReduce", comm, stream, [&](ringcommComm&, capi::Operation& operation) -> Status {
        RINGCOMM_TRY_ASSIGN(const auto read, capi::read_softmax_desc(desc));
        RINGCOMM_TRY_ASSIGN(const auto shape, capi::shape_of(read, rows, dim, datatype));
        return capi::all_reduce(operation, shape, read, capi::partial_of(shape, partialOut, partialStat), out,
                                outStat);
      });
}

ringcommResult_t ringcommSoftmaxStatMerge(const void* const* partialOuts, const void* const* partialStats,
                                          int count, void* out, void* outStat, int64_t rows, int64_t dim,
                                          ringcommDataType_t datatype, const ringcommSoftmaxDesc_t* desc) {
  return capi::run("ringcommSoftmaxStatMerge", [&]() -> Status {
    RINGCOMM_TRY_ASSIGN(const auto read, capi::read_softmax_desc(desc));
    RINGCOMM_TRY_ASSIGN(const auto shape, capi::shape_of(read, rows, dim, datatype));
    return capi::merge(partialOuts, partialStats, count, out, outStat, shape);
  });
}
}
