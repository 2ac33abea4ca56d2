# SPDX-License-Identifier: Apache-2.0
"""The goals of perf/compare as data: what is measured with whom, and what must come out (docs/performance.md explains each)."""

import dataclasses
import typing

import compare_core as core
from compare_contenders import RING, SOFTMAX, UCX_SHM, UCX_TCP, Contender, limit, mpi, ours, raw_ucx, side

K, M = 1 << 10, 1 << 20
WINDOW, PRIVATE = "window", "private"


@dataclasses.dataclass(frozen=True)
class Experiment:
    """Contenders that take turns, over sizes (the number in "go SIZE ITERATIONS")."""
    name: str
    contenders: tuple
    sizes: tuple
    quick_sizes: tuple
    is_placed: bool = True  # what is measured depends on where the CPUs are
    unit: str = "bytes"     # of the sizes, for people
    size_name: typing.Callable = core.format_size

    def sizes_of(self, options):
        return tuple(options.sizes or (self.quick_sizes if options.quick else self.sizes))


@dataclasses.dataclass(frozen=True)
class Goal:
    """ratio = scale x best of `over` / best of `under`; the worst over `sizes` (all, when empty) counts."""
    name: str
    text: str
    experiment: str
    memory: str
    least: typing.Any  # a number, {"near": ..., "far": ...}, or None
    aim: typing.Any
    over: tuple = ()
    under: tuple = ()
    at_least: bool = True
    unit: str = "x"
    scale: typing.Any = 1.0
    sizes: tuple = ()
    needs: tuple = ()  # flags of /proc/cpuinfo
    label: typing.Callable = core.format_size


NEEDS_BF16 = ("avx512_bf16",)
NEEDS_512 = ("avx512f",)


def _mpi_forms(forms, ranks, arguments=(), **more):
    return [one for form, program in forms.items() for one in mpi(form, program, ranks, arguments, **more)]


def at_tokens(size):
    return f"{size} tokens"


# Rotation ------------------------------------------------------------------------------------------------------------------
BLOCKS = (64 * K, 256 * K, M, 4 * M, 16 * M, 64 * M)
ROTATE = ours("window", "ring_rotate")
ROTATE_MPI = _mpi_forms(RING, 2, quick_libraries=3)
OWN_READ = limit("read", 2)
ONE_COPY = (ours("sendrecv, window to private", "sendrecv", "--input", "window", "--result", "private"),
            ours("sendrecv, private", "sendrecv", "-R", "0"))
EXCHANGE_MPI = _mpi_forms(RING, 2, ("--no-read",))
HAND_OFF = ours("flag alone", "ring_rotate", "--no-read", "-m", "200")
HAND_OFF_MPI = mpi("MPI_Sendrecv", "ring_sendrecv", 2, ("--no-read",))
HAND_OFF_4 = ours("flag alone, 4 ranks, turn of 3 steps", "ring_rotate", "--full", "--no-read", "-m", "50", ranks=4)
TCP = ours("ucx over tcp", "ring_rotate", transport="ucx", environment=UCX_TCP)
TCP_MPI = _mpi_forms(RING, 2, libraries=("Open MPI tcp",))
TCP_RAW = raw_ucx("tcp", UCX_TCP)
SMALL_TCP = (64 * K, 256 * K)

# Softmax statistics --------------------------------------------------------------------------------------------------------
ROW = 516  # bytes of a row: 128 floats and its lse
ROWS = tuple(rows * ROW for rows in (64, 256, 1024, 4096, 16384, 65536))


def at_rows(size):
    return f"R = {size // ROW}"


def _softmax_ours(ranks):
    return (ours("window to where it was merged", "softmax_all_reduce", "--input", "window", "--result", "in_place", ranks=ranks),
            ours("window to window", "softmax_all_reduce", ranks=ranks),
            ours("window to private", "softmax_all_reduce", "--input", "window", "--result", "private", ranks=ranks),
            ours("private to private", "softmax_all_reduce", "-R", "0", ranks=ranks))


SOFTMAX_OURS = {ranks: _softmax_ours(ranks) for ranks in (2, 4)}
SOFTMAX_MPI = {ranks: _mpi_forms(SOFTMAX, ranks) for ranks in (2, 4)}
THREE = {ranks: [one for one in SOFTMAX_MPI[ranks] if one.name.endswith("3 x MPI_Allreduce")] for ranks in (2, 4)}
OTHERS = {ranks: [one for one in SOFTMAX_MPI[ranks] if not one.name.endswith("3 x MPI_Allreduce")] for ranks in (2, 4)}


