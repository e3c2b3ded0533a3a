#!/usr/bin/env python3
"""tests/kafka/test_faults_broker.py - faults that only a real broker shows.

The numbers are FAULTS entries. 8 (gaps before the end) and the consumer's own rebalances are in
test_log_kafka.c, below the runtime.
"""
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import brokers  # noqa: E402

LOGS = "kafka"


class Broker(brokers.BrokerFlow):
    def test_09_source__records_deleted_before_they_were_read__told_never_silent(self):
        self.create(self.topic, 1)
        job = self.count_job()
        self.feed(*[b"a"] * 5)
        self.run_job(job)
        self.feed(*[b"a"] * 5)
        self.delete_records(self.topic, 8)
        done = self.brine(*self.run_args(job, "--until-end", "--json"), code=None)
        if done.returncode == 0:  # goes on: says what is lost, and counts the rest
            self.assertIn(b'"lost":3', done.stdout)
            self.assertEqual({"a": 7}, self.counts())
        else:
            self.assertIn(b"5", done.stderr)
            self.assertIn(b"8", done.stderr)
            self.assertEqual({"a": 5}, self.counts())

    def test_09_group__deleted_beside_its_state__counts_nothing_twice(self):
        self.create(self.topic, 1)
        job = self.count_job()
        self.feed(*[b"a"] * 5)
        self.run_job(job)
        self.kafka("consumer.group.ConsumerGroupCommand", "--delete", "--group", self.job_name)
        self.run_job(job)
        self.assertEqual({"a": 5}, self.counts())
        self.feed(b"a")
        self.run_job(job)
        self.assertEqual({"a": 6}, self.counts())

    def test_13_source__partition_added_under_its_state__two_stages_count_on(self):
        """The key's records go to another partition now; one stage: test_brokers.py."""
        self.create(self.topic, 3)
        self.feed(b"k2", b"k2")
        self.run_job(self.count_job())
        self.kafka("TopicCommand", "--alter", "--topic", self.topic, "--partitions", "4")
        self.feed(b"k2", partition=1)
        done = self.brine(*self.run_args(self.count_job(), "--until-end"))
        self.assertIn(f"{self.job_name}-g-changelog".encode(), done.stderr)
        self.assertEqual({"k2": 3}, self.counts())

    def test_source__deleted_and_made_again__refused_never_taken_for_read(self):
        """Versions are source offsets: new records at old offsets would be skipped as old."""
        self.create(self.topic, 1)
        self.feed(b"a", b"a", b"a")
        self.run_job(self.count_job())
        self.delete_topic(self.topic)
        self.create(self.topic, 1)
        self.feed(*[b"b"] * 5)
        done = self.brine(*self.run_args(self.count_job(), "--until-end"), code=None)
        self.assertIn(done.returncode, (2, 3))
        self.assertIn(b"made again", done.stderr)
        self.assertEqual({"a": 3}, self.counts())

    def test_19_rebalances__workers_come_and_go__every_record_once(self):
        partitions, count = 6, 6000
        self.create(self.topic, partitions)
        self.create(self.out, partitions)
        job = self.count_job()
        fed = 0
        with self.running(job):
            for _ in range(3):
                fed = self.feed_some(fed, count // 6, partitions)
                with self.running(job, state=self.work / "second"):
                    fed = self.feed_some(fed, count // 6, partitions)
                    time.sleep(2)
            self.wait_for("all counted", lambda: len(self.counts()) == fed, 60)
        self.run_job(job)
        self.assertEqual({f"k{i}": 1 for i in range(fed)}, self.counts())

    def feed_some(self, begin, count, partitions):
        keys = [b"k%d" % i for i in range(begin, begin + count)]
        for partition in range(partitions):
            self.feed(*keys[partition::partitions], partition=partition)
        return begin + count

    def test_31_producer_queue__of_ten_records__all_results_arrive(self):
        self.create(self.topic, 1)
        self.put(self.topic, [(b"k%04d" % i, b"v%d" % i) for i in range(1000)])
        job = self.job(f"""name: {self.job_name}
operators:
  - source: {{id: s, topic: {self.topic}, format: none}}
  - sink: {{topic: {self.out}}}
settings: {{kafka: {{queue.buffering.max.messages: 10}}}}
""")
        self.run_job(job)
        self.assertEqual([(b"k%04d" % i, b"v%d" % i) for i in range(1000)],
                         [(r.key, r.value) for r in self.dump(self.out)])


if __name__ == "__main__":
    unittest.main(verbosity=2)
