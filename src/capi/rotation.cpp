// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "capi/operation.hpp"
#include "capi/tensors.hpp"

namespace ringcomm::inline v0::capi {
namespace {

constexpr ringcommRotateDesc_t kUnset = RINGCOMM_ROTATE_DESC_INITIALIZER;

Result<RotationOptions> read_options(const ringcommRotateDesc_t& desc, int ranks) {
  if (desc.mode < ringcommRotateAutomatic || desc.mode > ringcommRotateRelay)
    return Status::invalid_argument(
        concat("ringcommRotateDesc_t.mode is ", desc.mode, " (0 automatic, 1 direct, 2 relay)"));
  RotationOptions options;
  options.mode = static_cast<RotationChoice>(desc.mode);
  options.overlap = desc.overlap != 0 ? plan::Overlap::on : plan::Overlap::off;
  options.direction = desc.direction;
  options.chunk_bytes = desc.chunkBytes;
  if (desc.rankRows != nullptr) options.rows.assign(desc.rankRows, desc.rankRows + ranks);
  return options;
}

Status create(ringcommRotation_t* rotation, const ringcommRotateDesc_t* given, ringcommComm& comm) {
  RINGCOMM_TRY(not_null(rotation, "rotation"));
  *rotation = nullptr;
  RINGCOMM_TRY(not_null(given, "desc"));
  RINGCOMM_TRY(outside_group());
  RINGCOMM_TRY_ASSIGN(const ringcommRotateDesc_t desc, read_sized("ringcommRotateDesc_t", given, kUnset));
  RINGCOMM_TRY_ASSIGN(const DType dtype, dtype_of(desc.datatype));
  RINGCOMM_TRY_ASSIGN(const RotationOptions options, read_options(desc, comm.size));
  const auto k = TensorView::contiguous(writable(desc.k), dtype, {desc.rows, desc.heads, desc.kDim});
  const auto v = TensorView::contiguous(writable(desc.v), dtype, {desc.rows, desc.heads, desc.vDim});
  RINGCOMM_TRY_ASSIGN(RingRotation made, RingRotation::create(comm.communicator.channel(), k, v, options));
  *rotation = std::make_unique<ringcommRotation>(&comm, std::move(made)).release();
  return {};
}

Status next(ringcommRotation& handle, ringcommRotationStep_t* step) {
  RINGCOMM_TRY(not_null(step, "step"));
  *step = {.index = -1, .source = -1, .partCount = 0, .parts = nullptr};
  handle.step = RotationStep();  // gives the last one back
  handle.step = handle.rotation.next();
  if (!handle.step) return handle.rotation.status();
  handle.parts.clear();
  for (const RotationPart& part : handle.step.parts()) {
    handle.parts.push_back({.k = part.k.data,
                            .v = part.v.data,
                            .rowFirst = part.row_first,
                            .rowCount = part.row_count,
                            .headFirst = part.head_first,
                            .headCount = part.k.shape[1]});
  }
  step->index = handle.step.index();
  step->source = handle.step.source();
  step->partCount = static_cast<int>(handle.parts.size());
  step->parts = handle.parts.data();
  return {};
}

/// As run_on(), for a rotation: errors are its communicator's.
template <class Body>
ringcommResult_t run_with(std::string_view call, ringcommRotation_t rotation, Body&& body) noexcept {
  if (Status given = not_null(rotation, "rotation"); !given.is_ok()) return report(call, nullptr, given);
  return run_on(call, rotation->comm, [&](ringcommComm&) -> Status {
    RINGCOMM_TRY(outside_group());
    return body(*rotation);
  });
}

}  // namespace
}  // namespace ringcomm::inline v0::capi

namespace capi = ringcomm::capi;
using ringcomm::Status;

extern "C" {

ringcommResult_t ringcommRotateCreate(ringcommRotation_t* rotation, const ringcommRotateDesc_t* desc,
                                      ringcommComm_t comm) {
  return capi::run_on("ringcommRotateCreate", comm,
                      [&](ringcommComm& handle) { return capi::create(rotation, desc, handle); });
}

ringcommResult_t ringcommRotateStart(ringcommRotation_t rotation) {
  return capi::run_with("ringcommRotateStart", rotation, [](ringcommRotation& handle) -> Status {
    if (handle.comm->is_finalized) return Status::not_available("the communicator was finalized");
    return handle.rotation.start();
  });
}

ringcommResult_t ringcommRotateNext(ringcommRotation_t rotation, ringcommRotationStep_t* step) {
  return capi::run_with("ringcommRotateNext", rotation,
                        [&](ringcommRotation& handle) { return capi::next(handle, step); });
}

ringcommResult_t ringcommRotateRelease(ringcommRotation_t rotation) {
  return capi::run_with("ringcommRotateRelease", rotation, [](ringcommRotation& handle) {
    handle.step.release();
    return Status();
  });
}

ringcommResult_t ringcommRotateDestroy(ringcommRotation_t rotation) {
  return capi::run_with("ringcommRotateDestroy", rotation, [](ringcommRotation& handle) {
    delete &handle;
    return Status();
  });
}
}
