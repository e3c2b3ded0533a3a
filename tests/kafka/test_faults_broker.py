#!/usr/bin/env python3
"""tests/kafka/test_faults_broker.py - faults that only a real broker shows.

The numbers are FAULTS entries. 8 (gaps before the end) and the consumer's own rebalances are in
test_log_kafka.c, below the runtime.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import flow  # noqa: E402

LOGS = "kafka"


class BrokerFlow(flow.Flow):
    def setUp(self):
        super().setUp()
        self.topic, self.out = self.name("in"), self.name("out")
        self.job_name = self.name("job")

    def count_job(self, settings="", aggregate="n: count()"):
        return self.job(f"""name: {self.job_name}
operators:
  - source: {{id: s, topic: {self.topic}}}
  - groupBy: {{id: g, by: ["@key"], aggregate: {{{aggregate}}}}}
  - sink: {{topic: {self.out}}}
settings: {{commit_interval: 50ms, kafka: {{session.timeout.ms: 6000{settings}}}}}
""")

    def feed(self, *keys, partition=0):
        self.put(self.topic, [(key, b"{}") for key in keys], partition)

    def counts(self):
        return {key: row["n"] for key, row in self.totals(self.out).items()}


class Broker(BrokerFlow):
    def kafka(self, tool, *args):
        """One of Kafka's own command-line tools, from the broker's jars."""
        jars = pathlib.Path(flow.BROKER).parent / "lib/*"
        command = ["java", "-cp", str(jars), f"org.apache.kafka.tools.{tool}", "--bootstrap-server",
                   self.log[1], *args]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def delete_records(self, topic, offset):
        path = self.work / "delete.json"
        path.write_text('{"version":1,"partitions":[{"topic":"%s","partition":0,"offset":%d}]}'
                        % (topic, offset), encoding="ascii")
        self.kafka("DeleteRecordsCommand", "--offset-json-file", str(path))

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

    def test_13_source__partition_added_under_a_running_state__refused(self):
        self.create(self.topic, 3)
        self.feed(b"k2", b"k2")
        self.run_job(self.count_job())
        self.kafka("TopicCommand", "--alter", "--topic", self.topic, "--partitions", "4")
        self.feed(b"k2", partition=1)
        done = self.brine(*self.run_args(self.count_job(), "--until-end"), code=3)
        self.assertIn(f"{self.job_name}-g-changelog".encode(), done.stderr)
        self.assertEqual({"k2": 2}, self.counts())

    def test_source__deleted_and_made_again__refused_never_taken_for_read(self):
        """Versions are source offsets: new records at old offsets would be skipped as old."""
        self.create(self.topic, 1)
        self.feed(b"a", b"a", b"a")
        self.run_job(self.count_job())
        self.kafka("TopicCommand", "--delete", "--topic", self.topic)
        self.wait_for("the topic to go", lambda: f'"{self.topic}"' not in self.topics())
        self.create(self.topic, 1)
        self.feed(*[b"b"] * 5)
        done = self.brine(*self.run_args(self.count_job(), "--until-end"), code=None)
        self.assertIn(done.returncode, (2, 3))
        self.assertIn(b"made again", done.stderr)
        self.assertEqual({"a": 3}, self.counts())

    def topics(self):
        return self.brine("topics", "--json").stdout.decode()

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


class OwnBroker(BrokerFlow):
    """Tests that stop their broker for a while have one of their own."""

    def setUp(self):
        super().setUp()
        self.broker = self.work / "broker"
        script = str(flow.ROOT / "tests/support/broker.sh")
        environment = {**os.environ, "BRINE_TEST_CACHE": str(pathlib.Path(flow.BROKER).parent)}
        done = subprocess.run(["sh", script, "start", str(self.broker)], env=environment,
                              stdout=subprocess.PIPE, check=True, timeout=120)
        self.addCleanup(subprocess.run, ["sh", script, "stop", str(self.broker)], check=False)
        self.use_log("kafka", done.stdout.decode().split()[-1])

    def signal_broker(self, number):
        os.kill(int((self.broker / "pid").read_text(encoding="ascii")), number)

    def test_30_broker__stopped_longer_than_the_delivery_timeout__nothing_lost(self):
        self.create(self.topic, 1)
        self.create(self.out, 1)
        job = self.count_job(", message.timeout.ms: 5000")
        with self.running(job) as process:
            self.feed(b"a")
            self.wait_for("first result", lambda: self.counts() == {"a": 1})
            self.feed(b"a", b"a")
            self.signal_broker(signal.SIGSTOP)
            time.sleep(12)
            self.signal_broker(signal.SIGCONT)
            if process.poll() is None:
                self.wait_for("all results", lambda: self.counts() == {"a": 3}, 60)
            process.kill()
        self.run_job(job)
        self.assertEqual({"a": 3}, self.counts())
        shutil.rmtree(self.state)
        self.feed(b"a")
        self.run_job(job)
        self.assertEqual({"a": 4}, self.counts())


if __name__ == "__main__":
    unittest.main(verbosity=2)
