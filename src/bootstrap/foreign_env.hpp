// SPDX-License-Identifier: Apache-2.0
// The launchers' own variables: the only ones that are not named RINGCOMM_ and are read all the same.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace ringcomm::inline v0::bootstrap {

inline constexpr std::array<std::string_view, 21> kForeignVariables{
    // torchrun
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
    "TORCHELASTIC_RUN_ID",
    // Open MPI's mpirun
    "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE",
    // MPICH's and Intel's mpiexec
    "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
    // Slurm's srun
    "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_STEP_NODELIST", "SLURM_JOB_ID"};

/// The value; nothing when it is unset, empty, or not in the table.
std::optional<std::string> foreign_text(std::string_view name);

}  // namespace ringcomm::inline v0::bootstrap
