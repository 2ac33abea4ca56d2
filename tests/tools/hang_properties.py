#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules, not case names: the doctor's score on the published cases stays within 3 percentage points when files are renamed
and shuffled, hosts are renamed, sequence numbers are shifted and ranks are renumbered.

usage: hang_properties.py CASES_DIR SCORE_SCRIPT DOCTOR [SEED...]      exit code 0 holds, 1 does not, 77 no cases here"""
import importlib.util
import io
import json
import pickle
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

POINTS_APART_MAX = 3.0
DICTIONARY = "trace dump log evidence part piece node".split()


class NoGlobals(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name}")


def load_dump(data):
    """(dump, encoding) of a PyTorch flight-recorder file, or None."""
    try:
        dump = json.loads(data)
        return (dump, "json") if isinstance(dump, dict) and "pg_config" in dump else None
    except ValueError:
        pass
    try:
        dump = NoGlobals(io.BytesIO(data)).load()
        return (dump, "pickle") if isinstance(dump, dict) and "pg_config" in dump else None
    except Exception:  # whatever it is, it is no dump
        return None


def store_dump(dump, encoding):
    return json.dumps(dump).encode() if encoding == "json" else pickle.dumps(dump, protocol=2)


class Case:
    def __init__(self, folder, expected):
        self.files = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*"))
                      if p.is_file() and p.name != "expected.md"}
        self.expected = dict(expected)
        self.applied = []

    def text(self, name):
        try:
            return self.files[name].decode()
        except UnicodeDecodeError:
            return None

    def dumps(self):
        return {name: load for name, data in self.files.items() if (load := load_dump(data))}


def shuffled_names(case, rng):
    """One new word in front of every name; numbers at the end stay, they are ranks."""
    word = rng.choice(DICTIONARY)
    renamed = {}
    for name, data in case.files.items():
        parent, _, last = name.rpartition("/")
        renamed[f"{parent}/{word}_{last}" if parent else f"{word}_{last}"] = data
    order = list(renamed)
    rng.shuffle(order)
    case.files = {name: renamed[name] for name in order}
    case.applied.append("names")


def renamed_hosts(case, rng):
    hosts = set()
    for name in case.files:
        text = case.text(name)
        if text is not None:
            hosts |= set(re.findall(r"(?m)^(?:\[[^\]]*\]\s*)?([a-z][\w.-]*[\w]):\d+:\d+ \[\d", text))
    hosts = sorted((h for h in hosts if len(h) > 3), key=len, reverse=True)
    if not hosts:
        return
    new = {host: f"cn{rng.randrange(100, 1000)}x{i}" for i, host in enumerate(hosts)}
    for name in case.files:
        text = case.text(name)
        if text is not None:
            for old, other in new.items():
                text = re.sub(rf"(?<![\w.-]){re.escape(old)}(?![\w])", other, text)
            case.files[name] = text.encode()
    expected = json.dumps(case.expected)
    for old, other in new.items():
        expected = re.sub(rf"(?<![\w.-]){re.escape(old)}(?![\w])", other, expected)
    case.expected = json.loads(expected)
    case.applied.append("hosts")


SEQUENCES = re.compile(r"((?:SeqNum=|SequenceNumber=|NCCL work: |work sequence id: |detected by watchdog at work: |"
                       r"last (?:enqueued|completed|started) work: ))(\d+)")
STATUS_KEYS = ("last_enqueued_collective", "last_started_collective", "last_completed_collective")


def shifted(value, by):
    number = int(value)
    if number <= 0:
        return value
    return str(number + by) if isinstance(value, str) else number + by


def shifted_sequences(case, rng):
    """Not where a sequence is among the first ones: that a group has completed nothing means something."""
    by = rng.randrange(3, 400)
    dumps = case.dumps()
    text_hits = [int(n) for name in case.files if name not in dumps and (text := case.text(name)) is not None
                 for _, n in SEQUENCES.findall(text)]
    if not text_hits and not dumps or text_hits and min(text_hits) <= 1:
        return
    if case.expected.get("seq") is not None and not re.fullmatch(r"\d+", str(case.expected["seq"])):
        return  # several, of a pair, or hexadecimal
    if re.search(r" \d+( |$)", str(case.expected.get("op"))):
        return  # the operation is named with its sequence
    for name, (dump, encoding) in dumps.items():
        for entry in dump.get("entries", []):
            if not entry.get("is_p2p"):
                entry["collective_seq_id"] = shifted(entry["collective_seq_id"], by)
        for status in dump.get("pg_status", {}).values():
            for key in STATUS_KEYS:
                if key in status:
                    status[key] = shifted(status[key], by)
        case.files[name] = store_dump(dump, encoding)
    for name in case.files:
        if name in dumps or (text := case.text(name)) is None:
            continue
        case.files[name] = SEQUENCES.sub(lambda m: m[1] + str(int(m[2]) + by), text).encode()
    if case.expected.get("seq") is not None:
        case.expected["seq"] = str(int(case.expected["seq"]) + by)
    case.applied.append("sequences")


def expected_ranks(case, new):
    for key in ("culprit_ranks", "suspect_ranks", "victim_ranks", "ranks_without_evidence"):
        value = case.expected.get(key)
        if value:
            case.expected[key] = [new.get(rank, rank) for rank in value]
    if isinstance(case.expected.get("op"), str):
        case.expected["op"] = re.sub(r"(?i)(rank )(\d+)", lambda m: f"{m[1]}{new.get(int(m[2]), m[2])}", case.expected["op"])
    if isinstance(case.expected.get("group"), str):  # "name 74 [12, 13, 14, 15]", "name 72 [8..15]"
        def mapped(match):
            first, dots, last = match[1].partition("..")
            ranks = range(int(first), int(last) + 1) if dots else [int(rank) for rank in first.split(",")]
            return str(sorted(new.get(rank, rank) for rank in ranks))
        case.expected["group"] = re.sub(r"\[(\d+\.\.\d+|\d+(?:, *\d+)+)\]", mapped, case.expected["group"])


def ranks_of_dumps(case, rng):
    """Groups keep their members; the names of point-to-point calls carry group ranks, which follow."""
    dumps = case.dumps()
    members = [json.loads(config["ranks"]) for dump, _ in dumps.values() for config in dump["pg_config"].values()]
    world = sorted({rank for ranks in members for rank in ranks})
    others = [name for name in case.files if name not in dumps]
    if not world or any(re.search(rb"(?i)\brank", case.files[name]) for name in others):
        return False
    order = world[:]
    rng.shuffle(order)
    new = dict(zip(world, order))
    files = {}
    for name, data in case.files.items():
        head, number, tail = re.fullmatch(r"(.*?)(\d*)(\D*)", name, re.S).groups()
        if not number or int(number) not in new:
            return False
        if name in dumps:
            dump, encoding = dumps[name]
            maps = {}
            for config in dump["pg_config"].values():
                ranks = json.loads(config["ranks"])
                after = sorted(new[rank] for rank in ranks)
                maps[config["name"]] = {i: after.index(new[rank]) for i, rank in enumerate(ranks)}
                config["ranks"] = str(after)
            for entry in dump.get("entries", []):
                positions = maps.get(entry["process_group"][0], {})
                entry["profiling_name"] = re.sub(
                    r"(\d+)(<-|->)(\d+)", lambda m: "".join([str(positions.get(int(m[1]), m[1])), m[2],
                                                               str(positions.get(int(m[3]), m[3]))]),
                    entry["profiling_name"])
            data = store_dump(dump, encoding)
        files[f"{head}{new[int(number)]}{tail}"] = data
    case.files = files
    expected_ranks(case, new)
    case.expected["op"] = None if re.search(r"\d\s*(<-|->)", str(case.expected.get("op"))) else case.expected.get("op")
    return True


RANK_WORDS = r"(?i)(?<![\w-])(rank )(\d+)(?!\d)|(\[rank)(\d+)(?=\])"
OTHER_RANKS = r"(?i)ranks\b[ :=\[]*\d|nranks|-> *\d+\[|\[\d+,\d+\]<std|rank[=:_]\s*\d"


def ranks_of_text(case, rng):
    """Only logs that print every rank as "rank 3" or "[rank3]", with one meaning in a line."""
    ranks = set()
    for name in case.files:
        text = case.text(name)
        if text is None or re.search(OTHER_RANKS, text) or re.search(r"\d", name):
            return False
        for line in text.splitlines():
            of_line = [int(a or b) for _, a, _, b in re.findall(RANK_WORDS, line)]
            if "[rank" in line and len(set(of_line)) > 1 or re.search(r"\[PG[^\]]*Rank", line) and "default_pg" not in line:
                return False
            ranks |= set(of_line)
    known = {r for key in ("culprit_ranks", "suspect_ranks", "victim_ranks") for r in case.expected.get(key) or []}
    if not ranks or not all(isinstance(rank, int) for rank in known):
        return False
    world = list(range(max(ranks | known | {(case.expected.get("world_size") or 1) - 1}) + 1))
    order = world[:]
    rng.shuffle(order)
    new = dict(zip(world, order))
    for name in case.files:
        case.files[name] = re.sub(
            RANK_WORDS, lambda m: f"{m[1] or m[3]}{new[int(m[2] or m[4])]}", case.text(name)).encode()
    expected_ranks(case, new)
    return True


def renumbered_ranks(case, rng):
    if case.dumps():
        changed = ranks_of_dumps(case, rng)
    else:
        changed = ranks_of_text(case, rng)
    if changed:
        case.applied.append("ranks")


def answer_of(case, doctor):
    with tempfile.TemporaryDirectory() as folder:
        for name, data in case.files.items():
            path = Path(folder) / "evidence" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        run = subprocess.run([doctor, "hang", "--json", f"{folder}/evidence"], capture_output=True, timeout=60, check=False)
        if run.returncode not in (0, 1, 2, 3):
            sys.exit(f"ringcomm-doctor ended with {run.returncode}: {run.stderr.decode(errors='replace')}")
        return json.loads(run.stdout)


def points_of(score, case, doctor):
    answer = answer_of(case, doctor)
    points, notes = score.score(case.expected, answer)
    return points, (answer["fault_kind"], notes)


def main():
    cases, script, doctor = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    seeds = [int(seed) for seed in sys.argv[4:]] or [1]
    if not cases.is_dir():
        print(f"{cases} is not here")
        return 77
    spec = importlib.util.spec_from_file_location("score_hangs", script)
    score = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(score)
    folders = [p for p in sorted(cases.iterdir()) if (p / "expected.md").exists()]
    failed = not folders
    for seed in seeds:
        before = after = 0
        counts = {}
        for folder in folders:
            expected = score.read_expected(folder / "expected.md")
            original, changed = Case(folder, expected), Case(folder, expected)
            rng = random.Random(f"{seed} {folder.name}")
            for change in (renumbered_ranks, shifted_sequences, renamed_hosts, shuffled_names):
                change(changed, rng)
            for key in ("op", "group", "seq"):  # what could not be carried over is not asked for
                if changed.expected.get(key) is None:
                    original.expected[key] = None
            for name in changed.applied:
                counts[name] = counts.get(name, 0) + 1
            one, reason_one = points_of(score, original, doctor)
            two, reason_two = points_of(score, changed, doctor)
            before, after = before + one, after + two
            if one != two or reason_one[0] != reason_two[0]:
                print(f"  {folder.name} ({', '.join(changed.applied)}): {one} -> {two}: {reason_one} -> {reason_two}")
        best = 9 * max(len(folders), 1)
        apart = 100 * abs(before - after) / best
        print(f"seed {seed}: {len(folders)} cases, {before} points as published, {after} changed ({apart:.1f} percentage points "
              f"apart); applied: {', '.join(f'{name} {count}' for name, count in sorted(counts.items()))}")
        failed = failed or apart > POINTS_APART_MAX or min(counts.get(n, 0) for n in ("ranks", "sequences", "hosts", "names")) < 8
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
