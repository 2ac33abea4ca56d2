// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "diag/evidence/csv/gpu_csv.hpp"
#include "diag/evidence/json/fr_json.hpp"
#include "diag/evidence/json/ras_json.hpp"
#include "diag/evidence/pickle/fr_pickle.hpp"
#include "diag/evidence/reader.hpp"
#include "diag/evidence/record/record_reader.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::array kReaders{
    WholeFileReader{"ringcomm_record", looks_like_record, read_record},
    WholeFileReader{"ringcomm_verdict", looks_like_verdict, read_verdict},
    WholeFileReader{"fr_pickle", looks_like_pickle, read_fr_pickle},
    WholeFileReader{"fr_json", looks_like_fr_json, read_fr_json},
    WholeFileReader{"ras_json", looks_like_ras_json, read_ras_json},
    WholeFileReader{"nvidia_smi_csv", looks_like_nvidia_smi_csv, read_gpu_csv},
    WholeFileReader{"gpu_metrics_csv", looks_like_gpu_metrics_csv, read_gpu_csv},
};

}  // namespace

std::span<const WholeFileReader> whole_file_readers() { return kReaders; }

}  // namespace ringcomm::inline v0::diag
