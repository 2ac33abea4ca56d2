// SPDX-License-Identifier: Apache-2.0
// Which launcher is believed, and how the ranks that it started meet.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "bootstrap/launch_sources.hpp"
#include "bootstrap/tcp_address.hpp"
#include "core/try.hpp"
#include "ringcomm/bootstrap/bootstrap.hpp"
#include "ringcomm/core/env.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

using bootstrap::SourceInfo;

constexpr std::array kSources{LaunchSource::ringcomm, LaunchSource::torchrun, LaunchSource::open_mpi,
                              LaunchSource::mpich, LaunchSource::slurm};
constexpr std::string_view kStore = "RINGCOMM_STORE";
constexpr std::string_view kFile = "file://";
constexpr std::string_view kTcp = "tcp://";
constexpr std::string_view kId = "id:";

Status check_store(std::string_view store) {
  Status wrong = Status::invalid_argument(concat(
      kStore, "=", store.substr(0, 300),
      " is no place to meet (file:///absolute/directory, tcp://host:port or id: and the digits of a unique "
      "id are)"));
  if (store.starts_with(kFile)) return store.starts_with("file:///") && store.size() > 8 ? Status() : wrong;
  if (store.starts_with(kTcp)) return bootstrap::parse_host_port(store.substr(kTcp.size())).status();
  if (store.starts_with(kId)) return UniqueId::from_hex(store.substr(kId.size())).status();
  return wrong;
}

/// A launcher inside another one has another size; with the same size both speak of the same processes.
Status check_agreement(const std::vector<SourceInfo>& found) {
  const SourceInfo& first = found.front();
  for (const SourceInfo& other : found) {
    if (other.info.size != first.info.size || other.info.rank == first.info.rank) continue;
    return Status::invalid_argument(
        concat(first.rank_variable, "=", first.info.rank, " contradicts ", other.rank_variable, "=",
               other.info.rank, " (", first.size_variable, " and ", other.size_variable, " are both ",
               first.info.size, "). Is one of them left over from another launch?"));
  }
  return {};
}

Result<std::unique_ptr<Bootstrap>> meet(const LaunchInfo& info, Deadline deadline) {
  const std::string_view store = info.store;
  if (store.starts_with(kFile))
    return bootstrap_file_store(store.substr(kFile.size()), info.rank, info.size, deadline);
  if (store.starts_with(kTcp)) {
    const std::string secret = env_text("RINGCOMM_SECRET").value_or(bootstrap::job_secret(info.source));
    return bootstrap_tcp(store.substr(kTcp.size()), secret, info.rank, info.size, deadline);
  }
  if (store.starts_with(kId)) {
    RINGCOMM_TRY_ASSIGN(const UniqueId id, UniqueId::from_hex(store.substr(kId.size())));
    return bootstrap_unique_id(id, info.rank, info.size, deadline);
  }
  if (info.size == 1) {  // nobody to meet; a process all the same, as ranks that are launched are
    RINGCOMM_TRY_ASSIGN(ForkedMesh alone, ForkedMesh::create(1));
    return alone.take(0);
  }
  return Status::not_available(concat(
      "rank ", info.rank, " of ", info.size, " was started by ", name_of(info.source),
      ", whose variables do not say where the ranks meet. Set RINGCOMM_STORE=tcp://host:port to an address "
      "of rank 0, or bootstrap from an MPI_Comm"));
}

}  // namespace

std::string_view name_of(LaunchSource source) {
  constexpr std::array<std::string_view, kSources.size()> kTexts{"RINGCOMM_* variables", "torchrun",
                                                                 "Open MPI", "MPICH", "Slurm"};
  const auto index = static_cast<std::size_t>(source);
  return index < kTexts.size() ? kTexts[index] : "an unknown launcher";
}

Result<LaunchInfo> read_launch_environment() {
  std::vector<SourceInfo> found;
  for (const LaunchSource source : kSources) {
    RINGCOMM_TRY_ASSIGN(auto said, bootstrap::read_source(source));
    if (said) found.push_back(*std::move(said));
  }
  const auto store = env_text(kStore);
  if (found.empty()) {
    if (!store)
      return Status::not_found(
          "no launcher has set a rank (RINGCOMM_RANK, RANK, OMPI_COMM_WORLD_RANK, "
          "PMI_RANK or SLURM_PROCID)");
    return Status::invalid_argument(concat("RINGCOMM_RANK and RINGCOMM_SIZE are not set although ", kStore,
                                           " is (a launched rank needs all)"));
  }
  RINGCOMM_TRY(check_agreement(found));
  LaunchInfo info = std::move(found.front().info);
  if (store) {
    RINGCOMM_TRY(check_store(*store));
    info.store = *store;
  } else if (info.source == LaunchSource::ringcomm && info.size > 1) {
    return Status::invalid_argument(concat(
        kStore,
        " is not set although RINGCOMM_RANK and RINGCOMM_SIZE are (the ranks have to meet somewhere)"));
  }
  return info;
}

Result<std::unique_ptr<Bootstrap>> bootstrap_from_environment(Deadline deadline) {
  RINGCOMM_TRY_ASSIGN(const LaunchInfo info, read_launch_environment());
  // A unique id holds the group's secret: it is not for logs.
  const std::string_view place = info.store.starts_with(kId) ? "a unique id" : std::string_view(info.store);
  log(LogLevel::info, concat("rank ", info.rank, " of ", info.size, " as ", name_of(info.source),
                             " says; meeting at ", place.empty() ? "no place" : place));
  return meet(info, deadline);
}

}  // namespace ringcomm::inline v0
