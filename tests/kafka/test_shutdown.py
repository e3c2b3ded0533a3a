#!/usr/bin/env python3
"""tests/kafka/test_shutdown.py - SIGTERM and SIGINT end a worker soon, whatever it is doing.

FAULTS 23. The promise is 10 s; a busy machine gets twice that. Every time is printed.
"""
import contextlib
import json
import pathlib
import random
import shutil
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
LIMIT_S = 20 * flow.SLOWNESS
SIGNALS = (signal.SIGTERM, signal.SIGINT)
GUARANTEES = ("at_least_once", "exactly_once")


class Stopping(brokers.BrokerFlow):
    """A counting job whose workers are told to stop."""

    def setUp(self):
        super().setUp()
        self.workers = []
        self.addCleanup(self.kill_all)

    def kill_all(self):
        for process in self.workers:
            process.kill()
            process.communicate()

    def worker_job(self, name, guarantee=GUARANTEES[0], interval="50ms", kafka=""):
        self.job_name = self.name(name)
        return self.count_job(kafka, f"commit_interval: {interval}, guarantee: {guarantee}")

    def start(self, job, state=None):
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            [*flow.BRINE, *map(str, self.run_args(job, "--json", state=state)), *self.log_flags],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.workers.append(process)
        return process

    def await_end(self, process, when, codes=(0,), limit=LIMIT_S):
        """Returns the summary's counts, and what was said."""
        begin = time.monotonic()
        try:
            out, said = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            self.fail(f"{when}: not ended after {limit} s")
        took = time.monotonic() - begin
        print(f"    {when}: ended with {process.returncode} after {took:.2f} s", flush=True)
        self.assertIn(process.returncode, codes, f"{when}: {said.decode()[-3000:]}")
        return (json.loads(out) if out.strip() else None), said.decode()

    def stop(self, process, when, number=signal.SIGTERM, codes=(0,), limit=LIMIT_S):
        process.send_signal(number)
        return self.await_end(process, when, codes, limit)

    def group(self, name):
        return groups.describe(self.log[1], name)

    def committed_offset(self, group):
        return groups.committed(self.log[1], group, self.topic)


class Shutdown(Stopping):
    def test_23_idle__told_to_stop__all_is_committed(self):
        self.create(self.topic, 1)
        self.feed(b"a", b"b", b"a")
        for guarantee in GUARANTEES:
            for number in SIGNALS:
                job = self.worker_job(f"{guarantee}-{number}", guarantee)
                process = self.start(job, self.work / f"{guarantee}-{number}")
                group = self.name(f"{guarantee}-{number}")
                self.wait_for("a commit", lambda g=group: self.committed_offset(g) == 3)
                self.stop(process, f"idle, {guarantee}, {number.name}", number)
                self.assertEqual("Empty", self.group(group).state, "it left the group")
                again = self.run_job(job, "--state-dir", self.work / f"{guarantee}-{number}")
                self.assertEqual((0, 0), (again["records"], again["restored"]))

    def test_23_start__told_to_stop_within_100_ms__ends(self):
        rng = random.Random(2301)
        self.create(self.topic, 4)
        self.feed(*(b"k%d" % i for i in range(1000)))
        job = self.worker_job("start")
        for turn in range(8):
            process, delay = self.start(job), rng.uniform(0.005, 0.1)
            number = SIGNALS[turn % 2]
            time.sleep(delay)
            # Before main() has begun the signal itself ends a process.
            self.stop(process, f"{delay * 1000:.0f} ms after the start", number, (0, -number))
        self.run_job(job)
        self.assertEqual({f"k{i}": 1 for i in range(1000)}, self.counts())

    def test_23_rebalance_that_waits_for_a_dead_member__told_to_stop__ends(self):
        self.create(self.topic, 6)
        job, group = self.worker_job("rebalance"), self.name("rebalance")
        stays, dies = (self.start(job, self.work / f"state{i}") for i in range(2))
        self.feed(*(b"k%d" % i for i in range(100)))
        self.wait_for("a group", lambda: self.group(group) == ("Stable", 2))
        self.wait_for("results", lambda: len(self.counts()) == 100)
        dies.kill()
        joins = self.start(job, self.work / "state2")
        self.wait_for("a rebalance", lambda: self.group(group) == ("PreparingRebalance", 3))
        for process in (stays, joins):
            process.send_signal(signal.SIGTERM)
        self.await_end(stays, "rebalance, a member")
        self.await_end(joins, "rebalance, a joining member")
        self.feed(b"k0")
        self.run_job(job)
        self.assertEqual({f"k{i}": 2 if i == 0 else 1 for i in range(100)}, self.counts())

    def test_23_rebalances__told_to_stop_at_any_moment__ends_and_loses_nothing(self):
        rng = random.Random(2302)
        self.create(self.topic, 6)
        job = self.worker_job("moments")
        fed = 0
        with self.running(job, state=self.work / "stays"):
            for turn in range(6):
                process = self.start(job, self.work / f"state{turn % 2}")
                self.feed(*(b"k%d" % i for i in range(fed, fed + 50)), partition=turn % 6)
                fed += 50
                delay = rng.uniform(0.1, 2.0)
                time.sleep(delay)
                self.stop(process, f"{delay:.2f} s after joining", SIGNALS[turn % 2])
        self.run_job(job)
        self.assertEqual({f"k{i}": 1 for i in range(fed)}, self.counts())

    def test_23_restore__told_to_stop__ends_and_keeps_what_it_read(self):
        """A record a batch and a batch a fetch, so that the restore takes its time."""
        count, slow = 20000, ", batch.size: 100, fetch.message.max.bytes: 100"
        self.create(self.topic, 1)
        self.feed(*(b"k%d" % i for i in range(count)))
        job = self.worker_job("restore", kafka=slow)
        self.run_job(job)
        shutil.rmtree(self.state)
        rows, restored = self.stop_within_a_restore(job)
        self.feed(b"k0", b"k%d" % (count - 1))
        summary = self.run_job(job, timeout=120)
        self.assertEqual(rows, restored + summary["restored"], "what was restored is kept")
        want = {f"k{i}": 1 for i in range(count)}
        self.assertEqual({**want, "k0": 2, f"k{count - 1}": 2}, self.counts())

    def stop_within_a_restore(self, job):
        """Finds out when that is. Returns the changelog's records, and how many were restored."""
        delay_s = 0.3
        for turn in range(16):
            process = self.start(job)
            time.sleep(delay_s)
            restored = self.stop(process, "restore", SIGNALS[turn % 2])[0]["restored"]
            rows = self.appended(f"{self.job_name}-g-changelog")
            if 0 < restored < rows:
                return rows, restored
            if restored > 0:
                shutil.rmtree(self.state)
            delay_s *= 0.75 if restored > 0 else 1.2
        return self.fail(f"never within the restore; the last waited {delay_s:.2f} s")

    def test_23_full_queues__told_to_stop__what_was_flushed_is_committed(self):
        """A producer queue of ten records that go out every 20 ms, behind a full source."""
        count = 200000
        self.create(self.topic, 1)
        self.put(self.topic, [(b"k%d" % i, b"v") for i in range(count)])
        for guarantee, number in zip(GUARANTEES, SIGNALS):
            out, group = self.name(f"out-{guarantee}"), self.name(f"full-{guarantee}")
            job = self.job(f"""name: {group}
operators:
  - source: {{id: s, topic: {self.topic}, format: none}}
  - sink: {{topic: {out}}}
settings: {{guarantee: {guarantee}, commit_interval: 500ms,
           kafka: {{session.timeout.ms: 6000, queue.buffering.max.messages: 10}}}}
""")
            process = self.start(job)
            self.wait_for("a commit", lambda g=group: self.committed_offset(g) > 0)
            summary, _ = self.stop(process, f"full queues, {guarantee}", number)
            committed = self.committed_offset(group)
            self.assertEqual(summary["records"], committed, "all that was read is committed")
            self.assertLess(committed, count, "the queues were never full")
            self.assertEqual([b"k%d" % i for i in range(committed)],
                             [record.key for record in self.dump(out)])


