# SPDX-License-Identifier: Apache-2.0
"""SVG of time and ratio over size, without a library: two panels with logarithmic axes and a legend."""

import html
import math

from compare_report import FIELDS

WIDTH, PANEL, HEIGHT = 1180, 400, 330
LEFT, TOP, GAP = 70, 48, 90
OURS = ("#b2182b", "#d6604d", "#8c2d04", "#f4a582")
THEIRS = ("#2166ac", "#4393c3", "#053061", "#5e4fa2", "#1b7837", "#5aae61", "#762a83", "#666666", "#35978f", "#b8860b")


class Panel:
    """One pair of axes, x in bytes and y positive, both logarithmic."""

    def __init__(self, left, title, y_title, xs, ys, labels):
        self.left, self.parts, self.labels = left, [], labels
        self.x_low, self.x_high = min(xs), max(xs)
        steps = [m * 10 ** p for p in range(-4, 9) for m in (1, 2, 5)]
        self.y_low = max([step for step in steps if step <= min(ys)] or [min(ys)])
        self.y_high = min([step for step in steps if step >= max(ys)] or [max(ys)])
        if self.y_low == self.y_high:
            self.y_high *= 2
        self.text(left + PANEL / 2, TOP - 12, title, size=14, anchor="middle", weight="bold")
        self.text(left + PANEL / 2, TOP + HEIGHT + 38, "bytes per rank, unless said otherwise", anchor="middle")
        self.parts.append(f'<text x="{left - 50}" y="{TOP + HEIGHT / 2}" font-size="12" text-anchor="middle" '
                          f'transform="rotate(-90 {left - 50} {TOP + HEIGHT / 2})">{html.escape(y_title)}</text>')
        wide = self.y_high / self.y_low > 200
        for step in steps:
            if self.y_low <= step <= self.y_high and (not wide or str(step).strip("0.")[:1] == "1"):
                y = self.y(step)
                self.line(left, y, left + PANEL, y, "#dddddd")
                self.text(left - 6, y + 4, f"{step:g}" if step < 1e5 else f"{step:.0e}", anchor="end", size=11)
        for value, label in labels.items():
            self.line(self.x(value), TOP, self.x(value), TOP + HEIGHT, "#eeeeee")
            self.text(self.x(value), TOP + HEIGHT + 17, label, anchor="middle", size=10)
        self.parts.append(f'<rect x="{left}" y="{TOP}" width="{PANEL}" height="{HEIGHT}" fill="none" stroke="#444444"/>')

    def x(self, value):
        if self.x_high == self.x_low:
            return self.left + PANEL / 2
        return self.left + 12 + (PANEL - 24) * math.log(value / self.x_low) / math.log(self.x_high / self.x_low)

    def y(self, value):
        return TOP + HEIGHT - HEIGHT * math.log(value / self.y_low) / math.log(self.y_high / self.y_low)

    def line(self, x1, y1, x2, y2, colour, dash=""):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"'
                          f'{f" stroke-dasharray={chr(34)}{dash}{chr(34)}" if dash else ""}/>')

    def text(self, x, y, words, anchor="start", size=12, weight="normal"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}">'
                          f'{html.escape(words)}</text>')

    def curve(self, points, colour, dash=""):
        path = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"'
                          f'{f" stroke-dasharray={chr(34)}{dash}{chr(34)}" if dash else ""}/>')
        self.parts += [f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="3" fill="{colour}"/>' for x, y in points]

    def bound(self, value, words, colour):
        if self.y_low <= value <= self.y_high:
            self.line(self.left, self.y(value), self.left + PANEL, self.y(value), colour, "6 3")
            self.text(self.left + PANEL - 4, self.y(value) - 4, words, anchor="end", size=10)


def shape(name, index_ours, index_theirs):
    """Colour and dash: ringcomm red, MPI blue and green, limits grey and dashed."""
    if name.startswith("ringcomm"):
        return OURS[index_ours % len(OURS)], ""
    if " x " in name and name[-1:].isdigit() and "MPI" not in name:
        return "#999999", "4 3"
    return THEIRS[index_theirs % len(THEIRS)], ""


def experiment_svg(name, place, cells, goals):
    """The SVG of one experiment at one placement, or None where there are no two sizes."""
    cells = sorted(cells, key=lambda cell: cell["size"])
    if len(cells) < 2:
        return None
    labels = {cell["size"]: cell["label"] for cell in cells}
    series = {}
    for cell in cells:
        for contender, one in cell["contenders"].items():
            series.setdefault(contender, []).append((cell["size"], one["median"]))
    field = next((one["field"] for cell in cells for one in cell["contenders"].values()), "us")
    times = [y for points in series.values() for _, y in points if y > 0]
    ratios = {goal["name"]: [(one["size"], one["ratio"]) for one in goal["sizes"]] for goal in goals if len(goal["sizes"]) > 1}
    panels = [Panel(LEFT, f"{name}, CPUs {place}", "us (median)" if field == "us" else FIELDS[field], list(labels), times, labels)]
    legend = []
    counts = [0, 0]
    for contender, points in series.items():
        colour, dash = shape(contender, *counts)
        counts[0 if contender.startswith("ringcomm") else 1] += 1
        panels[0].curve(points, colour, dash)
        legend.append((contender, colour, dash))
    if ratios:
        bounds = [(goal, key, goal[key]) for goal in goals for key in ("least", "aim") if goal["name"] in ratios and goal[key]]
        values = [y for points in ratios.values() for _, y in points] + [value for _, _, value in bounds]
        panels.append(Panel(LEFT + PANEL + GAP, "the goals' ratios (dashed: their aims)", "ratio", list(labels), values, labels))
        for index, (goal_name, points) in enumerate(ratios.items()):
            colour = (*OURS[:1], *THEIRS)[index % 11]
            panels[-1].curve(points, colour)
            legend.append((f"right: {goal_name}", colour, ""))
            aim = next((value for goal, key, value in bounds if key == "aim" and goal["name"] == goal_name), None)
            if aim:
                panels[-1].bound(aim, f"aim {aim:g}", colour)
    rows = (len(legend) + 2) // 3
    height = TOP + HEIGHT + 62 + 17 * rows
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH - 180}" height="{height}" viewBox="0 0 {WIDTH - 180} {height}" '
             'font-family="DejaVu Sans, Helvetica, sans-serif">', f'<rect width="{WIDTH}" height="{height}" fill="white"/>']
    for panel in panels:
        parts += panel.parts
    for index, (words, colour, dash) in enumerate(legend):
        x, y = LEFT - 40 + (index // rows) * 325, TOP + HEIGHT + 62 + 17 * (index % rows)
        parts.append(f'<line x1="{x}" y1="{y - 4}" x2="{x + 24}" y2="{y - 4}" stroke="{colour}" stroke-width="3"'
                     f'{f" stroke-dasharray={chr(34)}{dash}{chr(34)}" if dash else ""}/>')
        parts.append(f'<text x="{x + 30}" y="{y}" font-size="11">{html.escape(words)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def write_all(results, folder):
    """FOLDER/EXPERIMENT.svg at the placement with most sizes; the names that were written."""
    folder.mkdir(parents=True, exist_ok=True)
    groups, written = {}, []
    for cell in results["cells"]:
        groups.setdefault(cell["experiment"], {}).setdefault(cell["placement"], []).append(cell)
    for name, places in groups.items():
        place = max(places, key=lambda one: (len(places[one]), sum(len(cell["contenders"]) for cell in places[one])))
        goals = [goal for goal in results["goals"] if goal.get("experiment") == name and goal["placement"] == place]
        svg = experiment_svg(name, place, places[place], goals)
        if svg:
            (folder / f"{name}.svg").write_text(svg)
            written.append(name)
    return written

