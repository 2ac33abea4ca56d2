// SPDX-License-Identifier: Apache-2.0
// Tables of GPU samples: nvidia-smi --query-gpu=... --format=csv, and csv files of metrics by rank or GPU.
#pragma once

#include "diag/evidence/reader.hpp"

namespace ringcomm::inline v0::diag {

bool looks_like_nvidia_smi_csv(const RawFile& file);
bool looks_like_gpu_metrics_csv(const RawFile& file);
Status read_gpu_csv(const RawFile& file, HangEvidence& evidence);

}  // namespace ringcomm::inline v0::diag
