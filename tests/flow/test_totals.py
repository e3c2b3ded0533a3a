#!/usr/bin/env python3
"""tests/flow/test_totals.py - exact totals per ad, however the clicks were spread."""
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import flow  # noqa: E402

LOGS = "local kafka"
COUNT = 200000 // min(flow.SLOWNESS, 10)
EXAMPLE = (flow.ROOT / "jobs/examples/ad-clicks.yaml").read_text(encoding="utf-8")
SALTED = ("--key", "ad_id", "--salt", "10")


class Totals(flow.Flow):
    """The job file of the README, on 200,000 clicks of which half are one ad's."""

    def setUp(self):
        super().setUp()
        self.clicks, self.out = self.name("ad-clicks"), self.name("clicks-per-ad")
        self.job_name = self.name("job")
        text = EXAMPLE
        for old, new in (("name: ad-clicks", f"name: {self.job_name}"),
                         ("topic: ad-clicks", f"topic: {self.clicks}"),
                         ("topic: clicks-per-ad", f"topic: {self.out}")):
            self.assertEqual(1, text.count(old), f"the example no longer says `{old}` once")
            text = text.replace(old, new)
        if flow.SHORT_SESSION:
            text += f"settings: {{commit_interval: 1s{flow.SHORT_SESSION}}}\n"
        self.example = self.job(text)

    def click_lines(self, count=COUNT, seed=1):
        return self.generate("ad-clicks", count, "--hot", "0.5", "--seed", str(seed))

    def send(self, lines, *keys):
        self.produce(self.clicks, lines, *keys, "--partitions", "12")

    def check(self, lines):
        """Digit for digit: every ad, count, integer sum and float sum; nothing else."""
        want, got = flow.spend_of(lines), self.totals(self.out)
        self.assertEqual(want.keys(), got.keys())
        for ad, totals in want.items():
            self.assertEqual(totals, {name: got[ad][name] for name in totals})

    def run_on(self, lines, *keys):
        self.send(lines, *keys)
        summary = self.run_job(self.example)
        self.assertEqual(len(lines), summary["records"])
        self.assertEqual(0, summary["dead_letters"] + summary["skipped"] + summary["null_keys"])
        self.check(lines)
        return summary

    def test_salted_keys__run__equal_a_plain_count(self):
        lines = self.click_lines()
        self.assertAlmostEqual(0.5, flow.spend_of(lines)["ad_7"]["clicks"] / COUNT, delta=0.02)
        self.run_on(lines, *SALTED)

    def test_dropped_keys__run__equal_a_plain_count(self):
        self.run_on(self.click_lines())

    def test_compound_keys__run__equal_a_plain_count(self):
        self.run_on(self.click_lines(), "--key", 'concat(ad_id, ":", region)')

    def test_plain_keys__run__equal_a_plain_count(self):
        self.run_on(self.click_lines(), "--key", "ad_id")

    def test_salt_changed_half_way__run__equal_a_plain_count(self):
        lines = self.click_lines()
        self.send(lines[:COUNT // 2], *SALTED)
        self.run_job(self.example)
        self.send(lines[COUNT // 2:], "--key", "ad_id", "--salt", "3")
        summary = self.run_job(self.example)
        self.assertEqual(COUNT - COUNT // 2, summary["records"])
        self.check(lines)

    def test_second_run__empty_state_folder__restores_and_stays_exact(self):
        first, second = self.click_lines(seed=1), self.click_lines(COUNT // 10, seed=2)
        self.run_on(first, *SALTED)
        shutil.rmtree(self.state)
        self.assertEqual(0, self.run_job(self.example)["records"])
        self.check(first)
        self.send(second, *SALTED)
        shutil.rmtree(self.state)
        summary = self.run_job(self.example)
        self.assertEqual(len(second), summary["records"])
        self.assertGreater(summary["restored"], 0)
        self.check(first + second)

    def test_second_run__same_state_folder__reads_nothing_again(self):
        lines = self.click_lines(COUNT // 10)
        self.run_on(lines, *SALTED)
        sent = self.appended(self.out)
        summary = self.run_job(self.example)
        self.assertEqual((0, 0), (summary["records"], summary["restored"]))
        self.assertEqual(sent, self.appended(self.out))

    def test_second_run__killed_in_between__exact(self):
        lines = self.click_lines(COUNT // 10)
        self.send(lines, *SALTED)
        self.create(self.out, 12)
        with self.running(self.example) as process:
            self.wait_for("first results", lambda: self.appended(self.out) > 0)
            process.kill()
        self.run_job(self.example)
        self.check(lines)

    def test_repartition_topic__one_commit__at_most_groups_times_partitions(self):
        """Whatever the number of clicks: a hot ad costs one partial a partition and commit."""
        lines = self.generate("ad-clicks", COUNT, "--hot", "0.5", "--ads", "100")
        self.send(lines, *SALTED)
        text = self.example.read_text(encoding="utf-8").split("settings:")[0]
        text += "settings: {commit_interval: 1h}\n"
        summary = self.run_job(self.job(text))
        self.check(lines)
        sent = self.appended(f"{self.job_name}-per_ad-repartition")
        self.assertEqual(sent, summary["partials"])
        # Tasks that start one after the other share no commit: a few, whatever COUNT is.
        self.assertLessEqual(sent, 100 * 12 * summary["commits"])
        self.assertLess(sent, COUNT / 10)
        self.assertGreaterEqual(sent, 100)


if __name__ == "__main__":
    unittest.main(verbosity=2)
