#!/usr/bin/env python3
"""tests/flow/test_threads.py - several pipeline threads in one worker: restores, restarts, kills.

Built with BR_SANITIZE=thread as well (tests/run.sh), where a data race ends brine with code 66.
"""
import pathlib
import random
import shutil
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import flow  # noqa: E402

LOGS = "local kafka"
COUNT = 20000 // min(flow.SLOWNESS, 10)
PARTITIONS = 12
SEED = 4


class Threads(flow.Flow):
    def setUp(self):
        super().setUp()
        self.clicks, self.out = self.name("clicks"), self.name("totals")
        self.job_name = self.name("job")
        self.create(self.clicks, PARTITIONS)
        self.create(self.out, PARTITIONS)
        self.sent = []
        self.two_stages = self.click_job("")

    def click_job(self, source):
        return self.job(f"""name: {self.job_name}
operators:
  - source: {{id: clicks, topic: {self.clicks}{source}}}
  - map: {{set: {{spend: "cost_micros / 1000000"}}}}
  - groupBy:
      id: per_ad
      by: [ad_id]
      aggregate: {{clicks: count(), cost_micros: sum(cost_micros), spend: sum(spend)}}
  - sink: {{topic: {self.out}}}
settings: {{threads: 3, commit_interval: 20ms{flow.SHORT_SESSION}}}
""")

    def send(self, *keys, count=COUNT):
        seed = str(SEED + len(self.sent))
        lines = self.generate("ad-clicks", count, "--hot", "0.3", "--ads", "500", "--seed", seed)
        self.produce(self.clicks, lines, *(keys or ("--key", "ad_id", "--salt", "10")))
        self.sent += lines

    def check(self):
        """Digit for digit: every ad, count, integer sum and float sum; nothing else."""
        self.assertEqual(flow.spend_of(self.sent), self.totals(self.out))

    def test_three_threads__runs_on_kept_and_empty_state__exact(self):
        self.send()
        self.assertEqual(COUNT, self.run_job(self.two_stages)["records"])
        self.check()
        for empty in (False, True, False, True):
            if empty:
                shutil.rmtree(self.state)
            self.send(count=COUNT // 10)
            summary = self.run_job(self.two_stages)
            self.assertEqual(COUNT // 10, summary["records"])
            self.assertEqual(empty, summary["restored"] > 0)
            self.check()

    def test_three_threads__one_stage__runs_on_kept_and_empty_state__exact(self):
        job = self.click_job(", partitioned_by: [ad_id]")
        for empty in (False, False, True):
            if empty:
                shutil.rmtree(self.state)
            self.send("--key", "ad_id")
            summary = self.run_job(job)
            self.assertEqual((COUNT, 0), (summary["records"], summary["partials"]))
            self.assertEqual(empty, summary["restored"] > 0)
            self.check()

    def test_worker__stopped_by_sigterm_and_started_again__reads_no_changelog_record(self):
        self.send()
        with self.running(self.two_stages):
            self.wait_for("first results", lambda: self.appended(self.out) > 0)
            self.send(count=COUNT // 10)
        first = self.run_job(self.two_stages)
        self.check()
        self.assertEqual(0, first["restored"])
        second = self.run_job(self.two_stages)
        self.assertEqual((0, 0), (second["records"], second["restored"]))

    def test_three_threads__killed_at_random_moments__exact(self):
        rng = random.Random(SEED)
        print(f"seed {SEED}")
        for kill in range(6):
            self.send(count=COUNT // 4)
            with self.running(self.two_stages) as process:
                time.sleep(rng.uniform(0.05, 0.5) * min(flow.SLOWNESS, 4))
                process.kill()
            if kill % 3 == 2:  # the restore of it all may be killed as well
                shutil.rmtree(self.state, ignore_errors=True)
        self.run_job(self.two_stages)
        self.check()

    @flow.needs_failpoints
    def test_three_threads__killed_at_each_step_of_a_commit__exact(self):
        for number, point in enumerate(flow.KILL_POINTS):
            self.send(count=COUNT // 10)
            self.brine(*self.run_args(self.two_stages), code=-9,
                       env={"BRINE_FAILPOINT": f"{point}:{number + 2}"})
            if number % 2:
                shutil.rmtree(self.state)
        self.run_job(self.two_stages)
        self.check()


if __name__ == "__main__":
    unittest.main(verbosity=2)
