"""tests/support/flow.py - what flow tests share: a log, the brine command, and plain oracles.

A test file says LOGS = "local kafka" (or one of them): CMake runs it once for each. On Kafka all
tests share one broker, so every topic and job name is made unique.
"""
import collections
import contextlib
import json
import math
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BRINE = shlex.split(os.environ.get("BRINE", str(ROOT / "build/brine")))
LOGTOOL = os.environ.get("BRINE_LOGTOOL", str(ROOT / "build/tests/logtool"))
BROKER = os.environ.get("BRINE_TEST_BROKER")  # folder of broker.sh; none: the embedded log
FAILPOINTS = os.environ.get("BRINE_FAILPOINTS", "1") == "1"
# Under a sanitizer or valgrind everything takes this many times as long.
SLOWNESS = int(os.environ.get("BRINE_SLOWNESS", "1"))
KILL_POINTS = ("commit.flushed", "commit.acked", "commit.marked", "commit.stored", "commit.done")

Record = collections.namedtuple("Record", "partition offset timestamp key value headers")
# A killed worker's partitions are its own until its session ends: 45 s by default.
SHORT_SESSION = ", kafka: {session.timeout.ms: 6000}" if BROKER else ""
kafka_only = unittest.skipUnless(BROKER, "needs a real broker")
local_only = unittest.skipIf(BROKER, "is about the embedded log or the machine alone")
needs_failpoints = unittest.skipUnless(FAILPOINTS, "needs a build with BR_FAILPOINTS")


def encode(data):
    return "null" if data is None else "x" + data.hex()


def decode(text):
    return None if text == "null" else bytes.fromhex(text[1:])


def spend_of(clicks):
    """Clicks, cost_micros and spend per ad, by a plain count: what every job must agree with."""
    costs = collections.defaultdict(list)
    for line in clicks:
        click = json.loads(line)
        costs[click["ad_id"]].append(click["cost_micros"])
    return {ad: {"ad_id": ad, "clicks": len(micros), "cost_micros": sum(micros),
                 "spend": math.fsum(m / 1000000 for m in micros)} for ad, micros in costs.items()}


class Flow(unittest.TestCase):
    """A folder of its own for every test, with a log in it or unique names on the broker."""

    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="brine-flow-"))
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)
        self.state = self.work / "state"
        self.unique = f"{os.getpid()}-{time.monotonic_ns()}" if BROKER else "x"
        if BROKER:
            address = (pathlib.Path(BROKER) / "address").read_text(encoding="ascii").strip()
            self.use_log("kafka", address)
        else:
            self.use_log("local", str(self.work / "log"))

    def use_log(self, kind, where):
        self.log = (kind, where)
        self.log_flags = ["--brokers" if kind == "kafka" else "--local", where]

    def name(self, base):
        """A topic's or job's name that no other test uses."""
        return f"{base}-{self.unique}"

    # ---- the command ----

    def brine(self, *args, code=0, stdin=b"", env=None, timeout=60, flags=True):
        """Runs brine to its end; code: the exit status wanted (None: any but a signal)."""
        command = [*BRINE, *map(str, args), *(self.log_flags if flags else [])]
        done = subprocess.run(command, input=stdin, capture_output=True, cwd=self.work, check=False,
                              timeout=timeout * SLOWNESS, env={**os.environ, **(env or {})})
        said = f"{shlex.join(command)}: exit {done.returncode}\n{done.stderr.decode()[-3000:]}"
        if code is None:
            self.assertGreaterEqual(done.returncode, 0, said)
        else:
            self.assertEqual(code, done.returncode, said)
        return done

    def generate(self, kind, count, *options):
        args = ("generate", kind, "--count", count, *options)
        return self.brine(*args, flags=False).stdout.splitlines(keepends=True)

    def produce(self, topic, lines, *options):
        self.brine("produce", "--topic", topic, *options, stdin=b"".join(lines))

    def job(self, text):
        """Writes a job file; returns its path."""
        path = self.work / f"job-{len(list(self.work.glob('job-*.yaml')))}.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    def run_args(self, job, *options, state=None):
        return ("run", job, "--state-dir", state or self.state, *options)

    def run_job(self, job, *options, **how):
        """Runs a job up to the end of its sources; returns the summary's counts."""
        done = self.brine(*self.run_args(job, "--until-end", "--json", *options), **how)
        return json.loads(done.stdout.splitlines()[-1]) if done.stdout.strip() else None

    @contextlib.contextmanager
    def running(self, job, *options, state=None):
        """The job in the background; ended by SIGTERM, which must commit and give 0."""
        with open(self.work / "background.log", "ab") as log:
            process = subprocess.Popen(  # pylint: disable=consider-using-with
                [*BRINE, *map(str, self.run_args(job, *options, state=state)), *self.log_flags],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.work)
        try:
            yield process
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            code = process.wait(timeout=30 * SLOWNESS)
        finally:
            process.kill()
            process.wait()
        log = (self.work / "background.log").read_text(errors="replace")
        self.assertIn(code, (0, -signal.SIGKILL), log[-3000:])

    def wait_for(self, what, condition, seconds=30):
        """Polls until condition() is true; its last value is returned."""
        limit = time.monotonic() + seconds * SLOWNESS
        while time.monotonic() < limit:
            value = condition()
            if value:
                return value
            time.sleep(0.05)
        log = self.work / "background.log"
        self.fail(f"{what}: not within {seconds} s; "
                  f"{log.read_text(errors='replace')[-3000:] if log.exists() else ''}")

    # ---- topics, byte for byte (logtool.c) ----

    def logtool(self, *args, stdin=b""):
        command = [LOGTOOL, *self.log, *map(str, args)]
        done = subprocess.run(command, input=stdin, capture_output=True, check=False,
                              timeout=60 * SLOWNESS)
        self.assertEqual(0, done.returncode, f"{command}: {done.stderr.decode()}")
        return done.stdout.decode()

    def create(self, topic, partitions=1, *settings):
        self.logtool("create", topic, partitions, *settings)

    def put(self, topic, records, partition=0, timestamp=-1):
        """records: (key, value) as bytes or None."""
        lines = [f"{partition} {timestamp} {encode(k)} {encode(v)}\n" for k, v in records]
        self.logtool("put", topic, stdin="".join(lines).encode())

    def dump(self, topic):
        records = []
        for line in self.logtool("dump", topic).splitlines():
            partition, offset, timestamp, key, value, *headers = line.split(" ")
            pairs = (header.split("=", 1) for header in headers)
            records.append(Record(int(partition), int(offset), int(timestamp), decode(key),
                                  decode(value), {name: decode(data) for name, data in pairs}))
        return records

    def latest(self, topic):
        """The last value of every key, as bytes."""
        return {record.key: record.value for record in self.dump(topic)}

    def totals(self, topic):
        """The last value of every key, as JSON whose numbers keep all their digits."""
        return {key.decode(): json.loads(value) for key, value in self.latest(topic).items()}

    def appended(self, topic):
        """How many records the topic ever got, compacted ones included."""
        return sum(int(line.split()[2]) for line in self.logtool("offsets", topic).splitlines())

    def committed(self, group, topic):
        lines = self.logtool("committed", group, topic).splitlines()
        return [int(line.split()[1]) for line in lines]

    def topic_settings(self, topic):
        return dict(pair.split("=") for pair in self.logtool("info", topic).split())
