#!/usr/bin/env python3
"""tests/kafka/test_named_worker.py - brine run --name: static membership of a group."""
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import flow  # noqa: E402

LOGS = "kafka"


class NamedWorker(flow.Flow):
    def members(self, group):
        """The group's members: name -> partitions, by Kafka's own tool."""
        jars = pathlib.Path(flow.BROKER).parent / "lib/*"
        command = ["java", "-cp", str(jars),
                   "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
                   "--bootstrap-server", self.log[1], "--describe", "--members", "--verbose",
                   "--group", group]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        rows = [line.split() for line in done.stdout.splitlines() if line.startswith(group)]
        return {row[2]: row[1] for row in rows}

    def test_run__stopped_and_started_by_name__is_the_same_member(self):
        """A worker that ends by SIGTERM stays in the group and comes back as the same member."""
        topic, out, group = self.name("in"), self.name("out"), self.name("job")
        self.create(topic, 2)
        self.create(out, 1)
        job = self.job(f"""name: {group}
operators:
  - source: {{id: s, topic: {topic}}}
  - groupBy: {{id: g, by: ["@key"], aggregate: {{n: count()}}}}
  - sink: {{topic: {out}}}
settings: {{commit_interval: 50ms}}
""")
        seen = []
        for count in (1, 2):
            with self.running(job, "--name", "worker-1"):
                self.put(topic, [(b"a", b"{}")])
                self.wait_for("result", lambda n=count: self.totals(out).get("a", {}).get("n") == n)
            seen.append(self.members(group))
        self.assertEqual(1, len(seen[0]), seen)
        self.assertTrue(next(iter(seen[0])).startswith("worker-1"), seen)
        self.assertEqual(list(seen[0]), list(seen[1]))

    def test_run__name_that_kafka_refuses__is_wrong_usage(self):
        done = self.brine("run", "job.yaml", "--name", "a b", code=1)
        self.assertIn(b"letters", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