class StoppedBroker(Stopping, brokers.OwnBroker):
    """The broker does not answer any more: a worker can't commit, but it must end."""

    @contextlib.contextmanager
    def silent_broker(self):
        self.signal_broker(signal.SIGSTOP)
        try:
            yield
        finally:
            self.signal_broker(signal.SIGCONT)

    def test_23_silent_broker__told_to_stop__ends_and_loses_nothing(self):
        for guarantee in GUARANTEES:
            self.topic, self.out, want = f"in-{guarantee}", f"out-{guarantee}", {}
            self.create(self.topic, 1)
            self.create(self.out, 1)
            job = self.worker_job(guarantee, guarantee, interval="2s")
            for wait, when in ((0.0, "before a commit"), (4.0, "within a commit")):
                process = self.start(job, self.work / guarantee)
                self.feed(b"first")
                want["first"] = want.get("first", 0) + 1
                self.wait_for("a result", lambda w=dict(want): self.counts() == w)
                self.feed(b"second")  # read, and not committed for 2 s
                want["second"] = want.get("second", 0) + 1
                time.sleep(0.5)
                with self.silent_broker():
                    time.sleep(wait)
                    self.stop(process, f"silent broker, {when}, {guarantee}", codes=(0, 1, 2))
                self.run_job(job, "--state-dir", self.work / guarantee)
                self.assertEqual(want, self.counts())

    def test_23_silent_broker__at_the_start__told_to_stop__ends(self):
        self.create(self.topic, 1)
        with self.silent_broker():
            process = self.start(self.worker_job("start"))
            time.sleep(1)
            self.stop(process, "silent broker, at the start", codes=(0, 1, 2, 3))

    def test_silent_broker__second_signal__ends_at_once(self):
        self.create(self.topic, 1)
        self.create(self.out, 1)
        process = self.start(self.worker_job("twice", interval="2s"))
        self.feed(b"first")
        self.wait_for("a result", lambda: self.counts() == {"first": 1})
        self.feed(b"second")
        time.sleep(0.5)
        with self.silent_broker():
            process.send_signal(signal.SIGTERM)
            time.sleep(1)
            self.assertIsNone(process.poll(), "nothing to wait for: the second shows nothing")
            self.stop(process, "second signal", codes=(1, 2), limit=2 * flow.SLOWNESS)


if __name__ == "__main__":
    unittest.main(verbosity=2)
