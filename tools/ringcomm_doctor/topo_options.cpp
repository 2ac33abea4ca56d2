// SPDX-License-Identifier: Apache-2.0
#include "topo_options.hpp"

namespace ringcomm::doctor {
namespace {

// Every line behind "Examples:" is run by tests/tools/doctor_topo_test.cpp, in a folder with these files.
constexpr const char* kFooter = R"(
Examples:
  ringcomm-doctor topo
  nvidia-smi topo -m | ringcomm-doctor topo -
  ringcomm-doctor topo topo.txt nvlink.txt nccl.log
  ringcomm-doctor topo --explain --order 0,1,2,3,4,5,6,7 topo.txt
  ringcomm-doctor topo --json topo.txt > report.json
  ringcomm-doctor topo --write-nccl nccl-topo.xml topo.xml
  ringcomm-doctor topo --formats

Files are recognised by their content; several are taken to describe one machine (or one job)
and are merged. A directory is read file by file; a copy of /sys/class/infiniband as it is.
Exit codes: 0 ok, 1 warnings, 2 failures, 3 evidence could not be read (the rest is judged all
the same), 64 usage, 74 --write-nccl could not write.
More: docs/topology.md.)";

}  // namespace

void add_topo_options(CLI::App& app, TopoOptions& options) {
  app.set_help_flag("-h,--help", "print this and exit");
  app.footer(kFooter);
  app.get_formatter()->column_width(26);
  app.add_option("FILE", options.files, "evidence; - is standard input (without: this machine)");
  app.add_flag("--json", options.json, "print JSON (docs/topology-schema.json)");
  app.add_flag("--explain", options.style.explain, "why each edge and each NIC was chosen");
  app.add_flag("--verbose", options.style.verbose, "whole matrix, all evidence, every skipped line");
  app.add_flag("--ascii", options.style.ascii, "no box drawing characters");
  app.add_option("--format", options.format, "read the files as this (--formats lists names)");
  app.add_option("--costs", options.costs, "measured costs: what ringcomm-perf --calibrate wrote");
  app.add_option("--order", options.order, "judge this order of ranks: 0,3,2,1");
  app.add_option_function<std::string>(
         "--rails",
         [&options](const std::string& word) {
           options.rails = word == "full" ? Rails::full : word == "none" ? Rails::none : Rails::same_index;
         },
         "several hosts: which NICs reach each other (same-index, full, none)")
      ->check(CLI::IsMember({"same-index", "full", "none"}));
  app.add_option("--write-nccl", options.write_nccl, "also write the machine as NCCL topology XML");
  app.add_flag("--formats", options.list_formats, "list what is read, and the command that makes it");
}

}  // namespace ringcomm::doctor
