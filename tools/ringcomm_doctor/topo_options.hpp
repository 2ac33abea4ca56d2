// SPDX-License-Identifier: Apache-2.0
// What the command line of `ringcomm-doctor topo` asks for.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ringcomm/topology/cluster_rings.hpp"
#include "screen.hpp"

namespace ringcomm::doctor {

struct TopoOptions {
  std::vector<std::string> files{};  ///< empty: this machine; "-": standard input
  std::string format{};              ///< forced; empty: recognised by content
  std::string costs{};
  std::string order{};  ///< "0,3,2,1"
  std::optional<Rails> rails{};
  std::string write_nccl{};
  bool json = false;
  bool list_formats = false;
  TextStyle style{};
};

void add_topo_options(CLI::App& app, TopoOptions& options);

}  // namespace ringcomm::doctor
