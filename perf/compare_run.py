# SPDX-License-Identifier: Apache-2.0
"""Programs that take samples on demand for perf/compare: starting, asking, interleaving."""

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

import compare_core as core

NOT_AVAILABLE, USAGE = 5, 6  # exit codes of a program that cannot do what it is asked for
ROOT_MAY_RUN = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}


def autogroup():
    """The scheduler's nice value of this session, for ranks whose launcher gives them a session of their own."""
    try:
        with open("/proc/self/autogroup", encoding="ascii") as file:
            return {"RINGCOMM_COMPARE_AUTOGROUP": file.read().split("nice", 1)[1].strip()}
    except (OSError, IndexError):
        return {}


class ContenderFailed(Exception):
    pass


class ContenderMissing(ContenderFailed):
    """Not built, not installed, or too old for what is asked."""


class Child:
    """A program that answers each line of its input with one line of JSON."""

    def __init__(self, name, command, environment=None):
        self.name, self.command = name, command
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        start_new_session=False, env={**os.environ, **(environment or {})})
        self.pending = b""

    def ask(self, line, seconds):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            self.fail("is gone")
        until = time.monotonic() + seconds
        while b"\n" not in self.pending:
            ready, _, _ = select.select([self.process.stdout], [], [], max(until - time.monotonic(), 0))
            if not ready:
                self.fail(f"gave no answer to '{line}' in {seconds} s")
            got = os.read(self.process.stdout.fileno(), 65536)
            if not got:
                self.fail(f"ended at '{line}'")
            self.pending += got
        answer, self.pending = self.pending.split(b"\n", 1)
        try:
            return json.loads(answer)
        except ValueError:
            self.fail(f"answered '{answer.decode(errors='replace')[:200]}' to '{line}'")

    def fail(self, what):
        try:
            code = self.process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            code = None
        self.errors.seek(0)
        said = " ".join(self.errors.read().decode(errors="replace").split())[-300:]
        if code in (NOT_AVAILABLE, USAGE):
            raise ContenderMissing(f"{self.name}: {said[:160] or f'ended with {code}'}")
        raise ContenderFailed(f"{self.name} {what} ({' '.join(self.command)}){': ' + said if said else ''}")

    def close(self):
        try:
            self.process.stdin.close()  # the end of its input ends it
            self.process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self.process.terminate()
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def start(contender, options):
    """The running contender, or ContenderMissing."""
    program = options.bin / contender.program
    if contender.launcher and shutil.which(contender.launcher[0]) is None:
        raise ContenderMissing(f"{contender.name}: {contender.launcher[0]} is not installed")
    if not program.exists():
        raise ContenderMissing(f"{contender.name}: {contender.program} is not in {options.bin}")
    return Child(contender.name, contender.command(options.bin), {**ROOT_MAY_RUN, **autogroup(), **contender.environment})


class Progress:
    """Where it is, on standard error: a line that changes on a terminal, one line an experiment elsewhere."""

    def __init__(self, is_terminal=None):
        self.is_terminal = sys.stderr.isatty() if is_terminal is None else is_terminal

    def say(self, text):
        print(f"\r\033[K{text}" if self.is_terminal else text, end="" if self.is_terminal else "\n", file=sys.stderr, flush=True)

    def update(self, text):
        if self.is_terminal:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def done(self):
        if self.is_terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


class Probe:
    """Where the CPUs are, in nanoseconds of a hand-over. With --quick it asks once: nothing is sorted there."""

    def __init__(self, options):
        self.child = Child("probe", [str(options.bin / "ringcomm-flag-probe")])
        self.seconds, self.kept, self.keeps = options.seconds, None, options.quick

    def __call__(self):
        if self.kept is None or not self.keeps:
            self.kept = self.child.ask("go", self.seconds)["ns"]
        return self.kept

    def close(self):
        self.child.close()


def iterations_for(us, whole_us, options):
    """Enough timed calls for a steady median, within about 20 ms; within a second where an answer has no time."""
    most, budget = (51, 20000 / max(us, 1)) if us else (11, 1e6 / max(whole_us, 1))
    return 1 if options.quick else max(3, min(most, int(budget)))


def sample_size(experiment, size, children, probe, options, progress, drop):
    """Rounds of one sample per contender; whose turn is first changes from round to round. More rounds (at most as many
    again) where samples had to be dropped. A contender that gives no answer goes by drop(child, error): the others stay."""
    samples, iterations = [], {}

    def answer_of(child, count):
        try:
            return child.ask(f"go {size} {count}", options.seconds)
        except ContenderFailed as error:
            drop(child, error)
            return None

    for child in list(children):
        begun = time.monotonic()
        if (first := answer_of(child, 1)) is not None:
            iterations[child.name] = iterations_for(first.get("us"), (time.monotonic() - begun) * 1e6, options)
    before = probe()
    for turn in range(2 * options.rounds):
        alive = {child.name for child in children}
        if not children or turn >= options.rounds and (options.quick or core.has_rounds(
                [sample for sample in samples if sample["contender"] in alive], options.rounds)):
            break
        progress.update(f"{experiment.name}: {core.format_size(size)}, round {turn + 1} of {options.rounds}")
        first = turn % len(children)
        for child in children[first:] + children[:first]:
            if (answer := answer_of(child, iterations[child.name])) is None:
                before = probe()
                continue
            after = probe()
            place = core.placement(before, after, options.near_below) if experiment.is_placed else core.ANY
            samples.append({"experiment": experiment.name, "size": size, "turn": turn, "contender": child.name,
                            "answer": answer, "probe_ns": [before, after], "placement": place})
            before = after
    return samples


def run_experiment(experiment, probe, options, progress):
    """(samples, commands by contender, [reason for each contender left out], names of those that failed)."""
    children, samples, commands, left_out, failed = [], [], {}, {}, []
    started = time.monotonic()

    def drop(child, error):
        left_out[child.name] = str(error)
        if not isinstance(error, ContenderMissing):
            failed.append(child.name)
        children.remove(child)
        child.close()

    try:
        for contender in experiment.contenders:
            if options.quick and contender.is_extra:
                continue
            try:
                children.append(start(contender, options))
                commands[contender.name] = contender.text(options.bin)
            except ContenderMissing as error:
                left_out[contender.name] = str(error)
        for size in experiment.sizes_of(options) if children else []:
            samples += sample_size(experiment, size, children, probe, options, progress, drop)
    finally:
        for child in children:
            child.close()
    progress.done()
    progress.say(f"{experiment.name}: {len(samples)} samples of {len(commands)} programs, {time.monotonic() - started:.0f} s\n"
                 if progress.is_terminal else
                 f"{experiment.name}: {len(samples)} samples of {len(commands)} programs, {time.monotonic() - started:.0f} s")
    return samples, commands, left_out, failed
