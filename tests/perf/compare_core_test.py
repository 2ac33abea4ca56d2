# SPDX-License-Identifier: Apache-2.0
"""What perf/compare computes, against made-up samples whose medians and ratios are known."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "perf"))
import compare_core as core  # noqa: E402


def sample(contender, us, place=core.NEAR, size=1024, op="ring_rotate", medium="shm"):
    return {"op": op, "medium": medium, "size": size, "contender": contender, "us": us, "placement": place}


OURS = {("ring_rotate", "shm"): "ours"}


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


class StatisticsTest(unittest.TestCase):
    def test_median_and_spread_are_nearest_rank(self):
        one = core.summarise([4.0, 1.0, 3.0, 2.0])
        self.assertEqual(one["median_us"], 2.0)
        self.assertEqual(one["spread_pct"], 100 * (3.0 - 1.0) / 2.0)
        self.assertEqual((one["min_us"], one["max_us"], one["samples"]), (1.0, 4.0, 4))
        self.assertEqual(core.summarise([7.0])["spread_pct"], 0)


class ResultsTest(unittest.TestCase):
    def test_ratio_is_best_peer_over_ours(self):
        samples = [sample("ours", us) for us in (1, 2, 9)] + [sample("a", us) for us in (8, 8, 8)]
        samples += [sample("b", us) for us in (6, 5, 7)]
        (result,) = core.results_of(samples, OURS)
        self.assertEqual(result["best_peer"], "b")
        self.assertEqual(result["ratio"], 3.0)

    def test_placements_are_kept_apart_and_mixed_is_dropped(self):
        samples = [sample("ours", 1), sample("ours", 10, core.FAR), sample("ours", 1000, core.MIXED)]
        samples += [sample("a", 2), sample("a", 50, core.FAR), sample("a", 1, core.MIXED)]
        ratios = {result["placement"]: result["ratio"] for result in core.results_of(samples, OURS)}
        self.assertEqual(ratios, {core.NEAR: 2.0, core.FAR: 5.0})

    def test_one_side_alone_has_no_ratio(self):
        self.assertIsNone(core.results_of([sample("a", 1)], OURS)[0]["ratio"])
        self.assertIsNone(core.results_of([sample("ours", 1)], OURS)[0]["ratio"])
        self.assertEqual(core.results_of([], OURS), [])

    def test_table_names_sizes_and_ratio_once(self):
        samples = [sample("ours", 2), sample("a", 5), sample("ours", 3, size=65536), sample("a", 3, size=65536)]
        text = core.format_table(core.results_of(samples, OURS))
        self.assertIn("# ring_rotate over shm, near", text)
        lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
        self.assertEqual(lines[0], ["1K", "ours", "2.00", "0.0", "1", "2.50"])
        self.assertEqual(lines[1], ["1K", "a", "5.00", "0.0", "1"])
        self.assertEqual(lines[2][-1], "1.00")


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