def _softmax_goals(ranks):
    mine, place = SOFTMAX_OURS[ranks], f"P = {ranks}{'' if ranks == 2 else ' on 2 cores'}"
    experiment = f"softmax_{ranks}"
    pool, private_out, private = side(mine[:2]), side(mine[2:3]), side(mine[3:])
    return (
        Goal(f"softmax_{ranks}_to_three_allreduce", f"softmax-stat all-reduce, {place}, partials and result in windows: 3 x MPI_Allreduce / ours",
             experiment, WINDOW, 3.0, 5.0, side(THREE[ranks]), pool, label=at_rows),
        Goal(f"softmax_{ranks}_to_best_mpi", f"the same, {place}, to the best of MPI_Op and all-gather + merge",
             experiment, WINDOW, 2.0, 3.5, side(OTHERS[ranks]), pool, label=at_rows),
        Goal(f"softmax_{ranks}_private_result", f"partials in windows, private result, {place}: 3 x MPI_Allreduce / ours",
             experiment, f"{WINDOW} in, {PRIVATE} out", 2.0, 2.5, side(THREE[ranks]), private_out, label=at_rows),
        Goal(f"softmax_{ranks}_private", f"private in and out, {place}: 3 x MPI_Allreduce / ours",
             experiment, PRIVATE, 1.0, {"near": 1.2, "far": 2.5}, side(THREE[ranks]), private, label=at_rows),
    )


# The block kernel ----------------------------------------------------------------------------------------------------------
def _kernel(dtype, mask):
    return Contender(f"ringcomm kernel, {dtype}, {mask}", "ringcomm-block-kernel", ("--serve", "--dtype", dtype, "--mask", mask))


KERNELS = {(dtype, mask): _kernel(dtype, mask) for dtype in ("bf16", "fp32") for mask in ("full", "causal")}


def _kernel_goal(name, text, key, sizes, least, aim, needs):
    return Goal(name, text, "kernel", PRIVATE, least, aim, side((KERNELS[key],), "share"), unit="%", scale=100.0, sizes=sizes,
                needs=needs, label=at_tokens)


# End to end: bf16, D = 128, one head; a size is K and V of all tokens ------------------------------------------------------
TOKEN = 512
TOKENS = tuple(tokens * TOKEN for tokens in (256, 512, 1024, 2048, 4096))
LONG = tuple(size for size in TOKENS if size >= 1024 * TOKEN)
ONE_HEAD = ("--q-heads", "1", "--kv-heads", "1")


def at_length(size):
    return f"S = {size // TOKEN}"


ATTENTION = (ours("ring attention", "ring_attention", "--mask", "full", *ONE_HEAD),
             ours("two partial passes", "ring_attention", "--mask", "full", *ONE_HEAD, "--local", "partials"),
             ours("one pass", "ring_attention", "--mask", "full", *ONE_HEAD, "--local", "one_pass"),
             ours("all-gather strategy", "ring_attention", "--mask", "full", *ONE_HEAD, "--strategy", "all_gather"))
ATTENTION_MPI = [one for form in ("sendrecv", "isend")
                 for one in mpi(f"ring attention, {form}", "ring_attention", 2, (form, "--mask", "full", *ONE_HEAD))]
STEP = ours("64 queries", "attention_step", "--queries", "64", *ONE_HEAD)
STEP_MPI = [one for form in ("sendrecv", "isend")
            for one in mpi(f"64 queries, {form}", "attention_step", 2, (form, "--queries", "64", *ONE_HEAD))]
STEP_BLOCKS = (64 * K, 256 * K, M, 2 * M)
DECODE_ROW = 32 * ROW  # 32 heads a sequence
DECODE_HEADS = ("--q-heads", "32", "--kv-heads", "8", "--seq", "512")
BATCHES = tuple(batch * DECODE_ROW for batch in (1, 4, 16, 64))


def at_batch(size):
    return f"batch {size // DECODE_ROW}"


def _decode(ranks):
    return (ours("decode step", "decode_step", *DECODE_HEADS, ranks=ranks),
            [one for form in ("three", "gather") for one in mpi(f"decode step, {form}", "decode_step", ranks, (form, *DECODE_HEADS))])


DECODE = {ranks: _decode(ranks) for ranks in (2, 4)}
LIMITS = (*(limit(kind, threads) for kind in ("memcpy", "nt_copy", "read", "nt_write") for threads in (1, 2)),
          raw_ucx("posix and cma", UCX_SHM))
GGML = Contender("ggml flash attention", "ggml-attention")
ONEDNN = Contender("oneDNN, composed", "onednn-attention", environment={"OMP_NUM_THREADS": "1"})

