// SPDX-License-Identifier: Apache-2.0
// Predicted time of a layer and of a whole step: attention, the matrix products around it, TP, pipeline, DP.
#pragma once

#include <optional>
#include <string>

#include "memory.hpp"

namespace ringcomm::planner {

/// Microseconds of one layer on one micro-batch, forward and (in training) backward together.
struct LayerTime {
  AttentionTime forward{};
  std::optional<AttentionTime> backward{};
  double attention_us = 0;           ///< both
  double exposed_us = 0;             ///< of it, communication that nothing hides
  std::optional<double> dense_us{};  ///< projections and feed-forward; absent without --hidden and --ffn
  double tp_us = 0;                  ///< all-reduces of tensor parallelism, not hidden
};
struct StepTime {
  LayerTime layer{};
  std::optional<double> stage_us{};      ///< all layers of a pipeline stage on one micro-batch
  std::optional<double> head_us{};       ///< output layer (training)
  std::optional<double> gradients_us{};  ///< all-reduce over DP x CP (training)
  double bubble = 1;                     ///< (micro-batches + pp - 1) / micro-batches
  std::optional<double> total_us{};
};
/// Everything in `rates` that missing_numbers() asks for is known. Needs no machine: O(1).
StepTime step_time(const ModelShape& shape, const Work& work, const Split& split, Strategy strategy,
                   const Fabric& fabric);

}  // namespace ringcomm::planner
