// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "config_file.hpp"
#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::planner {
namespace {

constexpr const char* kFooter = R"(Examples:
  ringcomm-plan --layers 40 --heads 32 --head-dim 128 --dtype fp16 --seq 32768 --cp 4
  ringcomm-plan --layers 32 --hidden 4096 --heads 32 --kv-heads 8 --ffn 14336 --vocab 128256 --seq 131072 --gpus 8 --gb-per-s 370 --alpha-us 5 --tflops 600
  ringcomm-plan --layers 80 --heads 64 --kv-heads 8 --head-dim 128 --seq 1048576 --hosts 128 --gpus 8 --nics 8 --gb-per-s 370 --nic-gb-per-s 50 --tflops 600 --json
  ringcomm-plan check --heads 32 --kv-heads 8 --head-dim 128 --seq 32768 --cp 8

What is not given is chosen (TP, CP, DP, strategy), assumed and listed, or stays
unknown. FILEs describe one host (nvidia-smi topo -m, NCCL or hwloc XML, ...);
--hosts N stands for N of them. GB/s are 1e9 bytes per second, one direction:
an NDR port of 400 Gb/s is 50.
Exit codes: 0 ok, 1 failed or a schedule is not safe, 2 the plan is not proved,
3 evidence not readable, 64 usage.)";

/// What the flags give before the configuration file and the defaults.
struct Given {
  std::map<std::string, std::int64_t, std::less<>> numbers;  ///< by flag without dashes
  std::string dtype, mask, layout, strategy, phase, recompute, ffn_matrices, access, mode;
  bool is_tied = false, shards_optimizer = false;
};

constexpr std::pair<const char*, const char*> kModelNumbers[] = {
    {"layers", "transformer layers"},
    {"hidden", "hidden size"},
    {"heads", "query heads"},
    {"kv-heads", "key and value heads (default: heads)"},
    {"head-dim", "elements of a head (default: hidden / heads)"},
    {"ffn", "inner size of the feed-forward"},
    {"vocab", "vocabulary"}};
constexpr std::pair<const char*, const char*> kWorkNumbers[] = {
    {"seq", "tokens of a sequence"},
    {"batch", "sequences of a step, all ranks together (default 1)"},
    {"micro-batch", "sequences at once (default 1)"},
    {"new-tokens", "tokens generated afterwards, for the KV cache"}};
constexpr std::pair<const char*, const char*> kSplitNumbers[] = {
    {"ranks", "all ranks (default: hosts x GPUs)"},
    {"tp", "tensor parallel (default: chosen)"},
    {"cp", "context parallel (default: chosen)"},
    {"pp", "pipeline parallel (default 1)"},
    {"dp", "data parallel (default: chosen)"}};

void add_model_flags(CLI::App& app, Given& given) {
  const auto add_numbers = [&](const auto& table, const char* group) {
    for (const auto& [name, text] : table) {
      app.add_option_function<std::int64_t>(
             concat("--", name),
             [&given, key = std::string(name)](std::int64_t value) { given.numbers[key] = value; }, text)
          ->group(group)
          ->type_name("N");
    }
  };
  add_numbers(kModelNumbers, "Model");
  app.add_option("--ffn-matrices", given.ffn_matrices, "3: gated (SwiGLU), 2: not (default 3)")
      ->check(CLI::IsMember({"2", "3"}))
      ->group("Model");
  app.add_flag("--tied", given.is_tied, "the output layer shares the embedding")->group("Model");
  app.add_option("--dtype", given.dtype, "bf16, fp16, fp32 (default bf16)")->group("Model");
  app.add_option("--mask", given.mask, "causal or full (default causal)")
      ->check(CLI::IsMember({"causal", "full"}))
      ->group("Model");
  add_numbers(kWorkNumbers, "Work");
  app.add_option("--phase", given.phase, "forward (prefill) or train (default forward)")
      ->check(CLI::IsMember({"forward", "train"}))
      ->group("Work");
  app.add_option("--recompute", given.recompute, "none or full (default none)")
      ->check(CLI::IsMember({"none", "full"}))
      ->group("Work");
  app.add_flag("--distributed-optimizer", given.shards_optimizer, "Adam's state over DP x CP")->group("Work");
  add_numbers(kSplitNumbers, "Split");
  app.add_option("--strategy", given.strategy, "ring, double-ring, all-gather, all-to-all (default: chosen)")
      ->check(CLI::IsMember({"ring", "double-ring", "all-gather", "all-to-all"}))
      ->group("Split");
  app.add_option("--layout", given.layout, "zigzag or contiguous (default: by the mask)")
      ->check(CLI::IsMember({"zigzag", "contiguous"}))
      ->group("Split");
}

