// SPDX-License-Identifier: Apache-2.0
// ringcomm-demo: ring attention on a real text, checked against float64, explained on one screen.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "ringcomm/core/cpu_dispatch.hpp"
#include "ringcomm/core/env.hpp"
#include "ringcomm/core/text.hpp"
#include "run.hpp"
#include "text_source.hpp"

namespace rc = ringcomm;

namespace {

constexpr int kExitCheckFailed = 7;  // as nccl-tests: wrong data
constexpr int kExitUsage = 6;

void add_options(CLI::App& app, rc::demo::DemoOptions& options) {
  app.add_flag("--threads", options.threads, "ranks are threads of one process (default: processes)");
  app.add_option("--ranks", options.ranks, "number of ranks (default 4)")->check(CLI::Range(1, 64));
  app.add_option("--tokens", options.tokens, "sequence length (default 16384; 4096 without AVX-512 bf16)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--text", options.text, "input text, one byte a token (default: Debian's GPL-3)");
  app.add_option("--check-rows", options.check_rows,
                 "positions checked per rank (default: 256 over all ranks)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("-J,--json", options.json, "also write the figures to this file");
  app.add_flag_callback(
      "--env", [] { throw CLI::Success(); }, "print the environment variables in force and exit");
  app.footer(
      "Example: ringcomm-demo --threads --tokens 4096\n\n"
      "Exit codes: 0 passed, 1 failed to run, 6 usage, 7 the check failed.");
}

rc::Status run(rc::Communicator& comm, const rc::demo::DemoOptions& options, bool& passed) {
  auto result = rc::demo::run_rank(comm, options);
  if (!result.is_ok()) return result.status();
  if (comm.rank() != 0) return {};
  passed = rc::demo::print_result(result.value());
  std::fflush(stdout);
  if (!options.json.empty()) {
    if (rc::Status status = rc::demo::write_json(result.value(), options.json); !status.is_ok())
      return status;
  }
  return passed ? rc::Status() : rc::Status::corrupt_data("the result differs from the float64 oracle");
}

}  // namespace

int main(int argc, char** argv) {
  rc::demo::DemoOptions options;
  CLI::App app{"Ring attention at Llama-3-8B's attention shape on a real text, checked against float64."};
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::Success&) {
    std::printf("%s", rc::format_env_table().c_str());
    return 0;
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return kExitUsage;
  }
  rc::warn_unknown_env();
  auto level = rc::chosen_cpu_level();
  rc::check(level.status());
  const bool fast = level.value() == rc::CpuLevel::avx512_bf16;
  if (options.tokens == 0) options.tokens = fast ? 16384 : 4096;
  if (options.check_rows == 0) options.check_rows = (256 + options.ranks - 1) / options.ranks;
  if (auto text = rc::demo::load_text(options.text, options.tokens); !text.is_ok()) rc::check(text.status());
  if (!fast)
    std::printf("No AVX-512 bf16 on this CPU: %lld tokens.\n", static_cast<long long>(options.tokens));

  bool passed = false;
  const auto body = [&](rc::Communicator& comm) { return run(comm, options, passed); };
  const rc::Status status =
      options.threads ? rc::run_threads(options.ranks, body) : rc::run_processes(options.ranks, body);
  if (status.is_ok()) return 0;
  std::fprintf(stderr, "ringcomm-demo: %s\n", status.to_string().c_str());
  return status.code() == rc::StatusCode::corrupt_data ? kExitCheckFailed : 1;
}
