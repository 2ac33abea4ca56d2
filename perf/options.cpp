// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>

#include "ringcomm/core/env.hpp"
#include "ringcomm/core/limits.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::perf {
namespace {

constexpr const char* kFooter = R"(Examples, one per operation:
  ringcomm-perf ring_rotate --procs 2 -b 64K -e 1M -f 4
  ringcomm-perf softmax_all_reduce -t 2 -b 64K -e 64K -n 5
  ringcomm-perf all_gather -t 3 -b 1K -e 4K -f 2 -d bf16
  ringcomm-perf ring_attention -t 2 --seq 1024 -n 1

size    largest of the bytes a rank sends and receives (all_gather: the gathered
        total); for ring_rotate one block of K and V, --full: N blocks.
time    mean over ranks and iterations. algbw = size / time in 1e9 B/s.
busbw   algbw x 1 (ring_rotate), (N-1)/N (--full, all_gather), 2(N-1)/N
        (softmax_all_reduce).
A ring_rotate row includes the first read of the whole block, which its owner
has rewritten (untimed); --no-read moves only flags and has no bandwidth.
exposed wall time minus that of the same schedule on local blocks.
Exit codes: 0 ok, 1 internal, 3 a ringcomm call failed, 4 time-out, 5 not
available here, 6 usage, 7 wrong data.)";

/// "64K" into bytes for CLI11.
auto bytes_into(std::size_t& target) {
  return [&target](const std::string& text) {
    auto bytes = parse_bytes(text);
    if (!bytes.is_ok()) throw CLI::ValidationError(std::string(bytes.status().message()));
    target = static_cast<std::size_t>(bytes.value());
  };
}

template <class T>
auto one_of(std::map<std::string, T> names) {
  CLI::CheckedTransformer transformer(std::move(names), CLI::ignore_case);
  transformer.description("");  // the words are in the option's own help
  return transformer;
}

void add_common(CLI::App& app, Options& o) {
  app.add_option("op", o.op, "which operation (see the examples)")->required();
  app.add_option_function<std::string>("-b,--minbytes", bytes_into(o.bytes_min),
                                       "first size: 64K, 1M, 2G (32M)");
  app.add_option_function<std::string>("-e,--maxbytes", bytes_into(o.bytes_max), "last size (32M)");
  app.add_option_function<std::string>("-i,--stepbytes", bytes_into(o.bytes_step),
                                       "add this between sizes (1M)");
  app.add_option("-f,--stepfactor", o.factor, "multiply by this between sizes; wins over -i");
  app.add_option("-n,--iters", o.iterations, "timed iterations (20)")->check(CLI::Range(1, 1000000));
  app.add_option("-w,--warmup_iters", o.warmup, "untimed iterations (1)")->check(CLI::Range(0, 1000000));
  app.add_option("-c,--check", o.checks, "check iterations (1); 0 prints N/A")->check(CLI::Range(0, 1000));
  app.add_option("-t,--nthreads", o.threads, "ranks as threads of one process")->check(CLI::Range(1, 64));
  app.add_option("--procs", o.processes, "ranks as local processes")
      ->check(CLI::Range(1, 64))
      ->excludes("-t");
  app.add_option_function<std::string>(
      "-d,--datatype",
      [&o](const std::string& text) {
        auto type = parse_dtype(text);
        if (!type.is_ok()) throw CLI::ValidationError(std::string(type.status().message()));
        o.dtype = type.value();
      },
      "element type: float, half, bf16, ... (float)");
  app.add_option("-J,--json", o.json, "write the results to this file too");
  app.add_flag("-I,--per_iter", o.per_iteration, "add min, max, p99 and variation over iterations");
  app.add_flag_callback(
      "--env", [] { throw CLI::Success(); }, "print the environment variables in force and exit");
  app.add_option("-T,--timeout", o.timeout_ms, "milliseconds before an operation fails (10 min)");
}

void add_rotation(CLI::App& app, Options& o) {
  auto* group = app.add_option_group("ring_rotate");
  group->add_flag("--full", o.full, "all N-1 steps instead of one");
  group->add_flag("--no-read", o.no_read, "do not read the blocks: the cost of the flags alone");
  group->add_option("--compute", o.compute_us, "microseconds of work on each step's block");
  group->add_option("--mode", o.rotation, "automatic, direct or relay")
      ->transform(one_of<RotationChoice>({{"automatic", RotationChoice::automatic},
                                          {"direct", RotationChoice::direct},
                                          {"relay", RotationChoice::relay}}));
  group->add_option("--overlap", o.overlap, "on or off (relay)")
      ->transform(one_of<plan::Overlap>({{"on", plan::Overlap::on}, {"off", plan::Overlap::off}}));
  group->add_option_function<std::string>("--chunk", bytes_into(o.chunk_bytes), "cut a relay's messages");
  group->add_flag("--plan-overhead", o.plan_overhead, "what plan and executor cost per step");
}

