// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/launch_sources.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "bootstrap/foreign_env.hpp"
#include "bootstrap/node_list.hpp"
#include "bootstrap/secret.hpp"
#include "core/parse.hpp"
#include "core/try.hpp"
#include "ringcomm/core/env.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::bootstrap {
namespace {

struct SourceNames {
  std::string_view rank, size, local_rank, local_size;
};
/// In the order of LaunchSource.
constexpr std::array<SourceNames, 5> kNames{{
    {"RINGCOMM_RANK", "RINGCOMM_SIZE", "RINGCOMM_LOCAL_RANK", "RINGCOMM_LOCAL_SIZE"},
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", ""},
}};

std::optional<std::string> text_of(std::string_view name) {
  return name.starts_with("RINGCOMM_") ? env_text(name) : foreign_text(name);
}

Result<int> read_number(std::string_view name, std::int64_t least) {
  const std::string text = *text_of(name);
  const auto value = parse_decimal<std::int64_t>(text);
  if (value && *value >= least && *value <= std::numeric_limits<int>::max()) return static_cast<int>(*value);
  return Status::invalid_argument(
      concat(name, "=", text.substr(0, 100), " is no number of ", least, " or more"));
}

Result<int> read_local(std::string_view name, std::int64_t least) {
  if (name.empty() || !text_of(name)) return -1;
  return read_number(name, least);
}

Status contradiction(std::string_view a, int a_value, std::string_view b, int b_value) {
  return Status::invalid_argument(
      concat(a, "=", a_value, " contradicts ", b, "=", b_value, " (ranks count from 0 to size - 1)"));
}

Status check_numbers(const LaunchInfo& info, const SourceNames& names) {
  if (info.rank >= info.size) return contradiction(names.rank, info.rank, names.size, info.size);
  if (info.local_size > info.size)
    return contradiction(names.local_size, info.local_size, names.size, info.size);
  if (info.local_size > 0 && info.local_rank >= info.local_size)
    return contradiction(names.local_rank, info.local_rank, names.local_size, info.local_size);
  return {};
}

/// A name for a file from a launcher's own word, whatever that holds.
std::string hashed(std::string_view word) {
  return concat(keyed_hash(0x6a6f62, 0, std::as_bytes(std::span(word))));
}

// All ranks on one host: they meet in a directory that only this user can enter, and that is gone afterwards.
std::string local_store(std::string_view launcher, std::string_view job) {
  return concat("file:///tmp/ringcomm-", ::geteuid(), "-", launcher, "-", hashed(job));
}

std::string store_of_torchrun() {
  const auto address = foreign_text("MASTER_ADDR");
  const auto text = foreign_text("MASTER_PORT");
  const auto port = text ? parse_decimal<int>(*text) : std::nullopt;
  if (!address || !port || *port < 1 || *port > 65535) return {};
  const bool is_ipv6 = address->find(':') != std::string::npos && !address->starts_with('[');
  // The launcher's own store has the port itself.
  return concat("tcp://", is_ipv6 ? "[" : "", *address, is_ipv6 ? "]:" : ":", std::min(*port + 1, 65535));
}

std::string store_of_open_mpi(const LaunchInfo& info) {
  if (info.local_size != info.size) return {};
  const auto job = foreign_text("PMIX_NAMESPACE");
  return local_store("ompi", job ? *job : concat("parent ", ::getppid()));
}

std::string store_of_slurm() {
  const auto nodes = foreign_text("SLURM_STEP_NODELIST");
  const auto host = nodes ? first_node(*nodes) : std::nullopt;
  if (!host) return {};
  constexpr std::uint64_t kFirstPort = 20000;  // below the system's own range for outgoing connections
  constexpr std::uint64_t kPorts = 10000;
  const std::string job = foreign_text("SLURM_JOB_ID").value_or("");
  const auto spread = keyed_hash(0x706f7274, 0, std::as_bytes(std::span(job))) % kPorts;
  return concat("tcp://", *host, ":", kFirstPort + spread);
}

std::string store_of(const LaunchInfo& info) {
  switch (info.source) {
    case LaunchSource::torchrun:
      return store_of_torchrun();
    case LaunchSource::open_mpi:
      return store_of_open_mpi(info);
    case LaunchSource::mpich:
      return info.local_size == info.size ? local_store("mpich", concat("parent ", ::getppid())) : "";
    case LaunchSource::slurm:
      return store_of_slurm();
    default:
      return {};
  }
}

}  // namespace

Result<std::optional<SourceInfo>> read_source(LaunchSource source) {
  const SourceNames& names = kNames[static_cast<std::size_t>(source)];
  const bool has_rank = text_of(names.rank).has_value();
  const bool has_size = text_of(names.size).has_value();
  if (!has_rank && !has_size) return std::optional<SourceInfo>();
  if (!has_rank || !has_size) {
    const std::string_view set = has_rank ? names.rank : names.size;
    const std::string_view missing = has_rank ? names.size : names.rank;
    if (source == LaunchSource::ringcomm) {
      return Status::invalid_argument(
          concat(missing, " is not set although ", set, " is (a launched rank needs both)"));
    }
    // Such names serve other purposes too: an allocation of Slurm sets the size alone.
    log(LogLevel::info, concat("no rank of ", name_of(source), ": ", set, " is set, ", missing, " is not"));
    return std::optional<SourceInfo>();
  }
  // A batch script has a task number but is no step of several tasks.
  if (source == LaunchSource::slurm && !foreign_text("SLURM_STEP_NODELIST"))
    return std::optional<SourceInfo>();
  SourceInfo found{{}, names.rank, names.size};
  found.info.source = source;
  RINGCOMM_TRY_ASSIGN(found.info.size, read_number(names.size, 1));
  RINGCOMM_TRY_ASSIGN(found.info.rank, read_number(names.rank, 0));
  RINGCOMM_TRY_ASSIGN(found.info.local_rank, read_local(names.local_rank, 0));
  RINGCOMM_TRY_ASSIGN(found.info.local_size, read_local(names.local_size, 1));
  RINGCOMM_TRY(check_numbers(found.info, names));
  found.info.store = store_of(found.info);
  return std::optional<SourceInfo>(std::move(found));
}

std::string job_secret(LaunchSource source) {
  std::string text = concat("ringcomm job of ", name_of(source));
  const auto add = [&text](std::string_view name) { text += concat(" ", foreign_text(name).value_or("")); };
  if (source == LaunchSource::torchrun) {
    for (const std::string_view name : {"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"}) add(name);
  }
  if (source == LaunchSource::open_mpi) add("PMIX_NAMESPACE");
  if (source == LaunchSource::slurm) {
    for (const std::string_view name : {"SLURM_JOB_ID", "SLURM_STEP_NODELIST"}) add(name);
  }
  return text;
}

}  // namespace ringcomm::inline v0::bootstrap
