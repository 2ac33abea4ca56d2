// SPDX-License-Identifier: Apache-2.0
// Which readers this build has, and in which order a text is tried.
#include "topology/readers/evidence_readers.hpp"

#include <array>

#include "ringcomm/config.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/gid_table.hpp"
#include "topology/readers/ibstat.hpp"
#include "topology/readers/ibstatus.hpp"
#include "topology/readers/ibv_devinfo.hpp"
#include "topology/readers/lspci.hpp"
#include "topology/readers/nccl_log.hpp"
#include "topology/readers/nvidia_smi_nvlink.hpp"
#include "topology/readers/nvidia_smi_nvlink_remote.hpp"
#include "topology/readers/nvidia_smi_p2p.hpp"
#include "topology/readers/nvidia_smi_topo.hpp"
#include "topology/readers/sysfs_ib.hpp"
#if RINGCOMM_HAVE_PUGIXML
#include "topology/readers/hwloc_xml.hpp"
#include "topology/readers/nccl_graph_xml.hpp"
#include "topology/readers/nccl_topo_xml.hpp"
#endif

namespace ringcomm::inline v0 {
namespace topology {
namespace {

// XML first: its root element leaves no doubt. The log comes last: a log may quote any other output.
constexpr std::array kReaders {
#if RINGCOMM_HAVE_PUGIXML
  // XML
  Reader{"hwloc-xml", "lstopo --of xml", hwloc_xml::looks_like, hwloc_xml::read},
      Reader{"nccl-topo-xml", "NCCL_TOPO_DUMP_FILE=topo.xml", nccl_topo_xml::looks_like, nccl_topo_xml::read},
      Reader{"nccl-graph-xml", "NCCL_GRAPH_DUMP_FILE=graph.xml", nccl_graph_xml::looks_like,
             nccl_graph_xml::read},
#endif
      // Text of nvidia-smi, lspci, InfiniBand
      Reader{"nvidia-smi-topo", "nvidia-smi topo -m", nvidia_smi_topo::looks_like, nvidia_smi_topo::read},
      Reader{"nvidia-smi-p2p", "nvidia-smi topo -p2p r", nvidia_smi_p2p::looks_like, nvidia_smi_p2p::read},
      Reader{"nvidia-smi-nvlink-remote", "nvidia-smi nvlink -R", nvidia_smi_nvlink_remote::looks_like,
             nvidia_smi_nvlink_remote::read},
      Reader{"nvidia-smi-nvlink", "nvidia-smi nvlink -s", nvidia_smi_nvlink::looks_like,
             nvidia_smi_nvlink::read},
      Reader{"lspci", "lspci -vvv", lspci::looks_like, lspci::read},
      Reader{"ibstat", "ibstat", ibstat::looks_like, ibstat::read},
      Reader{"ibstatus", "ibstatus", ibstatus::looks_like, ibstatus::read},
      Reader{"ibv_devinfo", "ibv_devinfo -v", ibv_devinfo::looks_like, ibv_devinfo::read},
      Reader{"gid-table", "show_gids", gid_table::looks_like, gid_table::read},
      Reader{"nccl-log", "NCCL_DEBUG=INFO", nccl_log::looks_like, nccl_log::read},
};

constexpr std::array kTreeReaders{
    TreeReader{"sysfs-ib", "/sys/class/infiniband", sysfs_ib::looks_like, sysfs_ib::read},
};

}  // namespace

std::span<const Reader> evidence_readers() { return kReaders; }

std::span<const TreeReader> evidence_tree_readers() { return kTreeReaders; }

std::string list_of_formats() {
  std::string list;
  for (const EvidenceFormat& format : evidence_formats()) {
    list += concat(list.empty() ? "" : ", ", format.name, " (", format.made_by, ")");
  }
  return list;
}

}  // namespace topology

std::vector<EvidenceFormat> evidence_formats() {
  std::vector<EvidenceFormat> formats;
  for (const auto& reader : topology::evidence_readers()) formats.push_back({reader.name, reader.made_by});
  for (const auto& reader : topology::evidence_tree_readers())
    formats.push_back({reader.name, reader.made_by});
  return formats;
}

}  // namespace ringcomm::inline v0
