# SPDX-License-Identifier: Apache-2.0
"""What perf/compare computes from its samples: placement, medians, spread, ratios, verdicts. No processes here."""

import math

RATES = ("gflops", "share")
NEAR, FAR, MIXED, ANY = "near", "far", "mixed", "any"


def parse_size(text):
    """"64K" into bytes; ValueError for anything else."""
    factors = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    suffix = text[-1:].upper()
    digits = text[:-1] if suffix in factors else text
    if not digits.isdigit() or int(digits) == 0:
        raise ValueError(f"'{text}' is no size (64K, 1M, 2G)")
    return int(digits) * factors.get(suffix, 1)


def format_size(size):
    for suffix, factor in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor}{suffix}"
    return str(size)


def placement(before_ns, after_ns, near_below_ns, unsteady_above=2.0):
    """Where the two CPUs were during a sample, from the probes around it; MIXED samples are dropped."""
    sides = {NEAR if ns < near_below_ns else FAR for ns in (before_ns, after_ns)}
    if len(sides) > 1:
        return MIXED
    low, high = sorted((before_ns, after_ns))
    if low > 0 and high / low > unsteady_above:
        return MIXED
    return sides.pop()


def percentile(values, percent):
    """By the nearest rank, as ringcomm-perf."""
    ordered = sorted(values)
    return ordered[max(math.ceil(percent / 100 * len(ordered)), 1) - 1]


def spread_of(values):
    """The range of the middle half over the median, in per cent."""
    median = percentile(values, 50)
    return 100 * (percentile(values, 75) - percentile(values, 25)) / abs(median) if median else 0.0


def summarise(values):
    return {"median": percentile(values, 50), "spread_pct": spread_of(values), "min": min(values), "max": max(values),
            "samples": len(values)}


def has_rounds(samples, rounds):
    """Whether some placement has that many samples of every contender."""
    counts = {}
    for sample in samples:
        if sample["placement"] != MIXED:
            of_place = counts.setdefault(sample["placement"], {})
            of_place[sample["contender"]] = of_place.get(sample["contender"], 0) + 1
    contenders = {sample["contender"] for sample in samples}
    return any(set(of_place) == contenders and min(of_place.values()) >= rounds for of_place in counts.values())


def cells_of(samples):
    """{(experiment, placement, size): {contender: {turn: sample}}}, mixed samples left out."""
    cells = {}
    for sample in samples:
        if sample["placement"] != MIXED:
            key = (sample["experiment"], sample["placement"], sample["size"])
            cells.setdefault(key, {}).setdefault(sample["contender"], {})[sample["turn"]] = sample
    return cells


def field(sample, name):
    """A number of an answer: "us", or a column of "extras", or the flag probe's nanoseconds as microseconds."""
    if name == "probe":
        return min(sample["probe_ns"]) / 1000
    answer = sample["answer"]
    value = answer.get(name, answer.get("extras", {}).get(name))
    return float(value) if isinstance(value, (int, float)) else None


def values_of(cell, contender, name):
    """{turn: number} of a contender; empty where it has none."""
    found = {turn: field(sample, name) for turn, sample in cell.get(contender, {}).items()}
    return {turn: value for turn, value in found.items() if value is not None}


def best_of(cell, side):
    """(contender, {turn: number}) with the best median of those that `side` names: the smallest time, the largest
    rate; (None, {}) without any. A side is [(contender, field), ...], all of times or all of rates."""
    found = [(name, values_of(cell, name, key)) for name, key in side]
    found = [one for one in found if one[1]]
    pick = max if any(key in RATES for _, key in side) else min
    return pick(found, key=lambda one: percentile(one[1].values(), 50)) if found else (None, {})


