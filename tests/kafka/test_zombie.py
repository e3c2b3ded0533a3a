#!/usr/bin/env python3
"""tests/kafka/test_zombie.py - workers that stand still, lose their partitions, and wake up.

FAULTS 21 and 32. A worker stands still at a step of a commit, records on their way, for longer than
its session (and its transaction) lasts; another takes over and counts on; then the first goes on
where it was. At last the broker is made to compact, so that a restore finds only what stood last.
"""
import collections
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import brokers  # noqa: E402
import flow  # noqa: E402
import groups  # noqa: E402

LOGS = "kafka"
PARTITIONS, SEED = 4, 21
# What a commit has sent stays in the producer's queue until the commit waits for it.
IN_FLIGHT = ", linger.ms: 500"
STEPS = ("commit.flushed", "commit.acked", "commit.marked", "commit.stored")
# As brine makes them, but ready to be compacted as soon as the lag is taken away.
INTERNAL = ("cleanup.policy=compact", "message.timestamp.type=LogAppendTime", "segment.ms=100",
            "min.cleanable.dirty.ratio=0.01", "min.compaction.lag.ms=600000")


class Worker:
    def __init__(self, test, name, job, *options, failpoint=""):
        self.name, self.log = name, test.work / f"{name}.log"
        self.state = test.work / f"state-{name}"
        environment = {**os.environ, "BRINE_FAILPOINT": failpoint}
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                [*flow.BRINE, *map(str, test.run_args(job, "--json", "--verbose", *options,
                                                      state=self.state)), *test.log_flags],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)

    def signal(self, number):
        self.process.send_signal(number)

    def stands_still(self):
        stat = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii")
        return stat.rsplit(") ", 1)[1][0] == "T"

    def said(self):
        return self.log.read_text(errors="replace")

    def counted(self, name):
        """From the summary, which is the last line."""
        return json.loads(self.said().splitlines()[-1])[name]