void add_machine_flags(CLI::App& app, Options& options) {
  MachineOptions& machine = options.machine;
  const auto add = [&app](const char* name, auto& target, const char* text) {
    app.add_option(name, target, text)->check(CLI::PositiveNumber)->group("Machine")->type_name("N");
  };
  app.add_option("FILE", machine.evidence, "evidence of one host")->group("Machine");
  app.add_flag("--live", machine.is_live, "this machine")->group("Machine");
  add("--hosts", machine.hosts, "hosts, all alike (default 1)");
  add("--gpus", machine.gpus, "ranks of a host");
  add("--nics", machine.nics, "NICs of a host that carry data");
  add("--gb-per-s", machine.gb_per_s, "GB/s of the slowest edge inside a host");
  add("--nic-gb-per-s", machine.nic_gb_per_s, "GB/s of one NIC");
  app.add_option("--alpha-us", machine.alpha_us, "latency of a hop inside a host")
      ->check(CLI::NonNegativeNumber)
      ->group("Machine");
  app.add_option("--nic-alpha-us", machine.nic_alpha_us, "latency of a hop between hosts")
      ->check(CLI::NonNegativeNumber)
      ->group("Machine");
  add("--tflops", machine.tflops, "Tflop/s that a rank attains (not the data sheet's)");
  add("--gpu-gb", machine.gpu_gb, "memory of a rank, 1e9 bytes");
  app.add_option("--calibration", machine.calibration, "file of ringcomm-perf --calibrate")->group("Machine");
  app.add_option("--rails", machine.rails, "same-index, full or none (default same-index)")
      ->check(CLI::IsMember({"same-index", "full", "none"}))
      ->group("Machine");
  app.add_option("--node-order", machine.node_order, "file: host names, one per line")->group("Machine");
}

void add_output_flags(CLI::App& app, Options& options, Given& given, CLI::App& check) {
  app.add_option("--config", options.config, "sizes from Megatron-LM arguments or JSON, or config.json");
  // No optional value: it would take the evidence file behind it, and write over it.
  app.add_flag("--json", options.is_json, "JSON on standard output");
  app.add_option("-J", options.json_file, "also write JSON to this file");
  app.add_option("--svg", options.svg, "draw the schedule into this file");
  app.add_option_function<int>(
         "--tile", [&options](int value) { options.request.tile = value; },
         "query rows of an attention tile (default 128)")
      ->check(CLI::Range(1, 1 << 16));
  check.add_option("--access", given.access, "direct or message (default: by the place of the ranks)")
      ->check(CLI::IsMember({"direct", "message"}));
  check.add_option("--mode", given.mode, "direct or relay (default: by the access)")
      ->check(CLI::IsMember({"direct", "relay"}));
  check.add_option("--direction", options.check.direction, "+1 or -1")->check(CLI::IsMember({1, -1}));
  check.add_option("--chunk-bytes", options.check.chunk_bytes, "cut a relayed step's message");
  CLI::Option* file = check.add_option("--schedule", options.calls.file,
                                       "prove these calls (JSON, - for standard input) instead");
  check
      .add_flag("--one-stream", options.calls.is_one_stream,
                "with --schedule: as if a rank's streams were one, in the order of the calls")
      ->needs(file);
  check.fallthrough();
}

Status apply_config(Options& options, Given& given) {
  if (options.config.empty()) return {};
  std::ifstream stream(options.config, std::ios::binary);
  if (!stream) return Status::not_found(concat("--config ", options.config, " cannot be read"));
  std::ostringstream text;
  text << stream.rdbuf();
  RINGCOMM_TRY_ASSIGN(ConfigFile config, read_config(text.str(), options.config));
  for (const auto& [name, value] : config.numbers) given.numbers.try_emplace(name, value);  // flags win
  if (given.dtype.empty() && config.dtype) given.dtype = name_of(*config.dtype);
  if (given.ffn_matrices.empty() && config.is_gated) given.ffn_matrices = *config.is_gated ? "3" : "2";
  given.is_tied = given.is_tied || config.is_tied.value_or(false);
  given.shards_optimizer = given.shards_optimizer || config.shards_optimizer;
  if (given.recompute.empty() && config.recomputes) given.recompute = "full";
  options.ignored = std::move(config.ignored);
  options.not_modelled = std::move(config.not_modelled);
  return {};
}

Result<int> small(const Given& given, std::string_view name, int otherwise) {
  const auto found = given.numbers.find(name);
  if (found == given.numbers.end()) return otherwise;
  constexpr std::int64_t kMax = 1 << 24;
  if (found->second < 1 || found->second > kMax)
    return Status::invalid_argument(
        concat("--", name, " is ", found->second, "; 1 to ", kMax, " are possible"));
  return static_cast<int>(found->second);
}