def measure_goal(goal, cell, size):
    """{"ratio", "spread", "rounds", "over", "under"} of a goal in one cell, or None where a side is not there.

    ratio = scale x best `over` / best `under`; a side that is not given is 1. The spread is that of the ratios of single
    rounds."""
    over_name, over = best_of(cell, goal.over)
    under_name, under = best_of(cell, goal.under)
    if (goal.over and not over) or (goal.under and not under):
        return None
    scale = goal.scale(size) if callable(goal.scale) else goal.scale
    top = percentile(over.values(), 50) if over else 1.0
    bottom = percentile(under.values(), 50) if under else 1.0
    turns = sorted((set(over) if over else set(under)) & (set(under) if under else set(over)))
    singles = [scale * (over[turn] if over else 1.0) / (under[turn] if under else 1.0) for turn in turns]
    return {"size": size, "ratio": scale * top / bottom if bottom else None, "spread": spread_of(singles) if singles else None,
            "rounds": min([len(side) for side in (over, under) if side] or [0]), "over": over_name, "under": under_name,
            "over_value": top, "under_value": bottom}


def reaches(goal, ratio, bound):
    return None if bound is None or ratio is None else (ratio >= bound if goal.at_least else ratio <= bound)


def bound_at(bound, place):
    """A bound is one number, or one for each placement; None where the goal does not speak of it."""
    return bound.get(place) if isinstance(bound, dict) else bound


def judge(goal, cells, rounds, why_missing, any_size=False):
    """One entry per placement in which the goal's experiment was measured; one with "met" null where it was not.
    `any_size`: whatever size was measured will do."""
    entries = []
    places = sorted({place for (experiment, place, _size) in cells if experiment == goal.experiment})
    for place in places:
        measured, short, missing = [], [], []
        for (experiment, at, size), cell in sorted(cells.items()):
            if experiment != goal.experiment or at != place or (goal.sizes and size not in goal.sizes and not any_size):
                continue
            one = measure_goal(goal, cell, size)
            if one is None or one["ratio"] is None:
                missing.append(size)
            elif one["rounds"] < rounds:
                short.append(f"{goal.label(size)} ({one['rounds']} of {rounds} rounds)")
            else:
                measured.append(one)
        if measured:
            entries.append(entry_of(goal, place, measured, short))
        elif missing and not short:
            entries.append(unmeasured(goal, place, why_missing or "nothing to compare with"))
    if not entries:
        short_places = "too few rounds in one placement of the CPUs" if places else why_missing
        entries.append(unmeasured(goal, None, why_missing or short_places or "not run"))
    measured_entries = [entry for entry in entries if entry["ratio"] is not None]
    return measured_entries or entries[:1]


def entry_of(goal, place, measured, short):
    pick = min if goal.at_least else max
    worst = pick(measured, key=lambda one: one["ratio"])
    least, aim = bound_at(goal.least, place), bound_at(goal.aim, place)
    ratio, bound = worst["ratio"], aim if aim is not None else least
    met = reaches(goal, ratio, bound)
    reason = f"worst at {goal.label(worst['size'])}" if len(measured) > 1 else f"at {goal.label(worst['size'])}"
    reason += f", against {worst['over' if goal.at_least else 'under']}" if goal.over and goal.under else ""
    reason += f"; not at {', '.join(short)}" if short else ""
    if bound is None:
        reason = f"no bound is stated{'' if goal.least is None and goal.aim is None else f' for {place} CPUs'}; " + reason
    return {"name": goal.name, "ratio": round(ratio, 4), "spread": None if worst["spread"] is None else round(worst["spread"], 1),
            "unit": goal.unit, "sense": ">=" if goal.at_least else "<=", "least": least, "aim": aim, "met": met,
            "least_met": reaches(goal, ratio, least), "placement": place, "memory": goal.memory, "reason": reason,
            "text": goal.text, "experiment": goal.experiment, "sizes": measured}


def unmeasured(goal, place, reason):
    return {"name": goal.name, "ratio": None, "spread": None, "unit": goal.unit, "sense": ">=" if goal.at_least else "<=",
            "least": bound_at(goal.least, place or NEAR), "aim": bound_at(goal.aim, place or NEAR), "met": None, "least_met": None,
            "placement": place, "memory": goal.memory, "reason": reason, "text": goal.text,
            "experiment": goal.experiment, "sizes": []}


def verdict(entry):
    """What a person reads: the aim is the goal, the least is what must not be undercut."""
    if entry["ratio"] is None:
        return "not measured"
    if entry["met"] is None:
        return "no bound"
    if entry["met"]:
        return "met"
    return "least met" if entry["least_met"] else "missed"
