# SPDX-License-Identifier: Apache-2.0
"""perf/compare's results for people, and as rows of JSON."""

import compare_core as core

FIELDS = {"us": "us", "share": "share of the peak", "gflops": "GFLOP/s"}  # of an answer, as people read it


def cell_rows(cells, experiments):
    """[{experiment, placement, size, label, contenders: {name: {median, spread_pct, ...}}}] of everything that was measured;
    numbers are the first of FIELDS that all of them answered."""
    rows = []
    for (name, place, size), cell in sorted(cells.items()):
        contenders = {}
        for key in FIELDS:
            found = {contender: values for contender in cell if (values := core.values_of(cell, contender, key))}
            if len(found) == len(cell):
                contenders = {contender: {**core.summarise(list(values.values())), "field": key} for contender, values in found.items()}
                break
        rows.append({"experiment": name, "placement": place, "size": size, "label": experiments[name].size_name(size),
                     "contenders": contenders})
    return rows


def number(value):
    if value is None:
        return "-"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def shortened(reason, most=90):
    """The whole reasons are in the JSON, and above the table."""
    return reason if len(reason) <= most else reason[:most - 3] + "..."


def bound(entry, key):
    return "-" if entry[key] is None else f"{entry['sense']} {number(entry[key])}"


def goal_lines(entries):
    lines = [f"{'goal':<30}{'CPUs':<6}{'ratio':>9}{'spread %':>10}{'least':>10}{'aim':>10}  verdict"]
    for entry in entries:
        ratio = "-" if entry["ratio"] is None else f"{number(entry['ratio'])} {entry['unit']}"
        lines.append(f"{entry['name']:<30}{entry['placement'] or '-':<6}{ratio:>9}{number(entry['spread']):>10}{bound(entry, 'least'):>10}"
                     f"{bound(entry, 'aim'):>10}  {core.verdict(entry)}: {entry['memory']}; {shortened(entry['reason'])}")
    return lines


def table_lines(cells):
    """One block per experiment and placement: contenders down, sizes across."""
    lines, groups = [], {}
    for cell in cells:
        groups.setdefault((cell["experiment"], cell["placement"]), []).append(cell)
    for (name, place), group in groups.items():
        group.sort(key=lambda cell: cell["size"])
        contenders = list(dict.fromkeys(one for cell in group for one in cell["contenders"]))
        wide = max([len(one) for one in contenders] + [12]) + 2
        unit = FIELDS[next((one["field"] for cell in group for one in cell["contenders"].values()), "us")]
        lines += ["#", f"# {name}, CPUs {place}: medians, {unit}",
                  "#" + " " * (wide - 1) + "".join(f"{cell['label']:>13}" for cell in group)]
        for contender in contenders:
            values = [cell["contenders"].get(contender) for cell in group]
            lines.append(f"{contender:<{wide}}" + "".join(f"{number(one['median']) if one else '-':>13}" for one in values))
    return lines


def text(results):
    machine = results["machine"]
    versions = [text for text in (machine["open_mpi"], machine["mpich"], machine["ucx"]) if text]
    lines = [f"# {machine['cpu']}, {machine['cpus']} CPUs; {machine['system']}", f"# {'; '.join(versions) or 'no MPI, no UCX'}",
             f"# ringcomm's kernels: {machine['dispatch'] or 'not asked'}",
             f"# {results['rounds']} rounds; ratios of medians; spread: middle half of the rounds' ratios. Inputs are freshly written, untimed."]
    if results["quick"]:
        lines.append("# --quick: one call a row on a machine that may be busy. These figures say only that it ran.")
    lines += table_lines(results["cells"])
    reasons = dict.fromkeys(reason for one in results["experiments"].values() for reason in one["left_out"].values())
    lines += ["#", *(f"# left out: {reason}" for reason in reasons)] if reasons else []
    lines += ["#", *goal_lines(results["goals"]), "#",
              f"# Dropped (the CPUs moved during the sample): {results['dropped']} of {results['samples']}",
              f"# Out of bounds values : {results['wrong']} {'OK' if results['wrong'] == 0 else 'FAILED'}"]
    lines += [f"# failed: {name}" for name in results["failed"]]
    return "\n".join(lines)


def markdown(results):
    """The goals as a table for docs/performance.md."""
    lines = ["| goal | what | memory | CPUs | ratio (spread %) | least | aim | verdict |", "|---|---|---|---|---|---|---|---|"]
    for entry in results["goals"]:
        ratio = "-" if entry["ratio"] is None else f"{number(entry['ratio'])} {entry['unit']} ({number(entry['spread'])})"
        lines.append(f"| `{entry['name']}` | {entry['text']} | {entry['memory']} | {entry['placement'] or '-'} | {ratio} | {bound(entry, 'least')} | "
                     f"{bound(entry, 'aim')} | {core.verdict(entry)}: {shortened(entry['reason'])} |")
    return "\n".join(lines) + "\n"


def listing(goals, experiments):
    lines = []
    for name, experiment in experiments.items():
        lines.append(f"{name}: " + ", ".join(experiment.size_name(size) for size in experiment.sizes))
        lines += [f"  with {contender.name}" for contender in experiment.contenders]
        for goal in goals:
            if goal.experiment == name:
                sense = ">=" if goal.at_least else "<="
                lines.append(f"  goal {goal.name}: {goal.text} ({goal.memory}); least {sense} {goal.least}, aim {sense} {goal.aim} {goal.unit}")
    return "\n".join(lines)
