// SPDX-License-Identifier: Apache-2.0
// Models and machines whose answers are known, for the planner's tests.
#pragma once

#include "choose.hpp"

namespace ringcomm::planner {

/// Meta's published configuration: 8,030,261,248 parameters.
inline ModelShape llama3_8b() {
  return {.layers = 32,
          .heads = 32,
          .kv_heads = 8,
          .head_dim = 128,
          .hidden = 4096,
          .ffn = 14336,
          .vocab = 128256};
}
/// The issue's: 40 layers, 32 heads of 128, fp16.
inline ModelShape forty_layers() {
  return {
      .layers = 40, .heads = 32, .kv_heads = 32, .head_dim = 128, .hidden = 4096, .dtype = DType::float16};
}
inline Fabric eight_gpus(int hosts = 1) {
  return {
      .hosts = hosts,
      .gpus_per_host = 8,
      .nics_per_host = 8,
      .local = {.name = "NV18", .bandwidth = {.gb_per_s = 370.0, .source = Source::table}, .alpha_us = 5.0},
      .nic = {.name = "NIC", .bandwidth = {.gb_per_s = 50.0, .source = Source::table}, .alpha_us = 10.0},
      .tflops = 600.0};
}

}  // namespace ringcomm::planner
