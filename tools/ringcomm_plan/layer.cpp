// SPDX-License-Identifier: Apache-2.0
#include "layer.hpp"

#include <algorithm>

namespace ringcomm::planner {
namespace {

/// Ring all-reduce: 2 (n-1) hops of 1/n of the bytes.
double all_reduce_us(double bytes, int ranks, double alpha_us, double bytes_per_us) {
  if (ranks == 1) return 0;
  return 2.0 * (ranks - 1) * (alpha_us + bytes / ranks / bytes_per_us);
}

/// Two all-reduces (or their halves, with sequence parallelism) forward and two backward, of one activation
/// each: Megatron-LM's tensor parallelism (arXiv 1909.08053).
double tp_us(const ModelShape& shape, const Work& work, const Split& split, const Fabric& fabric,
             double tokens) {
  if (split.tp == 1) return 0;
  const Rates rates = rates_of(fabric);
  const double bytes = tokens * *shape.hidden * static_cast<double>(bytes_of(shape.dtype));
  const bool crosses = split.tp > fabric.gpus_per_host;
  const double one = all_reduce_us(bytes, split.tp, crosses ? rates.nic_alpha_us : rates.local_alpha_us,
                                   crosses ? rates.nic_bytes_per_us : rates.local_bytes_per_us);
  return (work.phase == Phase::train ? 4 : 2) * one;
}

/// All ranks of all groups reduce at once and share the NICs of their host.
double gradient_us(const ModelShape& shape, const Split& split, const Fabric& fabric) {
  const int ranks = split.dp * split.cp;
  const Rates rates = rates_of(fabric);
  const double bytes = *parameters(shape, split).per_rank * 4;  // fp32
  if (ranks * split.tp <= fabric.gpus_per_host)
    return all_reduce_us(bytes, ranks, rates.local_alpha_us, rates.local_bytes_per_us);
  // One ring per TP rank crosses each host boundary; each has its share of the NICs.
  const int rings = std::min(split.tp, fabric.gpus_per_host);
  const double share = std::min<double>(rates.nics, std::max(1, fabric.gpus_per_host)) / rings;
  const double network = rates.nic_bytes_per_us * share;
  const bool has_local = fabric.gpus_per_host > split.tp;
  const double slowest = has_local ? std::min(network, rates.local_bytes_per_us) : network;
  return all_reduce_us(bytes, ranks, rates.nic_alpha_us, slowest);
}

}  // namespace

StepTime step_time(const ModelShape& shape, const Work& work, const Split& split, Strategy strategy,
                   const Fabric& fabric) {
  StepTime step;
  const CpPlace place = place_cp(fabric, split);
  const Rates rates = rates_of(fabric);
  const bool is_training = work.phase == Phase::train;
  LayerTime& layer = step.layer;
  layer.forward = attention_time(
      strategy, attention_load(shape, work, split, work.tokens, place, rates, Direction::forward), place,
      rates);
  layer.attention_us = layer.forward.total_us;
  layer.exposed_us = layer.forward.exposed_us;
  if (is_training) {
    layer.backward = attention_time(
        strategy, attention_load(shape, work, split, work.tokens, place, rates, Direction::backward), place,
        rates);
    // Full recomputation runs the forward once more.
    const double again = work.recompute == Recompute::full ? 2 : 1;
    layer.attention_us = again * layer.forward.total_us + layer.backward->total_us;
    layer.exposed_us = again * layer.forward.exposed_us + layer.backward->exposed_us;
  }
  const Parameters count = parameters(shape, split);
  const double tokens = static_cast<double>(work.tokens) / split.cp * static_cast<double>(work.micro_batch);
  layer.tp_us = tp_us(shape, work, split, fabric, tokens);
  if (!count.layer_ffn) return step;
  // Two operations a parameter and token forward, twice that backward, and the forward again to recompute.
  const double passes = !is_training ? 1 : work.recompute == Recompute::full ? 4 : 3;
  layer.dense_us = 2 * passes * (*count.layer_attention + *count.layer_ffn) * tokens / rates.flop_per_us;
  const double stage_layers = static_cast<double>(shape.layers) / split.pp;
  step.stage_us = stage_layers * (layer.attention_us + *layer.dense_us + layer.tp_us);
  const double micro_batches = static_cast<double>(work.batch / split.dp / work.micro_batch);
  step.bubble = (micro_batches + split.pp - 1) / micro_batches;
  if (is_training) {
    if (!count.per_rank) return step;
    step.head_us = 6.0 * *shape.hidden * *shape.vocab / split.tp * tokens / rates.flop_per_us;
    step.gradients_us = split.dp * split.cp == 1 ? 0 : gradient_us(shape, split, fabric);
  }
  step.total_us = (*step.stage_us + step.head_us.value_or(0)) * micro_batches * step.bubble +
                  step.gradients_us.value_or(0);
  return step;
}

}  // namespace ringcomm::planner
