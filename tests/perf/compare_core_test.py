# SPDX-License-Identifier: Apache-2.0
"""What perf/compare computes, against made-up samples whose medians and ratios are known; its table of goals; its plots."""

import collections
import pathlib
import sys
import types
import unittest
import xml.dom.minidom

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "perf"))
import compare_core as core  # noqa: E402
import compare_goals as goals  # noqa: E402
import compare_plot as plot  # noqa: E402
import compare_report as report  # noqa: E402
import compare_run as run  # noqa: E402

KIB = 1024


def sample(contender, us, place=core.NEAR, turn=0, size=KIB, **answer):
    return {"experiment": "e", "size": size, "turn": turn, "contender": contender, "answer": {"us": us, **answer},
            "probe_ns": [50.0, 60.0], "placement": place}


def rounds(contender, times, place=core.NEAR, size=KIB):
    return [sample(contender, us, place, turn, size) for turn, us in enumerate(times)]


def goal(**more):
    fields = {"name": "g", "text": "", "experiment": "e", "memory": "window", "least": 2.0, "aim": 3.0,
              "over": (("a", "us"), ("b", "us")), "under": (("ours", "us"),), **more}
    return goals.Goal(**fields)


def judged(samples, asked=3, why="", any_size=False, **more):
    return core.judge(goal(**more), core.cells_of(samples), asked, why, any_size)


class PlacementTest(unittest.TestCase):
    def test_both_probes_decide(self):
        self.assertEqual(core.placement(50, 60, 120), core.NEAR)
        self.assertEqual(core.placement(250, 200, 120), core.FAR)

    def test_a_move_or_an_unsteady_pair_is_mixed(self):
        self.assertEqual(core.placement(50, 200, 120), core.MIXED)
        self.assertEqual(core.placement(200, 50, 120), core.MIXED)
        self.assertEqual(core.placement(130, 290, 120), core.MIXED)

    def test_one_cpu_has_no_distance(self):
        self.assertEqual(core.placement(0, 0, 120), core.NEAR)

    def test_rounds_count_per_placement_and_contender(self):
        samples = rounds("a", (1, 1, 1)) + rounds("b", (1, 1)) + rounds("b", (1, 1), core.FAR)
        self.assertFalse(core.has_rounds(samples, 3))
        self.assertTrue(core.has_rounds(samples, 2))
        self.assertFalse(core.has_rounds(rounds("a", (1, 1), core.MIXED), 1))


class StatisticsTest(unittest.TestCase):
    def test_median_and_spread_are_nearest_rank(self):
        one = core.summarise([4.0, 1.0, 3.0, 2.0])
        self.assertEqual(one["median"], 2.0)
        self.assertEqual(one["spread_pct"], 100 * (3.0 - 1.0) / 2.0)
        self.assertEqual((one["min"], one["max"], one["samples"]), (1.0, 4.0, 4))