Status read_sizes(const Given& given, Options& options) {
  ModelShape& shape = options.request.shape;
  const auto optional = [&](std::string_view name, std::optional<int>& target) -> Status {
    if (!given.numbers.contains(name)) return {};
    RINGCOMM_TRY_ASSIGN(target, small(given, name, 0));
    return {};
  };
  RINGCOMM_TRY_ASSIGN(shape.layers, small(given, "layers", options.is_check ? 1 : 0));
  RINGCOMM_TRY_ASSIGN(shape.heads, small(given, "heads", 0));
  RINGCOMM_TRY_ASSIGN(shape.kv_heads, small(given, "kv-heads", 0));
  RINGCOMM_TRY_ASSIGN(shape.head_dim, small(given, "head-dim", 0));
  RINGCOMM_TRY(optional("hidden", shape.hidden));
  RINGCOMM_TRY(optional("ffn", shape.ffn));
  RINGCOMM_TRY(optional("vocab", shape.vocab));
  RINGCOMM_TRY(optional("tp", options.request.tp));
  RINGCOMM_TRY(optional("cp", options.request.cp));
  RINGCOMM_TRY(optional("pp", options.request.pp));
  RINGCOMM_TRY(optional("dp", options.request.dp));
  RINGCOMM_TRY(optional("ranks", options.ranks));
  Work& work = options.request.work;
  const auto wide = [&](std::string_view name, std::int64_t& target) {
    if (const auto found = given.numbers.find(name); found != given.numbers.end()) target = found->second;
  };
  wide("seq", work.tokens);
  wide("batch", work.batch);
  wide("micro-batch", work.micro_batch);
  wide("new-tokens", work.new_tokens);
  return {};
}

/// The words, each default said.
Status read_words(const Given& given, Options& options) {
  ModelShape& shape = options.request.shape;
  Work& work = options.request.work;
  if (given.dtype.empty())
    options.assumed.emplace_back("dtype bfloat16");
  else {
    RINGCOMM_TRY_ASSIGN(shape.dtype, parse_dtype(given.dtype));
  }
  if (given.mask.empty()) options.assumed.emplace_back("mask causal");
  shape.mask = given.mask == "full" ? Mask::full : Mask::causal;
  if (given.phase.empty()) options.assumed.emplace_back("phase forward");
  work.phase = given.phase == "train" ? Phase::train : Phase::forward;
  if (shape.ffn && given.ffn_matrices.empty()) options.assumed.emplace_back("feed-forward of 3 matrices");
  shape.is_gated = given.ffn_matrices != "2";
  shape.is_tied = given.is_tied;
  work.recompute = given.recompute == "full" ? Recompute::full : Recompute::none;
  work.shards_optimizer = given.shards_optimizer;
  if (!given.layout.empty()) work.layout = given.layout == "zigzag" ? Layout::zigzag : Layout::contiguous;
  for (const Strategy strategy : kStrategies) {
    if (given.strategy == name_of(strategy)) options.request.strategy = strategy;
  }
  if (!given.access.empty())
    options.check.access = given.access == "direct" ? plan::Access::direct_read : plan::Access::two_sided;
  if (!given.mode.empty())
    options.check.mode = given.mode == "direct" ? plan::RotationMode::direct : plan::RotationMode::relay;
  if (!options.request.pp) options.assumed.emplace_back("pp 1");
  return complete(shape, options.assumed);
}

Status finish(Given& given, Options& options) {
  RINGCOMM_TRY(apply_config(options, given));
  RINGCOMM_TRY(read_sizes(given, options));
  RINGCOMM_TRY(read_words(given, options));
  return check_work(options.request.work);
}

int usage_error(std::string_view message) {
  std::fprintf(stderr, "ringcomm-plan: %s\nringcomm-plan --help tells more.\n", std::string(message).c_str());
  return kUsage;
}

}  // namespace

Parsed parse(int argc, const char* const* argv) {
  Parsed parsed;
  Options& options = parsed.options;
  Given given;
  CLI::App app{"Plans sequence parallelism: split, strategy, ring, time, memory, crossovers.",
               "ringcomm-plan"};
  app.set_help_flag("-h,--help", "print this and exit");
  app.footer(kFooter);
  app.get_formatter()->column_width(26);
  CLI::App* check = app.add_subcommand("check", "derive all ranks' slices and prove them");
  add_model_flags(app, given);
  add_machine_flags(app, options);
  add_output_flags(app, options, given, *check);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    parsed.exit_code = app.exit(help);
    return parsed;
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = usage_error(error.what());
    return parsed;
  }
  options.is_check = check->parsed();
  if (!options.calls.file.empty()) return parsed;  // needs no model
  if (const Status status = finish(given, options); !status.is_ok())
    parsed.exit_code = usage_error(status.message());
  return parsed;
}

}  // namespace ringcomm::planner
