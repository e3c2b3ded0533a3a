"""tests/support/brokers.py - for tests that break brokers: a counting job, Kafka's own tools, and
brokers of a test's own."""
import collections
import contextlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import flow  # noqa: E402

SEED = 7
SCRIPT = str(flow.ROOT / "tests/support/broker.sh")


class BrokerFlow(flow.Flow):
    """Counts records by their key, from a topic into another, in two stages."""

    def setUp(self):
        super().setUp()
        self.topic, self.out = self.name("in"), self.name("out")
        self.job_name = self.name("job")
        self.fed = collections.Counter()

    def count_job(self, kafka="", settings="commit_interval: 50ms", source="", by='"@key"'):
        return self.job(f"""name: {self.job_name}
operators:
  - source: {{id: s, topic: {self.topic}{source}}}
  - groupBy: {{id: g, by: [{by}], aggregate: {{n: count()}}}}
  - sink: {{topic: {self.out}}}
settings: {{{settings}, kafka: {{session.timeout.ms: 6000{kafka}}}}}
""")

    def feed(self, *keys, partition=0):
        self.put(self.topic, [(key, b"{}") for key in keys], partition)

    @contextlib.contextmanager
    def feeding(self, partitions):
        """Records arrive until the block ends; self.fed has how many of each key were stored."""
        rng, stop = random.Random(SEED), threading.Event()
        feeder = subprocess.Popen(  # pylint: disable=consider-using-with
            [flow.LOGTOOL, *self.log, "put", self.topic], stdin=subprocess.PIPE)

        def feed():
            while not stop.wait(0.05):
                for key in (f"k{rng.randrange(50)}" for _ in range(200)):
                    line = f"{rng.randrange(partitions)} -1 {flow.encode(key.encode())} x7b7d\n"
                    feeder.stdin.write(line.encode())
                    self.fed[key] += 1
                feeder.stdin.flush()
            feeder.stdin.close()
        thread = threading.Thread(target=feed)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
        self.assertEqual(0, feeder.wait(timeout=150))  # all of it is stored

    def counts(self, out=None):
        return {key: row["n"] for key, row in self.totals(out or self.out).items()}

    def wait_for_counts(self, seconds=90):
        self.wait_for("all counted", lambda: self.counts() == self.fed, seconds)

    def wait_for_progress(self, seconds=60):
        before = sum(self.counts().values())
        self.wait_for("more counted", lambda: sum(self.counts().values()) > before, seconds)

    def check_rebuilt(self, job):
        """What the log holds is enough: an empty state folder gives the same totals."""
        shutil.rmtree(self.state)
        self.feed(*(key.encode() for key in self.fed))
        self.fed.update(list(self.fed))
        self.assertGreater(self.run_job(job, timeout=120)["restored"], 0)
        self.assertEqual(self.fed, self.counts())

    def kafka(self, tool, *args):
        """One of Kafka's own command-line tools, from the broker's jars."""
        jars = pathlib.Path(os.environ.get("BRINE_TEST_CACHE", flow.ROOT / "build/kafka")) / "lib/*"
        tool = tool if tool.startswith("kafka.") else f"org.apache.kafka.tools.{tool}"
        command = ["java", "-cp", str(jars), tool, "--bootstrap-server", self.log[1], *args]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done.stdout

    def delete_records(self, topic, offset):
        path = self.work / "delete.json"
        path.write_text('{"version":1,"partitions":[{"topic":"%s","partition":0,"offset":%d}]}'
                        % (topic, offset), encoding="ascii")
        self.kafka("DeleteRecordsCommand", "--offset-json-file", str(path))

    def topics(self):
        return self.brine("topics", "--json").stdout.decode()

    def delete_topic(self, topic):
        self.kafka("TopicCommand", "--delete", "--topic", topic)
        self.wait_for("the topic to go", lambda: f'"{topic}"' not in self.topics())

    def said(self):
        """What the worker in the background wrote."""
        return (self.work / "background.log").read_text(errors="replace")


def broker_script(command, folder, settings=""):
    """Runs broker.sh; returns the addresses that it prints."""
    environment = {**os.environ, "BRINE_BROKER_SETTINGS": settings}
    done = subprocess.run(["sh", SCRIPT, command, str(folder)], env=environment,
                          stdout=subprocess.PIPE, check=True, timeout=240)
    return done.stdout.decode().strip()


def signal_broker(folder, number):
    os.kill(int((folder / "pid").read_text(encoding="ascii")), number)


class OwnBroker(BrokerFlow):
    """Tests that stop their broker for a while have one of their own."""
    SETTINGS = ""

    def setUp(self):
        super().setUp()
        self.broker = self.work / "broker"
        address = broker_script("start", self.broker, self.SETTINGS)
        self.addCleanup(subprocess.run, ["sh", SCRIPT, "stop", str(self.broker)], check=False)
        self.addCleanup(signal_broker, self.broker, signal.SIGCONT)  # a failed test left it stopped
        self.use_log("kafka", address)

    def signal_broker(self, number):
        signal_broker(self.broker, number)

    def restart_broker(self, number):
        """Ends it by a signal (SIGTERM: in order) and starts it again, at the same address."""
        self.signal_broker(number)
        broker_script("stop", self.broker)
        broker_script("start", self.broker, self.SETTINGS)


class Cluster(BrokerFlow):
    """Three brokers; topics are made with three replicas, of which two must have a record."""
    SETTINGS = "default.replication.factor=3\nmin.insync.replicas=2\nbroker.session.timeout.ms=6000"

    def setUp(self):
        super().setUp()
        self.brokers = self.work / "brokers"
        addresses = broker_script("cluster", self.brokers, self.SETTINGS)
        for node in self.nodes():
            self.addCleanup(subprocess.run, ["sh", SCRIPT, "stop", str(node)], check=False)
        self.use_log("kafka", addresses)

    def nodes(self):
        return [self.brokers / number for number in "123"]

    def logtool(self, *args, stdin=b""):
        """A broker that learns of a new topic later than the others, or a cluster that is just
        choosing another controller, is asked again; but nothing is put twice."""
        limit = time.monotonic() + 60
        while True:
            try:
                return super().logtool(*args, stdin=stdin)
            except AssertionError as error:
                passes = "no topic" in str(error) or "broker error" in str(error)
                if args[0] == "put" or not passes or time.monotonic() > limit:
                    raise
                time.sleep(0.1)

    def start_node(self, node):
        broker_script("start", node, self.SETTINGS)

    def wait_until_in_sync(self):
        def in_sync():
            args = ("--describe", "--under-replicated-partitions")
            return not self.kafka("TopicCommand", *args).strip()
        self.wait_for("all replicas in sync", in_sync, 120)