EXPERIMENTS = {one.name: one for one in (
    Experiment("rotation", (ROTATE, *ROTATE_MPI, OWN_READ), BLOCKS, (64 * K,)),
    Experiment("exchange", (*ONE_COPY, *EXCHANGE_MPI), (64 * K, 256 * K, M, 16 * M, 64 * M), (64 * K,)),
    Experiment("hand_off", (HAND_OFF, *HAND_OFF_MPI), (64 * K,), (64 * K,)),
    Experiment("hand_off_4", (HAND_OFF_4,), (64 * K,), (64 * K,)),
    Experiment("tcp", (TCP, *TCP_MPI, TCP_RAW), (64 * K, 256 * K, M, 4 * M, 16 * M), (64 * K,)),
    Experiment("softmax_2", (*SOFTMAX_OURS[2], *SOFTMAX_MPI[2], OWN_READ), ROWS, (64 * ROW,), size_name=at_rows),
    Experiment("softmax_4", (*SOFTMAX_OURS[4], *SOFTMAX_MPI[4]), ROWS, (64 * ROW,), size_name=at_rows),
    Experiment("kernel", tuple(KERNELS.values()), (1024, 2048, 4096, 8192), (128,), is_placed=False, size_name=at_tokens),
    Experiment("attention", (*ATTENTION, *ATTENTION_MPI), TOKENS, (256 * TOKEN,), size_name=at_length),
    Experiment("few_queries", (STEP, *STEP_MPI), STEP_BLOCKS, (64 * K,)),
    Experiment("decode_2", (DECODE[2][0], *DECODE[2][1]), BATCHES, (DECODE_ROW,), size_name=at_batch),
    Experiment("decode_4", (DECODE[4][0], *DECODE[4][1]), BATCHES, (DECODE_ROW,), size_name=at_batch),
    Experiment("limits", LIMITS, BLOCKS, (64 * K,)),
    Experiment("ggml", (KERNELS["bf16", "full"], GGML), (4096,), (128,), is_placed=False, size_name=at_tokens),
    Experiment("onednn", (KERNELS["bf16", "full"], ONEDNN), (1024, 8192), (128,), is_placed=False, size_name=at_tokens),
)}

