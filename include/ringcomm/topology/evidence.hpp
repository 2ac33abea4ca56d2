// SPDX-License-Identifier: Apache-2.0
// What people have: files and pasted output of many tools, read into a Machine and into what a job did.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ringcomm/topology/machine.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// A ring or a graph's bandwidth that a job (or a graph file) uses.
struct ConfiguredRing {
  int channel = 0;
  std::vector<int> order{};  ///< ranks (a log) or GPU dev numbers (a graph file), as written
  Where where{};
  std::optional<int> channels{};  ///< how many there are, where the line says ("Channel 00/24")
};
struct ConfiguredGraph {
  int pattern = 0;  ///< NCCL's: 4 ring, 1 balanced tree, 2 split tree, 3 tree, 5 NVLS
  int channels = 0;
  std::optional<double> intra_gb_per_s{};  ///< per channel
  std::optional<double> inter_gb_per_s{};
  PathClass intra_class = PathClass::unknown;
  PathClass inter_class = PathClass::unknown;
  std::optional<int> cross_nic{};
  std::vector<ConfiguredRing> rings{};
  Where where{};
};

/// One thing that a log line tells. The values' keys are listed with each kind.
enum class LogEventKind : std::uint8_t {
  gpu_direct,     ///< state (Enabled|Disabled), hca
  network,        ///< name (Socket, IB, AWS Libfabric)
  interfaces,     ///< plugin (Socket|IB|Bootstrap|a plugin's name), list (names, comma separated, in NCCL's
                  ///< numbering), layers (IB, RoCE; as written, comma separated)
  affinity,       ///< gpu, mask (hexadecimal groups as written), cpus ("0-7")
  shm_failure,    ///< call, error
  verbs_missing,  ///< library
  qp_failure,     ///< call, code, error, device, gid_index, state, next_state
  fabric,         ///< bus, uuid, clique, state, health
  topology_file,  ///< variable, path
  p2p_disabled,   ///< text
  transport,      ///< from, to, via, direction (send|receive, over the network)
  version,        ///< library, version
  environment,    ///< name, value
  communicator,   ///< rank, ranks, nodes, bus
  system_bandwidth,  ///< max, total
  graph_edge,        ///< depth, class (PCI, NVL, SYS, NET), gb_per_s (NCCL's model), target, parent
  out_of_date,       ///< text: NCCL says that the topology file or speed string is not understood
  nvls,              ///< state (available|not available), channels
  warning            ///< text of any other NCCL WARN line
};
struct LogEvent {
  LogEventKind kind = LogEventKind::warning;
  std::string host{};
  std::optional<int> device{};  ///< number in [brackets]
  std::vector<std::pair<std::string, std::string>> values{};
  Where where{};

  /// Empty when there is no such value.
  std::string_view value(std::string_view key) const;
};

/// What a job was told and did, as far as the evidence shows.
struct JobEvidence {
  std::vector<ConfiguredGraph> graphs{};
  std::vector<ConfiguredRing> rings{};  ///< "Channel 00/24 : 0 3 2 1"
  std::vector<LogEvent> events{};
};

/// Something that was not understood. Never silent.
struct Skipped {
  Where where{};
  std::string text{};  ///< shortened to 80 characters, control characters escaped
  std::string reason{};
};

/// One file.
struct Reading {
  std::string file{};
  std::string format{};  ///< "nccl-topo-xml", "nvidia-smi-topo", ...: the names of evidence_formats()
  Machine machine{};
  JobEvidence job{};
  std::vector<Skipped> skipped{};
};

struct EvidenceFormat {
  std::string_view name;
  std::string_view made_by;  ///< the command that prints it
};
/// What this build reads, in the order in which a text is tried.
std::vector<EvidenceFormat> evidence_formats();

/// Recognises the format by its content, never by the file's name. At most 64 MiB; each reader has its own
/// limits on counts and depth. Errors: not_found (no such format here; lists them), corrupt_data (what and
/// where: an id is missing, a file was cut inside an element), not_available (a format of another version,
/// with the command that exports it).
Result<Reading> read_evidence(std::string_view text, const std::string& file, std::string_view format = {});
/// A file, a sysfs InfiniBand tree (a directory as /sys/class/infiniband), or a directory of such files (not
/// recursive). not_found names the path. `unread` gets the files that failed, with the reason.
struct UnreadFile {
  std::string file{};
  Status status{};
};
std::vector<Reading> read_evidence_paths(std::span<const std::filesystem::path> paths,
                                         std::vector<UnreadFile>& unread);

/// Two sources that say different things of one device.
struct Contradiction {
  std::string subject{};  ///< "GPU3 NVLinks"
  std::string first{};
  Where first_where{};
  std::string second{};
  Where second_where{};
};
struct MergedEvidence {
  Machine machine{};
  JobEvidence job{};
  std::vector<Skipped> skipped{};
  std::vector<Contradiction> contradictions{};
};
/// Several files of one machine: GPUs join by (host, bus id), else by UUID, else by number; NICs by bus id,
/// name or guid; NUMA nodes by id. lspci has no numbers: its GPUs join by bus id, or in order where it lists
/// as many; else they are left out with a word in `skipped`. A log's GPU with another bus id but the rank or
/// number of one that a file lists is that one, and a contradiction. An unknown value takes the known one; of
/// two known values the first stays and the difference is a contradiction (speeds of PCIe links excepted: an
/// idle link is slow). Paths that a source without link evidence states give way to one that shows NVLinks.
/// The links of a GPU come from one source; others are compared with it. Hosts join by name; a file that
/// names none is of the one host, or of host 0 with a word in `skipped`. One reading stays as it is; of
/// several, devices are sorted by host and number or name, so that agreeing files give the same machine in
/// any order. Job evidence is appended.
MergedEvidence merge_evidence(std::vector<Reading> readings);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
