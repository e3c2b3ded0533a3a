#!/usr/bin/env python3
"""tests/flow/test_faults_commit.py - a process killed at every step of a commit.

FAULTS 4 and 45: nothing lost, nothing counted twice, whatever the step, and however the keys are
salted; with the state folder kept and with an empty one.
"""
import itertools
import json
import pathlib
import random
import shutil
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import flow  # noqa: E402

LOGS = "local kafka"
GUARANTEES = ("at_least_once", "exactly_once")


@flow.needs_failpoints
class KilledCommits(flow.Flow):
    def setUp(self):
        super().setUp()
        self.topic, self.out = self.name("in"), self.name("out")

    def sum_job(self, number, guarantee="at_least_once"):
        """A job of its own for every case, over the same topic."""
        return self.job(f"""name: {self.name(f"job{number}")}
operators:
  - source: {{id: s, topic: {self.topic}}}
  - groupBy: {{id: g, by: ['unsalt(@key, "#")'],
              aggregate: {{n: count(), v: sum(v), mean: avg(v), least: min(v), most: max(v)}}}}
  - sink: {{topic: {self.out}-{number}}}
settings: {{commit_interval: 10ms, guarantee: {guarantee}{flow.SHORT_SESSION}}}
""")

    def run_killed(self, job, failpoint):
        """true: the failpoint was reached."""
        args = self.run_args(job, "--until-end")
        env = {**flow.os.environ, "BRINE_FAILPOINT": failpoint}
        done = flow.subprocess.run([*flow.BRINE, *map(str, args), *self.log_flags], env=env,
                                   capture_output=True, check=False, timeout=60 * flow.SLOWNESS)
        self.assertIn(done.returncode, (0, -signal.SIGKILL), done.stderr.decode())
        return done.returncode != 0

    def put_values(self, values, partitions, salts):
        for number, value in enumerate(values):
            key = b"camp-1#%d" % (number % salts)
            self.put(self.topic, [(key, b'{"v":%d}' % value)], number % partitions)

    def check(self, number, values, job_key="camp-1"):
        row = self.totals(f"{self.out}-{number}")[job_key]
        want = {"n": len(values), "v": sum(values), "mean": sum(values) / len(values),
                "least": min(values), "most": max(values)}
        self.assertEqual(want, {name: row[name] for name in want}, f"case {number}")

    def test_04_45_killed_at_each_step__of_each_commit__exact(self):
        values = [1, 2, 6, 40, 7]
        self.create(self.topic, 3)
        self.put_values(values, 3, 2)
        killed = set()
        commits = (2,) if flow.BROKER else (1, 2, 3, 4)  # each kill costs a session there
        cases = itertools.product(GUARANTEES, flow.KILL_POINTS, commits, (True, False))
        for number, (guarantee, point, nth, keep_state) in enumerate(cases):
            job = self.sum_job(number, guarantee)
            if self.run_killed(job, f"{point}:{nth}"):
                killed.add((guarantee, point))
            if not keep_state:
                shutil.rmtree(self.state, ignore_errors=True)
            self.run_job(job)
            self.check(number, values)
        self.assertEqual(set(itertools.product(GUARANTEES, flow.KILL_POINTS)), killed)

    def test_45_killed_again_and_again__salts_changed_between__exact(self):
        """Many crashes of one job, with new records, other salts and lost folders in between."""
        self.create(self.topic, 4)
        self.kill_again_and_again("at_least_once", 4501)

    def test_45_killed_again_and_again__exactly_once__exact(self):
        self.create(self.topic, 4)
        self.kill_again_and_again("exactly_once", 4503)

    def kill_again_and_again(self, guarantee, seed):
        rng, values = random.Random(seed), []
        job = self.sum_job("many", guarantee)
        for round_number in range(4 if flow.BROKER else 12):
            fresh = [rng.randrange(-5, 50) for _ in range(20)]
            self.put_values(fresh, 4, (2, 4, 3)[round_number % 3])
            values += fresh
            point = rng.choice(flow.KILL_POINTS)
            self.run_killed(job, f"{point}:{rng.randrange(1, 4)}")
            if rng.random() < 0.3:
                shutil.rmtree(self.state, ignore_errors=True)
            if rng.random() < 0.3:
                self.run_job(job)
                self.check("many", values)
        self.run_job(job)
        self.check("many", values)

    def test_04_start_after_the_last_step__restores_nothing(self):
        self.create(self.topic, 1)
        self.put_values([1, 2, 3], 1, 1)
        job = self.sum_job("done")
        for nth in range(1, 9):
            if not self.run_killed(job, f"commit.done:{nth}"):
                break
        summary = self.run_job(job)
        self.assertEqual((0, 0), (summary["records"], summary["restored"]))
        self.check("done", [1, 2, 3])

    def test_04_exactly_once__killed_behind_the_transaction__only_its_tail_is_restored(self):
        """A crash costs no local state: LMDB holds nothing that is not committed."""
        self.create(self.topic, 1)
        self.put_values(range(50), 1, 1)
        job = self.sum_job("tail", "exactly_once")
        self.run_job(job)
        self.put_values(range(50, 53), 1, 1)
        self.assertTrue(self.run_killed(job, "commit.acked"))
        summary = self.run_job(job)
        self.assertGreater(summary["restored"], 0)
        self.assertLess(summary["restored"], 6)  # what the last transaction wrote
        self.check("tail", range(53))


class Killed(flow.Flow):
    """kill -9 at any moment, without failpoints."""

    def test_45_kill_at_random_moments__while_records_arrive__exact(self):
        seed = 4502
        rng, want = random.Random(seed), {}
        topic, out = self.name("in"), self.name("out")
        self.create(topic, 4)
        job = self.job(f"""name: {self.name("killed")}
operators:
  - source: {{id: s, topic: {topic}}}
  - groupBy: {{id: g, by: [ad], aggregate: {{n: count(), v: sum(v)}}}}
  - sink: {{topic: {out}}}
settings: {{commit_interval: 10ms{flow.SHORT_SESSION}}}
""")
        for _ in range(3 if flow.BROKER else 8):
            with self.running(job) as process:
                for partition in range(4):
                    rows = [{"ad": f"ad_{rng.randrange(9)}", "v": rng.randrange(100)}
                            for _ in range(500)]
                    for row in rows:
                        count, total = want.get(row["ad"], (0, 0))
                        want[row["ad"]] = count + 1, total + row["v"]
                    self.put(topic, [(None, json.dumps(row).encode()) for row in rows], partition)
                flow.time.sleep(rng.uniform(0, 0.2))
                process.kill()
        self.run_job(job)
        got = {ad: (row["n"], row["v"]) for ad, row in self.totals(out).items()}
        self.assertEqual(want, got, f"seed {seed}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
