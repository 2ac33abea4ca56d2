// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi/check.hpp"

#include <array>
#include <cstdlib>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::transport::mpi {
namespace {

struct State {
  int is_initialised = 0;
  int is_finalised = 0;
};

State state() {
  State now;
  MPI_Initialized(&now.is_initialised);
  MPI_Finalized(&now.is_finalised);
  return now;
}

std::string_view level_name(int level) {
  if (level == MPI_THREAD_SINGLE) return "MPI_THREAD_SINGLE";
  return level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED" : "MPI_THREAD_SERIALIZED";
}

bool has_launcher() {
  // Open MPI, then MPICH and Intel MPI (also under Slurm's PMI), then PMIx.
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

void finalise_at_exit() {
  const State now = state();
  if (now.is_initialised != 0 && now.is_finalised == 0) MPI_Finalize();
}

}  // namespace

Status to_status(int code, std::string_view what) {
  if (code == MPI_SUCCESS) return {};
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  return Status::internal(
      concat("mpi: ", what, " failed: ", std::string_view(text.data(), static_cast<std::size_t>(length))));
}

Status check_usable() {
  const State now = state();
  if (now.is_finalised != 0) return Status::not_available("mpi is finalised (MPI_Finalize was called)");
  if (now.is_initialised == 0) {
    if (has_launcher()) return {};
    return Status::not_available(
        "mpi is not initialised and no MPI launcher started this process (call MPI_Init_thread first, or "
        "start with mpirun)");
  }
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level >= MPI_THREAD_SERIALIZED) return {};
  return Status::not_available(concat("mpi was initialised with ", level_name(level),
                                      ", but calls come from several threads in turn (call MPI_Init_thread "
                                      "with MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE)"));
}

Status initialise() {
  const State now = state();
  if (now.is_initialised == 0 && now.is_finalised == 0) {
    int level = MPI_THREAD_SINGLE;
    const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    if (code != MPI_SUCCESS) return to_status(code, "MPI_Init_thread");
    std::atexit(finalise_at_exit);
  }
  return check_usable();
}

}  // namespace ringcomm::inline v0::transport::mpi
