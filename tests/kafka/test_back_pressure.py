#!/usr/bin/env python3
"""tests/kafka/test_back_pressure.py - a broker that does not take results as fast as they come.

The numbers are FAULTS entries: 26 (memory) and 31 (the producer's queue). A job without a groupBy
sends a record for each that it reads, so it fills any queue.
"""
import collections
import os
import pathlib
import random
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import brokers  # noqa: E402
import flow  # noqa: E402

LOGS = "kafka"
TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def peak_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(peak.split()[1]) / 1024


class BackPressure(brokers.OwnBroker):
    def copy_job(self, settings):
        return self.job(f"""name: {self.job_name}
operators:
  - source: {{id: s, topic: {self.topic}, format: none}}
  - sink: {{topic: {self.out}}}
settings: {{commit_interval: 100ms, kafka: {{{settings}}}}}
""")

    def stand_still(self, process, seconds):
        """The broker answers nothing for a while; returns the worker's share of a CPU meanwhile."""
        self.signal_broker(signal.SIGSTOP)
        time.sleep(1)  # queues fill
        before, start = cpu_seconds(process.pid), time.monotonic()
        time.sleep(seconds)
        share = (cpu_seconds(process.pid) - before) / (time.monotonic() - start)
        self.signal_broker(signal.SIGCONT)
        return share

    def check_undisturbed(self, process):
        """No rebalance, no failed commit, no end."""
        self.assertIsNone(process.poll(), self.said())
        for words in ("partitions lost", "going back", "trouble with the group"):
            self.assertNotIn(words, self.said())

    def test_31_producer_queue__of_ten_records_and_a_broker_that_stands_still__sleeps(self):
        records = [(b"k%05d" % i, b"v%d" % i) for i in range(5000)]
        self.create(self.topic, 1)
        self.create(self.out, 1)
        job = self.copy_job("queue.buffering.max.messages: 10, session.timeout.ms: 20000")
        self.put(self.topic, records)
        with self.running(job) as process:
            self.wait_for("some results", lambda: self.appended(self.out) > 100)
            share = self.stand_still(process, 5)
            self.wait_for("all results", lambda: self.appended(self.out) >= len(records), 120)
            self.check_undisturbed(process)
        self.assertLess(share, 0.2)
        self.assertEqual(records, [(r.key, r.value) for r in self.dump(self.out)])

    def test_26_large_records__and_a_broker_that_stands_still__within_the_bound(self):
        """180 MB through queues of 8 MiB (runtime/log/README.md says what bounds memory)."""
        partitions, count, size = 9, 100, 200000
        self.create(self.topic, partitions)
        self.create(self.out, partitions)
        rng = random.Random(26)  # what can be compressed would be no 200 KB
        for partition in range(partitions):
            keys = [b"%d-%d" % (partition, i) for i in range(count)]
            self.put(self.topic, [(key, rng.randbytes(size)) for key in keys], partition)
            self.fed.update(keys)
        job = self.copy_job("queued.max.messages.kbytes: 8192, queue.buffering.max.kbytes: 8192, "
                            "fetch.max.bytes: 8388608, session.timeout.ms: 20000")
        with self.running(job) as process:
            self.wait_for("some results", lambda: self.appended(self.out) > 20)
            share = self.stand_still(process, 5)
            self.wait_for("all results", lambda: self.appended(self.out) >= len(self.fed), 120)
            peak = peak_mib(process.pid)
            self.check_undisturbed(process)
        print(f"peak {peak:.0f} MiB, {share:.0%} of a CPU while the broker stood still")
        self.assertLess(peak, 128)
        self.assertLess(share, 0.2)
        self.assertEqual(self.fed, collections.Counter(self.keys(self.out)))

    def keys(self, topic):
        lines = self.logtool("dump", topic).splitlines()
        return [flow.decode(line.split(" ", 4)[3]) for line in lines]


if __name__ == "__main__":
    unittest.main(verbosity=2)