class GoalTest(unittest.TestCase):
    def test_ratio_is_best_peer_over_ours(self):
        (entry,) = judged(rounds("ours", (1, 2, 9)) + rounds("a", (8, 8, 8)) + rounds("b", (6, 5, 7)))
        self.assertEqual((entry["ratio"], entry["met"], entry["least_met"]), (3.0, True, True))
        self.assertIn("against b", entry["reason"])
        self.assertEqual(core.verdict(entry), "met")

    def test_spread_is_that_of_single_rounds(self):
        (entry,) = judged(rounds("ours", (1, 1, 1)) + rounds("a", (2, 3, 4)))
        self.assertEqual(entry["spread"], round(100 * (4 - 2) / 3, 1))

    def test_the_worst_size_counts(self):
        samples = rounds("ours", (1, 1, 1)) + rounds("a", (5, 5, 5))
        samples += rounds("ours", (2, 2, 2), size=64 * KIB) + rounds("a", (5, 5, 5), size=64 * KIB)
        (entry,) = judged(samples)
        self.assertEqual((entry["ratio"], entry["met"], core.verdict(entry)), (2.5, False, "least met"))
        self.assertIn("worst at 64K", entry["reason"])
        self.assertEqual(judged(samples, sizes=(KIB,))[0]["ratio"], 5.0)
        self.assertIsNone(judged(samples, sizes=(7,))[0]["ratio"])
        self.assertEqual(judged(samples, sizes=(7,), any_size=True)[0]["ratio"], 2.5)

    def test_at_most_goals_take_the_largest(self):
        samples = rounds("ours", (4, 4, 4)) + rounds("a", (2, 2, 2))
        more = {"over": (("ours", "us"),), "under": (("a", "us"),), "at_least": False}
        (entry,) = judged(samples, least=1.5, aim=1.1, **more)
        self.assertEqual((entry["ratio"], entry["met"], entry["least_met"], core.verdict(entry)), (2.0, False, False, "missed"))
        self.assertTrue(judged(samples, least=3.0, aim=2.0, **more)[0]["met"])

    def test_placements_have_their_own_entries_and_bounds(self):
        samples = rounds("ours", (1, 1, 1)) + rounds("a", (2.5, 2.5, 2.5))
        samples += rounds("ours", (1, 1, 1), core.FAR) + rounds("a", (2.5, 2.5, 2.5), core.FAR)
        samples += rounds("ours", (9, 9, 9), core.MIXED)
        entries = {entry["placement"]: entry for entry in judged(samples, aim={"near": 3.0, "far": 2.0})}
        self.assertEqual((entries["near"]["met"], entries["far"]["met"]), (False, True))
        unbound = {entry["placement"]: entry for entry in judged(samples, least={"near": 1.0}, aim={"near": 2.0})}
        self.assertIsNone(unbound["far"]["met"])
        self.assertIn("for far CPUs", unbound["far"]["reason"])

    def test_too_few_rounds_are_not_judged(self):
        samples = rounds("ours", (1, 1)) + rounds("a", (9, 9))
        (entry,) = judged(samples)
        self.assertEqual((entry["ratio"], entry["met"], core.verdict(entry)), (None, None, "not measured"))
        self.assertIn("rounds", entry["reason"])

    def test_a_missing_side_is_null_with_its_reason(self):
        for samples in (rounds("ours", (1, 1, 1)), rounds("a", (1, 1, 1)), []):
            (entry,) = judged(samples, why="mpirun is not installed")
            self.assertEqual((entry["ratio"], entry["met"]), (None, None))
            self.assertEqual(entry["reason"], "mpirun is not installed")

    def test_columns_and_the_probe_are_fields(self):
        samples = [sample("ours", 10, turn=turn, extras={"local(us)": 5}) for turn in range(3)]
        more = {"over": (("ours", "us"),), "at_least": False}
        self.assertEqual(judged(samples, under=(("ours", "local(us)"),), **more)[0]["ratio"], 2.0)
        self.assertEqual(judged(samples, under=(("ours", "probe"),), **more)[0]["ratio"], 10 / 0.05)
        self.assertEqual(judged(samples, under=(), scale=3.0, **more)[0]["ratio"], 30.0)


class TableTest(unittest.TestCase):
    def test_every_goal_names_contenders_that_take_part(self):
        self.assertEqual(len({one.name for one in goals.GOALS}), len(goals.GOALS))
        for one in goals.GOALS:
            experiment = goals.EXPERIMENTS[one.experiment]
            present = {contender.name for contender in experiment.contenders}
            self.assertLessEqual({name for name, _ in one.over + one.under}, present, one.name)
            self.assertLessEqual(set(one.sizes), set(experiment.sizes), one.name)
            self.assertTrue(one.over or one.under, one.name)

    def test_every_experiment_names_each_contender_once_and_is_listed(self):
        listing = report.listing(goals.GOALS, goals.EXPERIMENTS)
        for one in goals.EXPERIMENTS.values():
            names = [contender.name for contender in one.contenders]
            self.assertEqual(len(set(names)), len(names), one.name)
            self.assertIn(f"{one.name}: ", listing)

    def test_aims_are_not_weaker_than_the_least(self):
        for one in goals.GOALS:
            for place in (core.NEAR, core.FAR):
                least, aim = core.bound_at(one.least, place), core.bound_at(one.aim, place)
                if least is not None and aim is not None:
                    self.assertTrue(core.reaches(one, aim, least), one.name)


