// SPDX-License-Identifier: Apache-2.0
// ringcommSoftmaxDesc_t and the views of a partial result.
#pragma once

#include "capi/handles.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"

namespace ringcomm::inline v0::capi {

/// form and base are set and all numbers are known ones.
Result<ringcommSoftmaxDesc_t> read_softmax_desc(const ringcommSoftmaxDesc_t* given);

struct PartialShape {
  PartialForm form = PartialForm::normalised;
  LogBase base = LogBase::e;
  DType dtype = DType::float32;
  std::int64_t rows = 0;
  std::int64_t dim = 0;
  std::int64_t statistics() const { return form == PartialForm::unnormalised ? 2 * rows : rows; }
};
Result<PartialShape> shape_of(const ringcommSoftmaxDesc_t& desc, std::int64_t rows, std::int64_t dim,
                              int datatype);
SoftmaxPartial partial_of(const PartialShape& shape, const void* out, const void* statistic);

/// Memory of the communicator for statistics that the caller does not want; called when the operation runs.
Result<void*> unwanted_statistics(ringcommComm& comm, const PartialShape& shape);

}  // namespace ringcomm::inline v0::capi
