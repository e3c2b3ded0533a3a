#!/usr/bin/env python3
"""tests/chaos/chaos.py - three workers on a real broker, killed and stopped while clicks arrive.

Usage: chaos.py [--kills N] [--seed S] [--guarantee at_least_once|exactly_once|both] [--keep]

The schedule comes from the seed alone, so --seed repeats it:
    seed -> kill -9, lost state folders, long deaths, SIGSTOP and SIGCONT -> three workers
    brine produce, throughout -> 12 partitions -> workers -> totals == what was produced
--kills is for both guarantees together; --keep leaves logs and state folders behind.
FAULTS 4, 19, 20, 21, 32 and 45, all at once. Environment as flow.py.
"""
import argparse
import collections
import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import flow  # noqa: E402

WORKERS, PARTITIONS, ADS = 3, 12, 200
SESSION_S = 6
WARM_UP_S = 4  # until the first action: all three have joined
CHUNK, CHUNK_S = 200, 0.05  # 4,000 clicks a second
GUARANTEES = ("at_least_once", "exactly_once")
JOB = """name: {name}
operators:
  - source: {{id: clicks, topic: {clicks}, format: json, timestamp: ts}}
  - map: {{set: {{spend: "cost_micros / 1000000"}}}}
  - groupBy: {{id: per_ad, by: [ad_id],
              aggregate: {{clicks: count(), spend: sum(spend), cost_micros: sum(cost_micros)}}}}
  - sink: {{topic: {out}}}
settings: {{commit_interval: 100ms, guarantee: {guarantee},
           kafka: {{session.timeout.ms: {session_ms}}}}}
"""

Action = collections.namedtuple("Action", "at worker what")
# How a worker's trouble begins, how it ends, and how long after: within the session (the group
# never notices, or a named worker gets its partitions back), or behind it (they are others' then).
Fate = collections.namedtuple("Fate", "weight begin end seconds")
FATES = (
    Fate(6, "kill", "start", (0.1, 1.0)),
    Fate(4, "kill", "start empty", (0.1, 1.0)),
    Fate(3, "kill", "start", (SESSION_S + 1, SESSION_S + 3)),
    Fate(3, "stop", "continue", (SESSION_S + 1, SESSION_S + 5)),
    Fate(2, "stop", "continue", (0.2, SESSION_S - 1)),
    Fate(1, "stop", "kill and start", (SESSION_S + 1, SESSION_S + 3)),
)


def schedule(rng, kills):
    """Actions in order of time; never two troubles of one worker at once."""
    actions, free_at, now, killed = [], [WARM_UP_S] * WORKERS, WARM_UP_S, 0
    while killed < kills:
        now += rng.uniform(1.5, 3.5)
        free = [worker for worker in range(WORKERS) if free_at[worker] <= now]
        if not free:
            continue
        worker = rng.choice(free)
        fate = rng.choices(FATES, [fate.weight for fate in FATES])[0]
        over = now + rng.uniform(*fate.seconds)
        actions += [Action(now, worker, fate.begin), Action(over, worker, fate.end)]
        free_at[worker] = over + 2
        killed += "kill" in fate.begin or "kill" in fate.end
    return sorted(actions)


class Worker:
    """One worker's place: a name, a state folder, a log, and the process that runs in it now."""

    def __init__(self, test, index, job):
        self.name = f"worker-{index}"
        self.state = test.work / f"state-{index}"
        self.log = test.work / f"{self.name}.log"
        # The last has no name: the group takes each of its starts for a new member.
        named = ("--name", self.name) if index < WORKERS - 1 else ()
        self.command = [*flow.BRINE, *map(str, test.run_args(job, "--verbose", *named,
                                                             state=self.state)), *test.log_flags]
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def act(self, what):
        if what == "stop":
            self.process.send_signal(signal.SIGSTOP)
        if what == "continue":
            self.process.send_signal(signal.SIGCONT)
        if "kill" in what:
            self.process.kill()
            self.process.wait()
        if "empty" in what:
            shutil.rmtree(self.state, ignore_errors=True)
        if "start" in what:
            self.start()

    def ended_by_itself(self):
        return self.process is not None and self.process.poll() not in (None, -signal.SIGKILL)

    def last_words(self):
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return f"---- {self.name}\n{text[-3000:]}"


class Clicks(threading.Thread):
    """Produces salted clicks until it is told to stop; keeps what it sent."""

    def __init__(self, test, topic, lines):
        super().__init__(daemon=True)
        self.lines, self.sent, self.over = lines, [], threading.Event()
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [*flow.BRINE, "produce", "--topic", topic, "--key", "ad_id", "--salt", "10",
             *test.log_flags], stdin=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self):
        while not self.over.wait(CHUNK_S):
            begin = len(self.sent) % len(self.lines)
            chunk = self.lines[begin:begin + CHUNK]
            self.process.stdin.write(b"".join(chunk))
            self.process.stdin.flush()
            self.sent += chunk

    def finish(self):
        self.over.set()
        self.join()
        return self.process.communicate()[1], self.process.returncode


