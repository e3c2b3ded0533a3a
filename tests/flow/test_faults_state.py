#!/usr/bin/env python3
"""tests/flow/test_faults_state.py - state, changelog and restart faults that others reported.

The numbers are FAULTS entries. Those that need a broker's own means are in tests/kafka.
"""
import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import flow  # noqa: E402

LOGS = "local kafka"


class State(flow.Flow):
    def setUp(self):
        super().setUp()
        self.topic, self.out = self.name("in"), self.name("out")
        self.job_name = self.name("job")

    def count_job(self, aggregate="n: count()", by='"@key"', source=""):
        return self.job(f"""name: {self.job_name}
operators:
  - source: {{id: s, topic: {self.topic}, {source}}}
  - groupBy: {{id: g, by: [{by}], aggregate: {{{aggregate}}}}}
  - sink: {{topic: {self.out}}}
settings: {{commit_interval: 10ms{flow.SHORT_SESSION}}}
""".replace(", }", "}"))

    def feed(self, *keys, partition=0):
        self.put(self.topic, [(key, b"{}") for key in keys], partition)

    def counts(self):
        return {key: row["n"] for key, row in self.totals(self.out).items()}

    def test_03_restore__ended_half_way__goes_on_where_it_was(self):
        """Killed at any point of a restore, the next start misses no key and doubles none."""
        count = 20000 // min(flow.SLOWNESS, 10)
        self.create(self.topic, 1)
        self.feed(*(b"k%d" % i for i in range(count)))
        job = self.count_job()
        self.run_job(job)
        shutil.rmtree(self.state)
        rng = random.Random(3)
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
            with self.running(job) as process:
                time.sleep(rng.uniform(0.0, 0.1))
                process.send_signal(number)
                process.wait(timeout=30 * flow.SLOWNESS)
        self.feed(b"k0", b"k%d" % (count // 2), b"k%d" % (count - 1))
        self.run_job(job)
        self.assertEqual({f"k{i}": 2 if i in (0, count // 2, count - 1) else 1
                          for i in range(count)}, self.counts())

    def test_05_restore__start_latest__from_the_changelogs_first_record(self):
        self.create(self.topic, 1)
        job = self.count_job(source="start: latest")
        self.feed(b"before")
        self.run_job(job)  # takes the end as its start
        self.feed(b"a", b"a", b"a")
        self.run_job(job)
        shutil.rmtree(self.state)
        self.feed(b"a")
        self.run_job(job)
        self.assertEqual({"a": 4}, self.counts())

    def test_11_internal_topic__cleanup_policy_delete__refused(self):
        self.create(self.topic, 1)
        for operator in ("g-changelog", "g-repartition"):
            self.job_name = self.name("job" + operator[2:])
            topic = f"{self.job_name}-{operator}"
            self.create(topic, 1, "cleanup.policy=delete")
            said = self.brine(*self.run_args(self.count_job(), "--until-end"), code=3).stderr
            for word in (topic, "delete", "compact"):
                self.assertIn(word.encode(), said)

    def test_12_topics__made_or_found__only_internal_ones_are_compacted(self):
        self.create(self.topic, 2)
        before = self.topic_settings(self.topic)
        self.feed(b"a")
        self.run_job(self.count_job())
        self.assertEqual(before, self.topic_settings(self.topic))
        self.assertEqual("delete", self.topic_settings(self.out)["cleanup.policy"])
        for internal in ("g-changelog", "g-repartition"):
            found = self.topic_settings(f"{self.job_name}-{internal}")
            self.assertEqual(("2", "compact"), (found["partitions"], found["cleanup.policy"]))

    def test_13_changelog__other_partition_count__refused(self):
        self.create(self.topic, 5)
        changelog = f"{self.job_name}-g-changelog"
        self.create(changelog, 8, "cleanup.policy=compact")
        said = self.brine(*self.run_args(self.count_job(), "--until-end"), code=3).stderr
        for word in (changelog, "8 partitions", "wanted 5"):
            self.assertIn(word.encode(), said)

    @flow.local_only  # on a broker a second worker of a job is welcome: it shares the partitions
    def test_14_state_folder__second_process__refused_and_the_first_undisturbed(self):
        self.create(self.topic, 1)
        self.feed(b"a")
        job, link = self.count_job(), self.work / "link"
        self.state.mkdir()
        link.symlink_to(self.state)
        with self.running(job) as first:
            self.wait_for("first result", lambda: self.made(self.out) and self.counts())
            done = self.brine(*self.run_args(job, "--until-end"), code=3, timeout=5)
            self.assertIn(b"stop the other process", done.stderr)  # the log itself refuses
            first_log = self.log[1]
            self.use_log("local", str(self.work / "other-log"))
            self.create(self.topic, 1)
            for path in (self.state, f"{self.state}/", link):
                done = self.brine("run", job, "--until-end", "--state-dir", path, code=None)
                self.assertIn(done.returncode, (2, 3))
                self.assertIn(b"in use", done.stderr)
                self.assertIn(str(first.pid).encode(), done.stderr)
            self.use_log("local", first_log)
            self.feed(b"a")
            self.wait_for("second result", lambda: self.counts() == {"a": 2})
            first.kill()
        self.feed(b"a")
        self.run_job(job)  # the lock of a killed process is not stale
        self.assertEqual({"a": 3}, self.counts())

    def made(self, topic):
        return topic in self.brine("topics", "--json").stdout.decode()

    def test_15_job__changed_under_the_same_name__old_state_is_not_reused(self):
        self.create(self.topic, 1)
        self.put(self.topic, [(b"a", b'{"v":5}')])
        self.run_job(self.count_job())
        before = self.dump(self.out)
        changes = ({"aggregate": "n: sum(v)"}, {"by": "v"}, {"aggregate": "n: count(), m: max(v)"})
        for change, fresh in itertools.product(changes, (False, True)):
            if fresh:  # the changelog too remembers what its rows mean
                shutil.rmtree(self.state, ignore_errors=True)
            done = self.brine(*self.run_args(self.count_job(**change), "--until-end"), code=None)
            self.assertIn(done.returncode, (2, 3))
            self.assertIn(b"g", done.stderr)
        self.assertEqual(before, self.dump(self.out))

    def test_19_rows__of_one_partition__are_never_in_anothers_changelog(self):
        """The changelog partition is the task's, wherever the key would hash to. 27."""
        self.create(self.topic, 3)
        for partition in range(3):
            self.feed(b"k1", b"k8", partition=partition)
        self.run_job(self.count_job())
        rows = [r for r in self.dump(f"{self.job_name}-g-changelog") if r.key != b"\xff"]
        self.assertEqual({0: 2, 1: 2, 2: 2}, {p: len({r.key for r in rows if r.partition == p})
                                              for p in range(3)})
        self.assertEqual({"k1": 3, "k8": 3}, self.counts())

    def test_54_changelog__unknown_field__ignored(self):
        self.create(self.topic, 1)
        self.feed(b"a")
        job, changelog = self.count_job(), f"{self.job_name}-g-changelog"
        self.run_job(job)
        row = [r for r in self.dump(changelog) if r.key != b"\xff"][-1]
        self.put(changelog, [(row.key, row.value + b"\x78\x01")])  # field 15
        shutil.rmtree(self.state)
        self.feed(b"a")
        self.run_job(job)
        self.assertEqual({"a": 2}, self.counts())

    def test_54_changelog__hostile_bytes__error_with_place_and_no_crash(self):
        self.create(self.topic, 1)
        self.feed(b"a")
        hostile = (b"\x04\x22\x4d", b"\x1a\xff\xff\xff\xff\x0f", b"\x1a\x05\x08",
                   b"\x12\x01\x08")
        for number, value in enumerate(hostile):
            self.job_name = self.name(f"job{number}")
            job, changelog = self.count_job(), f"{self.job_name}-g-changelog"
            self.run_job(job)
            offset = self.appended(changelog)
            self.put(changelog, [(b"\x02z\x00\x01", value)])
            shutil.rmtree(self.state)
            said = self.brine(*self.run_args(job, "--until-end"), code=2).stderr
            self.assertIn(f"{changelog}[0]@{offset}".encode(), said)

    def test_56_state__many_large_keys_beside_a_reader__all_there(self):
        """The map grows while another process reads; nothing is lost or torn."""
        count = 4000 // min(flow.SLOWNESS, 10)
        keys = [b"%06d-" % i + b"k" * 1000 for i in range(count)]
        self.create(self.topic, 2)
        job = self.count_job()
        with self.running(job):
            for part in range(4):
                self.feed(*keys[part::4], partition=part % 2)
                self.query_counts()
            self.wait_for("all counted", lambda: self.made(self.out)
                          and len(self.counts()) == count)
            self.assertEqual({1}, {row["n"] for row in self.query_counts()})
        self.assertEqual({1}, set(self.counts().values()))
        self.assertEqual(count, len(self.query_counts()))

    def query_counts(self):
        done = self.brine("query", self.job_name, "g", "--state-dir", self.state, "--json",
                          code=None, flags=False)
        return [json.loads(line) for line in done.stdout.splitlines()]

    @flow.local_only
    @unittest.skipUnless(os.geteuid() == 0, "mounts a small file system")
    def test_57_state__disk_full__named_error_and_exact_afterwards(self):
        self.state.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(self.state)]
        if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            self.skipTest("this machine allows no mounts")
        self.addCleanup(subprocess.run, ["umount", str(self.state)], check=False)
        keys = [b"%05d-" % i + b"k" * 494 for i in range(20000)]
        self.create(self.topic, 1)
        self.feed(*keys)
        job = self.count_job()
        done = self.brine(*self.run_args(job, "--until-end"), code=None)
        self.assertIn(done.returncode, (2, 3))
        self.assertIn(b"No space left on device", done.stderr)
        self.assertIn(str(self.state).encode(), done.stderr)
        subprocess.run(["mount", "-o", "remount,size=128m", str(self.state)], check=True)
        self.run_job(job)
        self.assertEqual({key.decode(): 1 for key in keys}, self.counts())

    def test_61_job__many_partitions_and_aggregates__runs(self):
        self.create(self.topic, 130)
        for partition in (0, 64, 129):
            self.put(self.topic, [(b"a", b'{"v":1}')], partition)
        aggregates = ", ".join(f"n{i or ''}: {f}({'' if f == 'count' else 'v'})"
                               for i, f in enumerate(["count", "sum", "min", "max", "avg"] * 4))
        job = self.count_job(aggregate=aggregates)
        for _ in range(2):  # and again: some limits show only when stores are opened once more
            self.run_job(job, timeout=120)
        row = self.totals(self.out)["a"]
        self.assertEqual((3, 3, 1, 1), (row["n"], row["n1"], row["n2"], row["n3"]))

    @flow.local_only
    @unittest.skipIf(flow.SLOWNESS > 1, "a sanitizer needs descriptors of its own")
    def test_61_open_files__too_few__clear_error_or_done(self):
        self.create(self.topic, 130)
        self.feed(b"a")
        script = 'ulimit -n 256; exec "$@"'
        command = [*flow.BRINE, *map(str, self.run_args(self.count_job(), "--until-end"))]
        done = subprocess.run(["bash", "-c", script, "bash", *command, *self.log_flags],
                              capture_output=True, check=False, timeout=60 * flow.SLOWNESS)
        self.assertIn(done.returncode, (0, 2, 3), done.stderr.decode()[-3000:])
        if done.returncode != 0:
            self.assertIn(b"Too many open files", done.stderr)

    @flow.local_only
    def test_64_state_files__same_groups_again_and_again__stay_flat(self):
        self.create(self.topic, 1)
        job, sizes = self.count_job(), []
        for _ in range(8):
            self.feed(*(b"k%d" % i for i in range(1000)))
            self.run_job(job)
            files = self.state.rglob("data.mdb")
            sizes.append(sum(path.stat().st_size for path in files))
        self.assertGreater(sizes[0], 0)
        self.assertLessEqual(sizes[-1], 3 * sizes[1])
        self.assertEqual({8}, set(self.counts().values()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