class ReportTest(unittest.TestCase):
    def setUp(self):
        self.experiments = {"e": goals.Experiment("e", (), (KIB, 64 * KIB), (KIB,))}
        self.samples = [one for size in (KIB, 64 * KIB)
                        for one in rounds("ringcomm, x", (2, 2, 2), size=size) + rounds("MPI <a>", (5, 5, 5), size=size)]
        self.cells = report.cell_rows(core.cells_of(self.samples), self.experiments)
        self.goals = judged(self.samples, over=(("MPI <a>", "us"),), under=(("ringcomm, x", "us"),))

    def test_tables_have_contenders_down_and_sizes_across(self):
        lines = report.table_lines(self.cells)
        self.assertEqual(lines[2].split(), ["#", "1K", "64K"])
        self.assertEqual(lines[3].split(), ["ringcomm,", "x", "2", "2"])

    def test_a_table_shows_what_all_contenders_answer(self):
        for sample in self.samples:
            sample["answer"]["gflops"] = 7.0
            if sample["contender"] == "MPI <a>":
                del sample["answer"]["us"]
        lines = report.table_lines(report.cell_rows(core.cells_of(self.samples), self.experiments))
        self.assertIn("GFLOP/s", lines[1])
        self.assertEqual([line.split()[-1] for line in lines[3:]], ["7", "7"])

    def test_a_goal_is_one_line(self):
        line = report.goal_lines(self.goals)[1]
        self.assertEqual(line.split()[:9], ["g", "near", "2.5", "x", "0", ">=", "2", ">=", "3"])
        self.assertIn("least met: window; worst at 1K, against MPI <a>", line)

    def test_a_plot_is_xml_with_every_series(self):
        svg = plot.experiment_svg("e", "near", self.cells, self.goals)
        document = xml.dom.minidom.parseString(svg)
        self.assertEqual(len(document.getElementsByTagName("polyline")), 3)  # two times, one ratio
        self.assertIn("MPI &lt;a&gt;", svg)
        self.assertIsNone(plot.experiment_svg("e", "near", self.cells[:1], self.goals))


class Answering:
    """A contender that answers so many times, then never again."""

    def __init__(self, name, answers):
        self.name, self.left = name, answers

    def ask(self, line, seconds):
        self.left -= 1
        if self.left < 0:
            raise run.ContenderFailed(f"{self.name} gave no answer to '{line}' in {seconds} s")
        return {"us": 2.0}


class SamplingTest(unittest.TestCase):
    def sample(self, *children):
        children, dropped = list(children), []

        def drop(child, error):
            dropped.append((child.name, str(error)))
            children.remove(child)

        options = types.SimpleNamespace(seconds=1, rounds=3, quick=False, near_below=120)
        samples = run.sample_size(goals.Experiment("e", (), (KIB,), (KIB,)), KIB, children, lambda: 50, options,
                                  run.Progress(is_terminal=False), drop)
        return collections.Counter(sample["contender"] for sample in samples), dropped

    def test_everybody_has_its_rounds(self):
        self.assertEqual(self.sample(Answering("a", 99), Answering("b", 99)), ({"a": 3, "b": 3}, []))

    def test_one_that_stops_answering_does_not_stop_the_others(self):
        counts, dropped = self.sample(Answering("a", 99), Answering("b", 2), Answering("c", 99))
        self.assertEqual(counts, {"a": 3, "b": 1, "c": 3})
        self.assertEqual([name for name, _ in dropped], ["b"])
        self.assertIn("gave no answer", dropped[0][1])

    def test_nobody_left_is_the_end(self):
        self.assertEqual(self.sample(Answering("a", 1))[0], {})


class SizeTest(unittest.TestCase):
    def test_sizes_are_binary(self):
        self.assertEqual([core.parse_size(text) for text in ("17", "64K", "1m", "2G")],
                         [17, 65536, 1 << 20, 2 << 30])
        self.assertEqual([core.format_size(size) for size in (17, 65536, 1 << 20, 2 << 30)], ["17", "64K", "1M", "2G"])
        for text in ("", "K", "-1", "0", "64Q", "1.5K"):
            with self.assertRaises(ValueError):
                core.parse_size(text)


if __name__ == "__main__":
    unittest.main()