class Chaos(flow.Flow):
    kills, seed, keep = 15, 0, False  # main() sets them

    def setUp(self):
        super().setUp()
        if self.keep:
            self._cleanups.clear()
            print(f"files in {self.work}", flush=True)
        self.clicks, self.out = self.name("clicks"), self.name("totals")
        self.workers = []
        self.addCleanup(self.end_workers)

    def end_workers(self):
        for worker in self.workers:
            if worker.process:
                worker.process.kill()
                worker.process.wait()

    def fail_with_logs(self, what):
        self.fail("\n".join([f"seed {self.seed}: {what}", *(w.last_words() for w in self.workers)]))

    # ---- the three parts ----

    def play(self, actions):
        """Each action at its time; meanwhile no worker may end by itself."""
        begin = time.monotonic()
        for action in actions:
            while time.monotonic() - begin < action.at:
                self.check_alive()
                time.sleep(0.05)
            print(f"{action.at:7.2f}  worker {action.worker}  {action.what}", flush=True)
            self.workers[action.worker].act(action.what)

    def check_alive(self):
        for worker in self.workers:
            if worker.ended_by_itself():
                self.fail_with_logs(f"{worker.name} ended with {worker.process.returncode}")

    def drain(self, job, state):
        """A further worker reads all sources to their end, together with the others."""
        self.brine(*self.run_args(job, "--until-end", state=self.work / state), timeout=180)
        self.check_alive()

    def stop_workers(self):
        for worker in self.workers:
            worker.process.send_signal(signal.SIGTERM)
        for worker in self.workers:
            if worker.process.wait(timeout=30 * flow.SLOWNESS) != 0:
                self.fail_with_logs(f"{worker.name} ended with {worker.process.returncode}")
            worker.process = None

    # ---- the oracle ----

    def check(self, sent, when):
        want, got = flow.spend_of(sent), self.totals(self.out)
        wrong = {ad: (totals, got.get(ad)) for ad, totals in want.items() if got.get(ad) != totals}
        if wrong or want.keys() != got.keys():
            self.fail_with_logs(f"{when}: {len(wrong)} of {len(want)} ads are wrong "
                                f"(wanted, found): {dict(list(wrong.items())[:5])}; "
                                f"unknown: {sorted(got.keys() - want.keys())[:5]}")

    def check_forward(self):
        """A reader of committed records never sees a total go back."""
        seen = collections.Counter()
        for record in self.dump(self.out):
            clicks = json.loads(record.value)["clicks"]
            if clicks < seen[record.key]:
                self.fail_with_logs(f"{record.key}: {clicks} clicks after {seen[record.key]}, "
                                    f"partition {record.partition}, offset {record.offset}")
            seen[record.key] = clicks

    def one_of_each(self):
        """A click for every ad, so that each total is sent again."""
        return list({json.loads(line)["ad_id"]: line for line in self.lines}.values())

    # ---- the test ----

    def run_chaos(self, guarantee):
        actions = schedule(random.Random(f"{self.seed} {guarantee}"), self.kills)
        print(f"\n{guarantee}: seed {self.seed}, {self.kills} kills", flush=True)
        self.create(self.clicks, PARTITIONS)
        self.create(self.out, 6)
        self.lines = self.generate("ad-clicks", 20000, "--hot", "0.5", "--ads", str(ADS),
                                   "--seed", "7")
        job = self.job(JOB.format(name=self.name("job"), clicks=self.clicks, out=self.out,
                                  guarantee=guarantee, session_ms=SESSION_S * 1000))
        self.workers = [Worker(self, index, job) for index in range(WORKERS)]
        clicks = Clicks(self, self.clicks, self.lines)
        clicks.start()
        for worker in self.workers:
            worker.start()
        self.play(actions)
        before_the_end = self.appended(self.out)
        said, code = clicks.finish()
        self.assertEqual(0, code, said.decode())
        self.drain(job, "state-first-drain")
        sent = clicks.sent
        print(f"{len(sent)} clicks, {before_the_end} results during the kills", flush=True)
        self.assertGreater(before_the_end, ADS * self.kills, "nothing went on between the kills")
        if guarantee == "exactly_once":
            self.check(sent, "after all was read")
            self.check_forward()
        # With at_least_once a zombie's result may stand last until its group changes again.
        for state, stop in (("state-second-drain", False), ("state-from-nothing", True)):
            if stop:
                self.stop_workers()
            self.produce(self.clicks, self.one_of_each())
            sent = sent + self.one_of_each()
            self.drain(job, state)
            self.check(sent, state)


def add_test(guarantee):
    def run(self):
        self.run_chaos(guarantee)
    name = f"test_{guarantee}__workers_killed_and_stopped__totals_exact"
    setattr(Chaos, name, run)
    return name


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--guarantee", choices=(*GUARANTEES, "both"), default="both")
    parser.add_argument("--keep", action="store_true")
    args = parser.parse_args()
    wanted = GUARANTEES if args.guarantee == "both" else (args.guarantee,)
    Chaos.kills = -(-args.kills // len(wanted))
    Chaos.seed, Chaos.keep = args.seed, args.keep
    suite = unittest.TestSuite(Chaos(add_test(guarantee)) for guarantee in wanted)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":
    main()