void add_attention(CLI::App& app, Options& o) {
  auto* merge = app.add_option_group("softmax_all_reduce");
  merge->add_option("--head-dim", o.head_dim, "row length D; 64 or 128 for ring_attention (128)")
      ->check(CLI::Range(1, 4096));
  merge->add_option("--algorithm", o.algorithm, "automatic, one_shot or two_shot")
      ->transform(one_of<MergeChoice>({{"automatic", MergeChoice::automatic},
                                       {"one_shot", MergeChoice::one_shot},
                                       {"two_shot", MergeChoice::two_shot}}));
  merge->add_option("--form", o.form, "normalised (out, lse) or unnormalised (m, l, out)")
      ->transform(one_of<PartialForm>(
          {{"normalised", PartialForm::normalised}, {"unnormalised", PartialForm::unnormalised}}));
  auto* group = app.add_option_group("ring_attention (default type bf16)");
  group->add_option("--seq", o.tokens, "tokens over all ranks (4096)")->check(CLI::Range(1, 1 << 24));
  group->add_option("--q-heads", o.q_heads, "query heads (32)")->check(CLI::Range(1, 1024));
  group->add_option("--kv-heads", o.kv_heads, "KV heads (8)")->check(CLI::Range(1, 1024));
  group->add_option("--workers", o.workers, "compute threads per rank (1)")->check(CLI::Range(1, 256));
  group->add_option("--mask", o.mask, "causal or full")
      ->transform(one_of<Mask>({{"causal", Mask::causal}, {"full", Mask::full}}));
  group->add_option("--layout", o.layout, "zigzag or contiguous")
      ->transform(one_of<Layout>({{"zigzag", Layout::zigzag}, {"contiguous", Layout::contiguous}}));
  group->add_option("--strategy", o.strategy, "automatic, ring_direct, ring_relay, all_gather")
      ->transform(one_of<AttentionStrategy>({{"automatic", AttentionStrategy::automatic},
                                             {"ring_direct", AttentionStrategy::ring_direct},
                                             {"ring_relay", AttentionStrategy::ring_relay},
                                             {"all_gather", AttentionStrategy::all_gather}}));
}

int usage_error(const std::string& message) {
  std::fprintf(stderr, "ringcomm-perf: %s\nringcomm-perf --help tells more.\n", message.c_str());
  return kUsage;
}

std::string nearest(const std::string& word, const std::vector<std::string>& known) {
  return *std::min_element(known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
    return edit_distance(word, a) < edit_distance(word, b);
  });
}

std::string unknown_flag_message(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options({})) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    for (const std::string& name : option->get_snames()) known.push_back("-" + name);
  }
  for (const CLI::App* group : app.get_subcommands({})) {
    for (const CLI::Option* option : group->get_options({})) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
  }
  for (int i = 1; i < argc; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    if (word.size() > 1 && word[0] == '-' && std::find(known.begin(), known.end(), word) == known.end()) {
      return concat("unknown flag ", word, ". Did you mean ", nearest(word, known), "?");
    }
  }
  return "unexpected argument";
}

/// Checks what single flags cannot; empty when all is well.
std::string contradiction(Options& o, bool has_dtype) {
  static const std::vector<std::string> kOps{"ring_rotate", "softmax_all_reduce", "all_gather",
                                             "ring_attention"};
  if (std::find(kOps.begin(), kOps.end(), o.op) == kOps.end()) {
    return concat("unknown operation '", o.op, "'. Did you mean ", nearest(o.op, kOps), "?");
  }
  if (o.bytes_min > o.bytes_max) return concat("-b ", o.bytes_min, " is larger than -e ", o.bytes_max);
  if (o.factor != 0 && o.factor <= 1)
    return concat("-f ", o.factor, " never reaches -e (it must be larger than 1)");
  if (o.factor == 0 && o.bytes_step == 0 && o.bytes_min != o.bytes_max) return "-i 0 never reaches -e";
  if (o.op == "ring_attention" && !has_dtype) o.dtype = DType::bfloat16;
  if (o.threads == 0 && o.processes == 0) o.threads = std::max(2, read_limits().usable_cpus());
  return {};
}

}  // namespace

Parsed parse(int argc, char** argv) {
  Parsed parsed;
  CLI::App app{"Measures ringcomm's operations with nccl-tests' flags, columns, exit codes.",
               "ringcomm-perf"};
  app.set_help_flag("-h,--help", "print this and exit");
  app.footer(kFooter);
  app.get_formatter()->column_width(24);
  add_common(app, parsed.options);
  add_rotation(app, parsed.options);
  add_attention(app, parsed.options);
  try {
    app.parse(argc, argv);
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
  const std::string message = contradiction(parsed.options, app.count("-d") > 0);
  if (!message.empty()) parsed.exit_code = usage_error(message);
  return parsed;
}

}  // namespace ringcomm::perf
