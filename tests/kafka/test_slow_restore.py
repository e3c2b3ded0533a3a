#!/usr/bin/env python3
"""tests/kafka/test_slow_restore.py - a restore that takes longer than max.poll.interval.ms.

FAULTS 22. The group is served meanwhile: the worker stays the member that it is, and nothing is
restored twice.
"""
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import flow  # noqa: E402

LOGS = "kafka"
GROUPS, STEP_MS, POLL_INTERVAL_S = 1200, 10, 6


@flow.needs_failpoints
class SlowRestore(flow.Flow):
    def test_22_restore__longer_than_the_poll_interval__one_assignment_and_one_restore(self):
        topic, out = self.name("in"), self.name("out")
        self.create(topic, 1)
        job = self.job(f"""name: {self.name("job")}
operators:
  - source: {{id: s, topic: {topic}}}
  - groupBy: {{id: g, by: ["@key"], aggregate: {{n: count()}}}}
  - sink: {{topic: {out}}}
settings:
  kafka: {{max.poll.interval.ms: {POLL_INTERVAL_S * 1000}, session.timeout.ms: 6000}}
""")
        self.put(topic, [(b"k%d" % i, b"{}") for i in range(GROUPS)])
        written = self.run_job(job)["changelog"]
        self.assertEqual(GROUPS, written)
        shutil.rmtree(self.state)
        self.put(topic, [(b"k900", b"{}")])
        summary = self.run_job(job, "--verbose", env={
            "BRINE_FAILPOINT": f"restore.record={STEP_MS}"}, timeout=120)
        self.assertGreater(summary["milliseconds"], POLL_INTERVAL_S * 1000)
        # Rows and markers, once each: a second assignment would have restored them again.
        self.assertLess(summary["restored"], GROUPS + 100)
        self.assertEqual(2, self.totals(out)["k900"]["n"])
        self.assertEqual(GROUPS, len(self.totals(out)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
