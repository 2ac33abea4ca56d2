// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <algorithm>
#include <cstdio>

#include "operations.hpp"
#include "options_flags.hpp"
#include "ringcomm/core/env.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::perf {
namespace {

constexpr const char* kExamples = R"(Examples:
  ringcomm-perf ring_rotate --procs 2 -b 64K -e 1M -f 4
  ringcomm-perf softmax_all_reduce -t 2 -b 64K -e 64K -n 5
  ringcomm-perf all_gather -t 3 -b 1K -e 4K -f 2 -d bf16
  ringcomm-perf all_reduce --procs 2 -b 64K -e 64K -o all -d half
  ringcomm-perf ring_attention -t 2 --seq 1024 -n 1
)";

constexpr const char* kFooter = R"(
time    mean over iterations, and over ranks as -a says.
algbw   size / time in 1e9 B/s; busbw = algbw x factor (docs/perf.md).
A ring_rotate row includes the first read of the whole block, which its owner
has rewritten (untimed); --no-read moves only flags and has no bandwidth.
exposed wall time minus that of the same schedule on local blocks.
Planner costs: ringcomm-perf --calibrate FILE (8 bytes, and blocks of -e).
Ranks: -t, --procs, or a launcher's (mpirun, torchrun, RINGCOMM_*); only rank 0
prints. With none of them: one thread per CPU, at least 2.
Accepted for nccl-tests' sake: -p, -g 1, -y 0, -G 0, -x 0, -D 0, -V 0; other
values of these are not applicable on a host. NCCL_TESTS_MIN_BW is honoured.
Exit codes: 0 ok, 1 internal, 3 a ringcomm call failed, 4 time-out, 5 not
implemented or not available here, 6 usage, 7 wrong data or too slow.)";

std::string footer() {
  std::string text = concat(kExamples, "\nOperations: size column; busbw factor\n");
  for (const Operation& operation : operations()) {
    std::string name(operation.name);
    name.resize(std::max<std::size_t>(name.size(), 22), ' ');
    text += concat("  ", name, " ", operation.definition, "\n");
  }
  return text + kFooter;
}

int usage_error(const std::string& message, int exit_code = kUsage) {
  std::fprintf(stderr, "ringcomm-perf: %s\nringcomm-perf --help tells more.\n", message.c_str());
  return exit_code;
}

std::string unknown_flag_message(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> known;
  const auto add_names = [&known](const CLI::App& from) {
    for (const CLI::Option* option : from.get_options({})) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
      for (const std::string& name : option->get_snames()) known.push_back("-" + name);
    }
  };
  add_names(app);
  for (const CLI::App* group : app.get_subcommands({})) add_names(*group);
  for (int i = 1; i < argc; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    if (word.size() > 1 && word[0] == '-' && std::find(known.begin(), known.end(), word) == known.end()) {
      return concat("unknown flag ", word, ". Did you mean ", nearest_word(word, known), "?");
    }
  }
  return "unexpected argument";
}

}  // namespace

Parsed parse(int argc, char** argv) {
  Parsed parsed;
  Words words;
  CLI::App app{"Measures ringcomm's operations with nccl-tests' flags, columns, exit codes.",
               "ringcomm-perf"};
  app.set_help_flag("-h,--help", "print this and exit");
  app.footer(footer());
  app.get_formatter()->column_width(24);
  add_flags(app, parsed.options, words);
  try {
    std::vector<std::string> arguments = complete_switches(argc, argv);
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    app.parse(arguments);
  } catch (const CLI::CallForHelp& help) {
    parsed.exit_code = app.exit(help);
    return parsed;
  } catch (const CLI::Success&) {
    std::printf("%s", format_env_table().c_str());
    parsed.exit_code = kOk;
    return parsed;
  } catch (const CLI::ExtrasError&) {
    parsed.exit_code = usage_error(unknown_flag_message(app, argc, argv));
    return parsed;
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = usage_error(error.what());
    return parsed;
  }
  if (parsed.options.op.empty() && argc > 0) parsed.options.op = operation_of_program(argv[0]);
  if (const auto error = check(parsed.options, words))
    parsed.exit_code = usage_error(error->message, error->exit_code);
  return parsed;
}

}  // namespace ringcomm::perf
