# SPDX-License-Identifier: Apache-2.0
"""perf/compare --check-peers: the peers' figures against an OSU-style loop that runs alone, library by library."""

import json
import os
import subprocess

import compare_contenders as who
import compare_core as core
import compare_goals as goals
import compare_run as run

WITHIN = 1.10  # issue 6: the best MPI figure is within 10 % of the OSU-style loop


def osu(contender, size, iterations, options):
    """Median microseconds of the plain loop under this contender's library."""
    command = [*contender.launcher, str(options.bin / contender.program), str(size), str(iterations)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=options.seconds,
                            env={**os.environ, **run.ROOT_MAY_RUN, **run.autogroup(), **contender.environment})
    try:
        return json.loads(answer.stdout.strip().splitlines()[-1])["us"]
    except (ValueError, IndexError, KeyError) as error:
        raise run.ContenderFailed(f"{contender.name}: {answer.stderr[-300:]}") from error


def check(options, progress):
    """Takes turns: a sample of the peers beside all that perf/compare keeps running, then the plain loop alone. 0 when the
    best of the peers is within bounds at every size and placement."""
    probe = run.Probe(options)
    plain = [one for one in who.mpi("OSU-style loop", "osu_ring", 2) if (options.bin / one.program).exists()]
    children, samples = [], []
    try:
        for contender in (goals.ROTATE, *goals.ROTATE_MPI):
            try:
                children.append(run.start(contender, options))
            except run.ContenderMissing as error:
                progress.say(f"left out: {error}")
        for size in options.sizes or (64 << 10, 1 << 20, 16 << 20):
            for child in children:
                child.ask(f"go {size} 1", options.seconds)
            iterations = 21 if size > 4 << 20 else 101
            before = probe()
            for turn in range(options.rounds):
                progress.update(f"{core.format_size(size)}, round {turn + 1} of {options.rounds}")
                for taker in [*children, *plain]:
                    if taker in plain:
                        answer = {"us": osu(taker, size, iterations, options), "wrong": 0}
                    else:
                        answer = taker.ask(f"go {size} {iterations}", options.seconds)
                    after = probe()
                    samples.append({"experiment": "peers", "size": size, "turn": turn, "contender": taker.name, "answer": answer,
                                    "probe_ns": [before, after], "placement": core.placement(before, after, options.near_below)})
                    before = after
    finally:
        for child in [*children, probe]:
            child.close()
    progress.done()
    return report(core.cells_of(samples), plain, (options.rounds + 1) // 2)


def report(cells, plain, least):
    """Prints one line a size and placement; the exit code."""
    peers, loops = who.side(goals.ROTATE_MPI), who.side(plain)
    is_good, judged = True, 0
    for (_, place, size), cell in sorted(cells.items()):
        peer, mine = core.best_of(cell, peers)
        loop, theirs = core.best_of(cell, loops)
        if min(len(mine), len(theirs)) < least:
            continue
        ratio = core.percentile(mine.values(), 50) / core.percentile(theirs.values(), 50)
        judged += 1
        is_good = is_good and ratio <= WITHIN
        print(f"{core.format_size(size):>6} {place:<5} best peer {core.percentile(mine.values(), 50):9.2f} us ({peer}, {len(mine)} samples), "
              f"OSU-style loop alone {core.percentile(theirs.values(), 50):9.2f} us ({loop}, {len(theirs)} samples): {ratio:.3f} "
              f"({'within' if ratio <= WITHIN else 'NOT within'} {WITHIN:.2f})")
    if judged == 0:
        print("nothing to compare: no MPI, or no steady sample")
        return 5
    return 0 if is_good else 1