GOALS = (
    Goal("rotation_to_mpi", "zero-copy rotation, step and first read, P = 2: best MPI / ours", "rotation", WINDOW,
         1.5, {"near": 3.0, "far": 2.0}, side(ROTATE_MPI), side((ROTATE,))),
    Goal("rotation_to_own_read", "the same, ours / reading an own block, from 4M", "rotation", WINDOW,
         {"near": 1.3}, {"near": 1.15}, side((ROTATE,)), side((OWN_READ,)), at_least=False, sizes=(4 * M, 16 * M, 64 * M)),
    Goal("hand_off", "flag hand-off per step, P = 2: a direct rotation without the read", "hand_off", WINDOW,
         0.5, None, side((HAND_OFF,)), at_least=False, unit="us"),
    Goal("hand_off_to_mpi", "MPI_Sendrecv of 64K / a hand-off", "hand_off", WINDOW, 20.0, None, side(HAND_OFF_MPI), side((HAND_OFF,))),
    Goal("hand_off_to_probe", "a hand-off / the flag probe's latency", "hand_off", WINDOW, None, 1.5, side((HAND_OFF,)),
         side((HAND_OFF,), "probe"), at_least=False),
    Goal("hand_off_4", "hand-off per step, P = 4 on 2 cores: a third of a full turn", "hand_off_4", WINDOW, 10.0, 2.5, side((HAND_OFF_4,)),
         at_least=False, unit="us", scale=1 / 3),
    Goal("one_copy_to_mpi", "one-copy exchange into private memory, 64K to 1M, without the read: best MPI / ours", "exchange",
         f"{WINDOW} in, {PRIVATE} out", 1.2, 1.5, side(EXCHANGE_MPI), side(ONE_COPY[:1]), sizes=(64 * K, 256 * K, M)),
    Goal("one_copy_nt_to_mpi", "the same from 16M, with non-temporal stores", "exchange", f"{WINDOW} in, {PRIVATE} out", None, 1.2,
         side(EXCHANGE_MPI), side(ONE_COPY[:1]), sizes=(16 * M, 64 * M)),
    Goal("ucx_tcp_to_mpi_tcp", "rotation over UCX (tcp), 64K and 256K: Open MPI tcp / ours", "tcp", WINDOW, 1.0, 1.3, side(TCP_MPI), side((TCP,)),
         sizes=SMALL_TCP),
    Goal("ucx_tcp_to_mpi_tcp_large", "the same from 1M", "tcp", WINDOW, 1.0, None, side(TCP_MPI), side((TCP,)), sizes=(M, 4 * M, 16 * M)),
    Goal("ucx_tcp_to_raw_ucx", "the same, ours / two processes with ucp_tag_send and ucp_tag_recv alone", "tcp", WINDOW, None, None, side((TCP,)),
         side((TCP_RAW,)), at_least=False),
    *_softmax_goals(2),
    *_softmax_goals(4),
    Goal("merge_bandwidth", "merge of R = 65536, P = 2: 101 MB over its time / the bandwidth of two reading threads", "softmax_2", WINDOW,
         75.0, 105.0, side((OWN_READ,)), side(SOFTMAX_OURS[2][:2]), unit="%", scale=150.0, sizes=(65536 * ROW,), label=at_rows),
    _kernel_goal("kernel_bf16_full", "bf16 kernel, full, S from 2K: share of the VDPBF16PS peak loop", ("bf16", "full"), (2048, 4096, 8192), 80.0, 88.0,
                 NEEDS_BF16),
    _kernel_goal("kernel_bf16_causal", "bf16 kernel, causal, S from 4K", ("bf16", "causal"), (4096, 8192), 72.0, 84.0, NEEDS_BF16),
    _kernel_goal("kernel_fp32_full", "fp32 kernel, full, 1K to 4K: share of the fp32 FMA peak", ("fp32", "full"), (1024, 2048, 4096), 80.0, 92.0, NEEDS_512),
    _kernel_goal("kernel_fp32_full_8k", "fp32 kernel, full, 8K", ("fp32", "full"), (8192,), 65.0, 90.0, NEEDS_512),
    Goal("kernel_to_ggml", "(optional) kernel to ggml's CPU flash attention, one thread, bf16", "ggml", PRIVATE, 8.0, 15.0,
         side((KERNELS["bf16", "full"],), "gflops"), side((GGML,), "gflops"), needs=NEEDS_BF16, label=at_tokens),
    Goal("kernel_to_onednn_1k", "bf16 kernel to attention composed of oneDNN's matmul and a vectorised softmax, 1K", "onednn", PRIVATE, 0.97, 1.03,
         side((KERNELS["bf16", "full"],), "gflops"), side((ONEDNN,), "gflops"), sizes=(1024,), needs=NEEDS_BF16, label=at_tokens),
    Goal("kernel_to_onednn_8k", "the same at 8K", "onednn", PRIVATE, 1.05, 1.2, side((KERNELS["bf16", "full"],), "gflops"),
         side((ONEDNN,), "gflops"), sizes=(8192,), needs=NEEDS_BF16, label=at_tokens),
    Goal("attention_to_partials", "ring attention, P = 2, S from 1K / two partial passes without communication", "attention", WINDOW, 1.05, 1.01,
         side(ATTENTION[:1]), side(ATTENTION[1:2]), at_least=False, sizes=LONG, label=at_length),
    Goal("attention_to_one_pass", "ring attention, P = 2, S = 1K / one pass over local keys", "attention", WINDOW, 1.08, 1.03,
         side(ATTENTION[:1]), side(ATTENTION[2:3]), at_least=False, sizes=LONG[:1], label=at_length),
    Goal("attention_to_all_gather", "ring attention, P = 2: all-gather strategy / ours", "attention", WINDOW, None, None, side(ATTENTION[3:]),
         side(ATTENTION[:1]), label=at_length),
    Goal("attention_to_mpi", "ring attention, P = 2: the MPI program with the same kernel / ours", "attention", WINDOW, None, None,
         side(ATTENTION_MPI), side(ATTENTION[:1]), label=at_length),
    Goal("few_queries_to_local", "one ring step with 64 queries / the same on a local block", "few_queries", WINDOW, 1.3,
         {"near": 1.02, "far": 1.1}, side((STEP,)), side((STEP,), "local(us)"), at_least=False),
    Goal("few_queries_to_mpi", "one ring step with 64 queries: MPI version / ours", "few_queries", WINDOW, 1.15, 1.3, side(STEP_MPI), side((STEP,))),
    *(Goal(f"decode_{ranks}_to_mpi", f"decode step, P = {ranks}, 32 heads, batch 1 to 64: the MPI program / ours", f"decode_{ranks}", WINDOW, None, None,
           side(DECODE[ranks][1]), side((DECODE[ranks][0],)), label=at_batch) for ranks in (2, 4)),
)
