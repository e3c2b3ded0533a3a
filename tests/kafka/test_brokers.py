#!/usr/bin/env python3
"""tests/kafka/test_brokers.py - brokers that restart, stand still or die, and topics that change or
vanish under a running job. The numbers are FAULTS entries."""
import concurrent.futures
import json
import pathlib
import shutil
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import brokers  # noqa: E402

LOGS = "kafka"


class Outages(brokers.OwnBroker):
    def setUp(self):
        super().setUp()
        self.create(self.topic, 4)
        self.create(self.out, 4)

    def test_broker__restarted_in_order_and_after_a_kill_under_load__totals_exact(self):
        job = self.count_job()
        with self.running(job) as process:
            with self.feeding(4):
                for number in (signal.SIGTERM, signal.SIGKILL):
                    self.wait_for_progress()
                    self.restart_broker(number)
                self.wait_for_progress()
            self.wait_for_counts()
            self.assertIsNone(process.poll(), self.said())
        self.check_rebuilt(job)

    def test_30_broker__still_for_longer_than_the_delivery_timeout__back_to_the_last_commit(self):
        """The same worker, without a restart: what it could not deliver is read again."""
        keys = [b"k%d" % i for i in range(100)]
        job = self.count_job(kafka=", message.timeout.ms: 3000", settings="commit_interval: 4s")
        with self.running(job) as process:
            for still in (False, True):  # the first commit comes at once, the second 4 s behind it
                for partition in range(4):
                    self.feed(*keys, partition=partition)
                self.fed.update(4 * [key.decode() for key in keys])
                if not still:
                    self.wait_for_counts()
            time.sleep(0.5)  # they are read, and not yet written
            self.signal_broker(signal.SIGSTOP)
            self.wait_for("the failed commit", lambda: "going back" in self.said(), 60)
            self.signal_broker(signal.SIGCONT)
            self.wait_for_counts()
            self.assertIsNone(process.poll(), self.said())
        self.check_rebuilt(job)


class Ending(brokers.BrokerFlow):
    """Jobs that end by themselves."""

    def make_topics(self):
        self.create(self.topic, 2)
        self.create(self.out, 2)

    def end_of(self, job, change):
        """Runs the job, changes something under it, and returns how it ended."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            ending = pool.submit(self.brine, *self.run_args(job), code=None, timeout=120)
            self.wait_for_counts()
            change()
            start = time.monotonic()
            done = ending.result()
        self.assertLess(time.monotonic() - start, 60)
        self.assertIn(done.returncode, (2, 3))
        return done.stderr.decode()

    def feed_both(self):
        for partition in range(2):
            self.feed(b"a", b"b", partition=partition)
        self.fed.update(2 * ["a", "b"])

    def check_vanished(self, topic, feed_after):
        self.make_topics()

        def vanish():
            self.delete_topic(topic)
            if feed_after:
                self.feed_both()
        self.feed_both()
        job = self.count_job()
        self.assertIn(topic, self.end_of(job, vanish))
        before = self.counts()
        for empty in (False, True):  # with its state, and without
            if empty:
                shutil.rmtree(self.state)
            said = self.brine(*self.run_args(job, "--until-end"), code=None)
            self.assertIn(said.returncode, (2, 3))
            self.assertIn(topic.encode(), said.stderr)
        self.assertEqual(before, self.counts())


class Vanishing(Ending):
    """11. Internal topics that are deleted while the job runs."""

    def test_11_changelog__deleted_under_a_busy_job__ended_with_the_reason(self):
        self.check_vanished(f"{self.job_name}-g-changelog", True)

    def test_11_changelog__deleted_under_a_job_at_rest__ended_with_the_reason(self):
        self.check_vanished(f"{self.job_name}-g-changelog", False)

    def test_11_repartition_topic__deleted_under_a_busy_job__ended_with_the_reason(self):
        self.check_vanished(f"{self.job_name}-g-repartition", True)


class Remade(brokers.OwnBroker, Vanishing):
    """As above where the broker makes a topic for whoever asks: a producer does."""
    SETTINGS = "auto.create.topics.enable=true"


class Partitions(Ending):
    def grow(self, topic, partitions):
        self.kafka("TopicCommand", "--alter", "--topic", topic, "--partitions", str(partitions))

    def test_13_source__partitions_added_under_two_stages__read_within_seconds(self):
        self.make_topics()
        job = self.count_job()
        self.feed_both()
        with self.running(job) as process:
            self.wait_for_counts()
            self.grow(self.topic, 4)
            for partition in range(4):
                self.feed(b"a", b"c", partition=partition)
            self.fed.update(4 * ["a", "c"])
            self.wait_for_counts(30)
            self.assertIsNone(process.poll(), self.said())
        summary = self.run_job(job)
        self.assertEqual((0, 0), (summary["records"], summary["restored"]))
        self.check_rebuilt(job)

    def test_13_source__partitions_added_under_one_stage__ended_before_a_record_is_read(self):
        """The producer's keys have moved; their state has not."""
        self.make_topics()
        job = self.count_job(source=", partitioned_by: [k]", by="k")
        self.put(self.topic, [(b"a", b'{"k": "a"}')])
        self.fed["a"] += 1

        def grow():
            self.grow(self.topic, 3)
            self.put(self.topic, [(b"a", b'{"k": "a"}')], partition=2)
        said = self.end_of(job, grow)
        for word in (f"{self.job_name}-g-changelog", "has 2 partitions", "wanted 3"):
            self.assertIn(word, said)
        self.assertEqual(self.fed, self.counts())


class Deleted(brokers.BrokerFlow):
    def set_policy(self, topic, policy):
        self.kafka("kafka.admin.ConfigCommand", "--alter", "--entity-type", "topics",
                   "--entity-name", topic, "--add-config", f"cleanup.policy=[{policy}]")

    def feed_rows(self, *keys):
        self.put(self.topic, [(None, b'{"k": "%s"}' % key) for key in keys])

    def test_01_changelog__begins_behind_the_checkpoint__restored_from_its_first_record(self):
        """What deletion took is gone, and said; the worker comes up with the rest."""
        self.create(self.topic, 1)
        job = self.count_job(source=", partitioned_by: [k]", by="k")
        changelog = f"{self.job_name}-g-changelog"
        self.feed_rows(b"a", b"b", b"a")
        self.run_job(job)
        other = self.work / "other"
        for _ in range(5):
            self.feed_rows(b"c")
            self.brine(*self.run_args(job, "--until-end", state=other))
        rows = [r.offset for r in self.dump(changelog) if b"c" in r.key]
        self.set_policy(changelog, "compact,delete")
        self.delete_records(changelog, rows[-1])
        self.set_policy(changelog, "compact")
        self.feed_rows(b"c")
        done = self.brine(*self.run_args(job, "--until-end"))
        self.assertEqual(1, done.stderr.count(b"deleted before they were restored"))
        self.assertEqual({"a": 2, "b": 1, "c": 6}, self.counts())
        found = self.brine("query", self.job_name, "g", "--state-dir", self.state, "--json",
                           flags=False).stdout.splitlines()
        self.assertEqual([("c", 6)], [(row["k"], row["n"]) for row in map(json.loads, found)])


if __name__ == "__main__":
    unittest.main(verbosity=2)