@flow.needs_failpoints
class Zombie(brokers.OwnBroker):
    SETTINGS = ("log.cleaner.backoff.ms=100\nlog.initial.task.delay.ms=100\n"
                "transaction.abort.timed.out.transaction.cleanup.interval.ms=500")

    def setUp(self):
        super().setUp()
        self.workers = []
        self.addCleanup(self.kill_all)
        self.create(self.topic, PARTITIONS)
        self.create(self.out, 2)

    def kill_all(self):
        for worker in self.workers:
            worker.process.kill()
            worker.process.wait()

    def said(self):
        return "\n".join(f"---- {w.name}\n{w.said()[-2000:]}" for w in self.workers)

    def wait_for_members(self, count, seconds=40):
        def steady():
            return groups.describe(self.log[1], self.job_name) == ("Stable", count)
        self.wait_for(f"a group of {count}", steady, seconds)

    def internal(self):
        return [f"{self.job_name}-g-{kind}" for kind in ("changelog", "repartition")]

    # ---- zombies ----

    def start(self, *args, **how):
        self.workers.append(Worker(self, *args, **how))
        return self.workers[-1]

    def end(self, worker):
        worker.signal(signal.SIGTERM)
        self.assertEqual(0, worker.process.wait(30 * flow.SLOWNESS), worker.said()[-3000:])

    def run_a_zombie(self, job, failpoint, asleep_s):
        """A worker that stands still there, until another has its partitions and has counted."""
        zombie = self.start("zombie", job, failpoint=failpoint)
        self.wait_for("its failpoint", zombie.stands_still)
        since = time.monotonic()
        self.wait_for_members(1)
        self.wait_for_progress()
        self.wait_for("its transaction's end", lambda: time.monotonic() - since > asleep_s)
        zombie.signal(signal.SIGCONT)
        self.wait_for_members(2)
        self.wait_for_progress()
        self.end(zombie)

    def run_zombies(self, guarantee, asleep_s=0.0, kafka=""):
        rng = random.Random(f"{SEED} {guarantee}")
        job = self.count_job(IN_FLIGHT + kafka, f"commit_interval: 100ms, guarantee: {guarantee}")
        for topic in self.internal():
            self.create(topic, PARTITIONS, *INTERNAL)
        stays = self.start("stays", job)
        with self.feeding(PARTITIONS):
            self.wait_for_progress()
            for step in STEPS:
                self.run_a_zombie(job, f"{step}:{rng.randrange(3, 12)}:stop", asleep_s)
        self.touch_all()
        self.wait_for_counts()
        self.end(stays)
        return job, stays

    def touch_all(self):
        """A record more of every key: a zombie's result may stand last until its group changes."""
        keys = [b"k%d" % i for i in range(50)]
        self.feed(*keys)
        self.fed.update(key.decode() for key in keys)

    # ---- compaction ----

    def duplicates(self):
        """Records of the internal topics behind which the same key stands again."""
        count = 0
        for topic in self.internal():
            seen = collections.Counter((r.partition, r.key) for r in self.dump(topic))
            count += sum(seen.values()) - len(seen)
        return count

    def compact(self, job):
        """Returns when the cleaner has left little more than one record of each key."""
        before = self.duplicates()
        for topic in self.internal():
            self.kafka("kafka.admin.ConfigCommand", "--alter", "--entity-type", "topics",
                       "--entity-name", topic, "--add-config", "min.compaction.lag.ms=0")

        def compacted():  # the newest segment is never cleaned: new records make it an old one
            self.touch_all()
            self.run_job(job, "--state-dir", self.workers[0].state, timeout=120)
            return self.duplicates() < before / 4
        self.assertGreater(before, 200)
        self.wait_for("compaction", compacted, 90)

    def check_compacted(self, job):
        self.state = self.workers[0].state
        self.compact(job)
        self.assertEqual(self.fed, self.counts())
        self.check_rebuilt(job)

    # ---- tests ----

    def test_21_stopped_within_a_commit__wakes_up_after_another_took_over__exact(self):
        job, stays = self.run_zombies("at_least_once")
        joined, repairs = stays.said().count("foreign records"), stays.counted("repairs")
        print(f"    {joined} changelogs joined, {repairs} partials written again", flush=True)
        self.assertGreater(joined, 0, "no zombie's row came behind another owner's")
        self.assertGreater(repairs, 0, "no zombie's partial came behind another owner's")
        self.check_compacted(job)

    def test_32_stopped_within_a_transaction__wakes_up_after_its_timeout__exact(self):
        job, _ = self.run_zombies("exactly_once", 7.0, ", transaction.timeout.ms: 5000, "
                                  "message.timeout.ms: 4000, socket.timeout.ms: 4000")
        zombie = self.workers[1].said()
        self.assertIn("going back to the last commit", zombie, "no transaction was given up")
        self.check_forward()
        self.check_compacted(job)

    def check_forward(self):
        """A reader of committed records never sees a count go back."""
        seen = collections.Counter()
        for record in self.dump(self.out):
            count = json.loads(record.value)["n"]
            self.assertGreaterEqual(count, seen[record.key], record)
            seen[record.key] = count

    def test_32_two_workers_of_one_name__one_is_told_and_ends(self):
        job = self.count_job("", "commit_interval: 100ms, guarantee: exactly_once")
        with self.feeding(PARTITIONS):
            for name in ("a", "b"):
                self.start(name, job, "--name", "worker-1")
                self.wait_for_progress()
            ended = self.wait_for("the end of one", lambda: [
                worker for worker in self.workers if worker.process.poll() is not None], 60)
            self.assertEqual(1, len(ended), self.said())
            self.assertEqual(2, ended[0].process.returncode, self.said())
            self.assertIn("fenced", ended[0].said())
            self.wait_for_progress()
        self.wait_for_counts()


if __name__ == "__main__":
    unittest.main(verbosity=2)
