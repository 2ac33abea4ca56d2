# SPDX-License-Identifier: Apache-2.0
"""What perf/compare computes from its samples: placement, medians, spread, ratios, text. No processes here."""

import math

NEAR, FAR, MIXED = "near", "far", "mixed"


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


def summarise(values):
    """Median, half of all samples' range over it in per cent, and the number of samples."""
    median = percentile(values, 50)
    spread = 100 * (percentile(values, 75) - percentile(values, 25)) / median if median > 0 else 0.0
    return {"median_us": median, "spread_pct": spread, "min_us": min(values), "max_us": max(values),
            "samples": len(values)}


def results_of(samples, ours):
    """One result per (operation, medium, size, placement) from samples {op, medium, size, contender, us, placement}.

    ratio = best peer's median / our median: above 1 we are faster. Without both sides it is None.
    """
    cells = {}
    for sample in samples:
        if sample["placement"] == MIXED:
            continue
        key = (sample["op"], sample["medium"], sample["size"], sample["placement"])
        cells.setdefault(key, {}).setdefault(sample["contender"], []).append(sample["us"])
    results = []
    for (op, medium, size, place), by_contender in cells.items():
        contenders = {name: summarise(values) for name, values in by_contender.items()}
        mine = contenders.get(ours.get((op, medium)))
        peers = {name: one for name, one in contenders.items() if name != ours.get((op, medium))}
        best = min(peers, key=lambda name: peers[name]["median_us"]) if peers else None
        ratio = peers[best]["median_us"] / mine["median_us"] if mine and best and mine["median_us"] > 0 else None
        results.append({"operation": op, "medium": medium, "size": size, "placement": place,
                        "ours": ours.get((op, medium)), "contenders": contenders, "best_peer": best, "ratio": ratio})
    results.sort(key=lambda r: (r["operation"], r["medium"], r["placement"], r["size"]))
    return results


def format_table(results):
    """One line per contender; the ratio stands on our line."""
    lines = []
    heading = None
    for result in results:
        wanted = f"# {result['operation']} over {result['medium']}, {result['placement']}"
        if wanted != heading:
            heading = wanted
            lines += ["#", heading, f"#{'size':>9}  {'contender':<24}{'median us':>11}{'spread %':>10}{'samples':>9}"
                      f"{'best peer / ours':>18}"]
        for name, one in sorted(result["contenders"].items(), key=lambda item: item[0] != result["ours"]):
            ratio = ""
            if name == result["ours"] and result["ratio"] is not None:
                ratio = f"{result['ratio']:.2f}"
            lines.append(f"{format_size(result['size']):>10}  {name:<24}{one['median_us']:>11.2f}"
                         f"{one['spread_pct']:>10.1f}{one['samples']:>9}{ratio:>18}")
    return "\n".join(lines)
