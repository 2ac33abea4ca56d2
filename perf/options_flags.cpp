// SPDX-License-Identifier: Apache-2.0
#include "options_flags.hpp"

#include <algorithm>
#include <map>

#include "ringcomm/core/env.hpp"

namespace ringcomm::perf {
namespace {

const std::vector<std::string> kSwitches{"-I",      "--per_iter_timing", "--per_iter",          "-C",
                                         "-S",      "--report_cputime",  "--report_timestamps", "-M",
                                         "--memory"};

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

void add_sizes(CLI::App& app, Options& o, Words& words) {
  app.add_option("operation", o.op, "which op (list below); not needed as OP_perf");
  app.add_option_function<std::string>("-b,--minbytes", bytes_into(o.bytes_min),
                                       "first size: 64K, 1M, 2G (32M)");
  app.add_option_function<std::string>("-e,--maxbytes", bytes_into(o.bytes_max), "last size (32M)");
  app.add_option_function<std::string>("-i,--stepbytes", bytes_into(o.bytes_step),
                                       "add this between sizes (1M)");
  app.add_option("-f,--stepfactor", o.factor, "multiply by this between sizes; wins over -i");
  app.add_option("-d,--datatype", words.dtype, "float, half, bfloat16, int8, ... or all (float)");
  app.add_option("-o,--op", words.redop, "sum, max, min or all (sum)");
  app.add_option("-r,--root", words.root, "a rank or all (0)");
}

void add_loop(CLI::App& app, Options& o) {
  app.add_option("-n,--iters", o.iterations, "timed iterations (20)")->check(CLI::Range(1, 1000000));
  app.add_option("-w,--warmup_iters", o.warmup, "untimed iterations (1)")->check(CLI::Range(0, 1000000));
  app.add_option("-m,--agg_iters", o.aggregated, "calls per iteration (1)")->check(CLI::Range(1, 100000));
  app.add_option("-N,--run_cycles", o.cycles, "repeat all sizes; 0: for ever (1)")
      ->check(CLI::Range(0, 1000000));
  app.add_option("-c,--check", o.checks, "check iterations (1); 0 prints N/A")->check(CLI::Range(0, 1000));
  app.add_option_function<double>(
         "-T,--timeout", [&o](double seconds) { o.timeout_ms = static_cast<std::int64_t>(seconds * 1000); },
         "seconds before an operation fails (600)")
      ->check(CLI::Range(0.001, 1e7));
  app.add_option("-z,--blocking", o.blocking, "1: barrier timed, 3: barrier not timed (0)")
      ->transform(one_of<Blocking>({{"0", Blocking::none},
                                    {"1", Blocking::barrier_inside},
                                    {"2", Blocking::no_barrier},
                                    {"3", Blocking::barrier_outside}}));
  app.add_option("-R,--local_register", o.memory, "0: private memory, 1 and 2: windows (2)")
      ->transform(
          one_of<Memory>({{"0", Memory::private_memory}, {"1", Memory::window}, {"2", Memory::window}}));
  app.add_option("-u,--unalign", o.unalign, "skip this many elements of a buffer (0)")
      ->check(CLI::Range(0, 4096));
}

void add_ranks(CLI::App& app, Options& o) {
  app.add_option("-t,--nthreads", o.threads, "ranks as threads of one process")->check(CLI::Range(1, 64));
  app.add_option("--procs", o.processes, "ranks as local processes")
      ->check(CLI::Range(1, 64))
      ->excludes("-t");
  app.add_option("--transport", o.transports, "as RINGCOMM_TRANSPORTS: shm, ucx, ...");
  app.add_flag("--cold", o.is_cold, "caches cold: buffers beyond the last cache");
  app.add_option_function<std::string>("--cold-bytes", bytes_into(o.cold_bytes),
                                       "over all ranks (twice the last cache)");
  app.add_flag("--sweep", o.sweep, "1, 2, 4, ... ranks up to -t or --procs");
  app.add_option("--background", o.background, "an op at the same time; see docs/perf.md");
  app.add_option_function<std::string>("--background-bytes", bytes_into(o.background_bytes), "its size (1M)");
  app.add_option("--calibrate", o.calibrate, "no op: write path costs to this file")->type_name("FILE");
  app.add_flag("--serve", o.serve, "samples on demand, for perf/compare");
}

void add_report(CLI::App& app, Options& o) {
  app.add_option("-a,--average", o.average, "time of 0: rank 0, 1: mean, 2: min, 3: max (1)")
      ->transform(one_of<Average>(
          {{"0", Average::rank0}, {"1", Average::mean}, {"2", Average::min}, {"3", Average::max}}));
  app.add_option("-J,--output_file,--json", o.json, "write JSON too; never overwrites");
  app.add_option("-I,--per_iter_timing,--per_iter", o.per_iteration, "1: min, max, p99, cv per iteration");
  app.add_option("-K,--per_iter_skip", o.per_iteration_skip, "leave out the first of these (0)")
      ->check(CLI::Range(0, 1000000));
  app.add_option("-C,--report_cputime", o.cpu_time, "1: CPU time of the rank's thread");
  app.add_option("-S,--report_timestamps", o.timestamps, "1: when each row was finished");
  app.add_option("-M,--memory", o.memory_report, "1: arena and copies at the end");
  app.add_flag_callback(
      "--env", [] { throw CLI::Success(); }, "print the environment variables in force and exit");
}

/// Flags of nccl-tests for things that a host has not: accepted at the value that means "off".
void add_foreign(CLI::App& app) {
  struct Foreign {
    const char* flags;
    const char* off;
    const char* why;
  };
  static const std::vector<Foreign> kForeign{{"-g,--ngpus", "1", "ranks are threads (-t) or processes"},
                                             {"-p,--parallel_init", "0 1", "ranks always start in parallel"},
                                             {"-y,--stream_null", "0", "a host has no null stream"},
                                             {"-G,--cudagraph", "0", "a host has no CUDA graphs"},
                                             {"-x,--cta_policy", "0", "a host has no thread blocks"},
                                             {"-D,--device_implementation", "0", "a host has no device code"},
                                             {"-V,--device_cta_count", "0", "a host has no thread blocks"}};
  for (const Foreign& foreign : kForeign) {
    app.add_option_function<std::string>(
           foreign.flags,
           [foreign](const std::string& value) {
             if (std::string(foreign.off).find(value) == std::string::npos || value.size() != 1) {
               const std::string flags = foreign.flags;
               throw CLI::ValidationError(flags.substr(0, 2) + " " + value + " is not applicable here (" +
                                          foreign.why + ")");
             }
           })
        ->group("");  // described in the footer
  }
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
  group->add_option("--overlap", o.overlap, "relay beside work on a block (on if there is any)")
      ->transform(one_of<plan::Overlap>({{"on", plan::Overlap::on}, {"off", plan::Overlap::off}}));
  group->add_option_function<std::string>("--chunk", bytes_into(o.chunk_bytes), "cut a relay's messages");
  group->add_flag("--plan-overhead", o.plan_overhead, "what plan and executor cost per step");
}

void add_merge(CLI::App& app, Options& o) {
  auto* merge = app.add_option_group("softmax_all_reduce, softmax_reduce_scatter");
  merge->add_option("--head-dim", o.head_dim, "row length D; 32 to 256 for attention (128)")
      ->check(CLI::Range(1, 4096));
  merge->add_option("--algorithm", o.algorithm, "automatic, one_shot, two_shot, ...")
      ->transform(one_of<MergeChoice>({{"automatic", MergeChoice::automatic},
                                       {"one_shot", MergeChoice::one_shot},
                                       {"two_shot", MergeChoice::two_shot},
                                       {"packed_all_to_all", MergeChoice::packed_all_to_all},
                                       {"gather_stats", MergeChoice::gather_stats},
                                       {"recursive_doubling", MergeChoice::recursive_doubling}}));
  merge->add_option("--input", o.input_memory, "partials in window or private (as -R)")
      ->transform(one_of<Memory>({{"window", Memory::window}, {"private", Memory::private_memory}}));
  merge->add_option("--result", o.result, "window, private or in_place (where it was merged)")
      ->transform(one_of<ResultPlace>({{"window", ResultPlace::window},
                                       {"private", ResultPlace::private_memory},
                                       {"in_place", ResultPlace::in_place}}));
  merge->add_option("--order", o.order, "canonical, or fast for recursive_doubling")
      ->transform(one_of<MergeOrder>({{"canonical", MergeOrder::canonical}, {"fast", MergeOrder::fast}}));
  merge->add_option("--form", o.form, "normalised (out, lse) or unnormalised (m, l, out)")
      ->transform(one_of<PartialForm>(
          {{"normalised", PartialForm::normalised}, {"unnormalised", PartialForm::unnormalised}}));
}

void add_attention(CLI::App& app, Options& o) {
  auto* group = app.add_option_group("ring_attention, attention_step, decode_step (default type bf16)");
  group->add_option("--seq", o.tokens, "tokens over all ranks (4096; decode_step 512)")
      ->check(CLI::Range(1, 1 << 24));
  group->add_option("--q-heads", o.q_heads, "query heads (32)")->check(CLI::Range(1, 1024));
  group->add_option("--kv-heads", o.kv_heads, "KV heads (8)")->check(CLI::Range(1, 1024));
  group->add_option("--workers", o.workers, "compute threads per rank (1)")->check(CLI::Range(1, 256));
  group->add_option("--queries", o.queries, "attention_step: query rows per rank (64)")
      ->check(CLI::Range(1, 1 << 20));
  group->add_option("--local", o.local, "ring_attention on local keys: one_pass, partials")
      ->transform(one_of<Local>({{"one_pass", Local::one_pass}, {"partials", Local::partials}}));
  group->add_flag("--limits", o.limits, "ring_attention: both beside it, in turn");
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

}  // namespace

void add_flags(CLI::App& app, Options& options, Words& words) {
  add_sizes(app, options, words);
  add_loop(app, options);
  add_ranks(app, options);
  add_report(app, options);
  add_foreign(app);
  add_rotation(app, options);
  add_merge(app, options);
  add_attention(app, options);
}

std::vector<std::string> complete_switches(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    arguments.emplace_back(argv[i]);
    if (std::find(kSwitches.begin(), kSwitches.end(), arguments.back()) == kSwitches.end()) continue;
    const std::string next = i + 1 < argc ? argv[i + 1] : "";
    if (next != "0" && next != "1") arguments.emplace_back("1");
  }
  return arguments;
}

}  // namespace ringcomm::perf
