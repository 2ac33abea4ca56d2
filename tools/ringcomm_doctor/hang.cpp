// SPDX-License-Identifier: Apache-2.0
// ringcomm-doctor hang: evidence of a job in, one verdict out.
#include <unistd.h>

#include <cstdio>

#include "command.hpp"
#include "hang_input.hpp"
#include "hang_json.hpp"
#include "ringcomm/diag/explain.hpp"
#include "ringcomm/diag/watchdog.hpp"
#include "screen.hpp"

namespace ringcomm::doctor {
namespace {

constexpr const char* kName = "ringcomm-doctor hang";

// Every line behind "Examples:" is run by tests/tools/doctor_hang_test.cpp, in a folder with these files.
constexpr const char* kFooter = R"(
Examples:
  ringcomm-doctor hang logs/
  ringcomm-doctor hang rank_0.log rank_1.log nccl_trace_rank_0
  kubectl logs job/train --prefix | ringcomm-doctor hang
  cat rank_0.log dmesg.txt | ringcomm-doctor hang - nccl_trace_rank_0
  ringcomm-doctor hang --json logs/ > verdict.json
  ringcomm-doctor hang --verbose logs/

Give it everything: logs of all ranks, flight-recorder dumps (ours, PyTorch's pickle and JSON), NCCL
logs and RAS, stacks (py-spy, gdb, faulthandler), torchrun's summary, dmesg, nvidia-smi. Files are
recognised by their content, folders are read to a depth of 8. Nothing in them is executed.
Exit codes: 0 nothing is wrong, 1 a rank's program (a call not made, a mismatch, an order, an
exception), 2 a process, device, network, limit or set-up, 3 the evidence does not tell or could not
be read, 64 usage.
More: docs/diagnosis.md.)";

struct HangOptions {
  std::vector<std::string> paths{};
  bool json = false;
  TextStyle style{};
};

bool has_any_fact(const diag::HangEvidence& evidence) {
  return !evidence.groups.empty() || !evidence.ops.empty() || !evidence.steps.empty() ||
         !evidence.counters.empty() || !evidence.events.empty() || !evidence.stacks.empty() ||
         !evidence.gpus.empty() || !evidence.topology.empty() || !evidence.idle.empty() ||
         !evidence.identities.empty();
}

int report(const HangOptions& options) {
  constexpr int kNothingRead = 3;
  const diag::HangEvidence evidence = read_hang_input(options.paths);
  const diag::Verdict verdict = diag::explain(evidence);
  const int code = has_any_fact(evidence) ? exit_code_of(verdict.kind) : kNothingRead;
  const std::string text =
      options.json
          ? hang_json(verdict, evidence, code)
          : printable(diag::to_text(verdict, evidence, kScreenColumns, options.style.verbose), options.style);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return code;
}

}  // namespace

int run_hang(int argc, char** argv) {
  HangOptions options;
  CLI::App app{"Says why a job hangs: who, in which call, what kind of fault, and what to do.", kName};
  app.set_help_flag("-h,--help", "print this and exit");
  app.footer(kFooter);
  app.get_formatter()->column_width(26);
  app.add_option("PATH", options.paths,
                 "folders and files; - is standard input (also without PATH, from a pipe)");
  app.add_flag("--json", options.json, "print JSON (docs/hang-schema.json)");
  app.add_flag("--verbose", options.style.verbose, "every line, group and file instead of one screen");
  app.add_flag("--ascii", options.style.ascii, "7-bit characters only");
  if (const auto code = parse_arguments(app, argc, argv)) return *code;
  if (options.paths.empty()) {
    if (isatty(STDIN_FILENO) != 0)
      return usage_error(kName, "what shall be read? Name a folder or files, or pipe a log into it");
    options.paths = {"-"};
  }
  return report(options);
}

}  // namespace ringcomm::doctor
