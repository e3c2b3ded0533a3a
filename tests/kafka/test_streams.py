#!/usr/bin/env python3
"""tests/kafka/test_streams.py - the same totals as Kafka Streams, on the same topic."""
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import flow  # noqa: E402

LOGS = "kafka"
COUNT = 100000
STREAMS = flow.ROOT / "tests/kafka/streams"


class Streams(flow.Flow):
    def jars(self):
        """Fetched once, beside the broker's."""
        lib = pathlib.Path(flow.BROKER).parent / "streams-lib"
        if not (lib / ".complete").exists():
            subprocess.run(["mvn", "-q", "-B", "-f", str(STREAMS / "pom.xml"),
                            "dependency:copy-dependencies", f"-DoutputDirectory={lib}"],
                           check=True, timeout=300, stdin=subprocess.DEVNULL)
            (lib / ".complete").touch()
        return f"{lib}/*"

    def streams_totals(self, topic):
        command = ["java", "-Xmx512m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp",
                   self.jars(), str(STREAMS / "Totals.java"), self.log[1], topic,
                   self.name("streams"), str(COUNT), str(self.work / "streams-state")]
        done = subprocess.run(command, capture_output=True, check=False, timeout=200)
        self.assertEqual(0, done.returncode, done.stderr.decode()[-3000:])
        rows = map(json.loads, done.stdout.splitlines())
        return {row["ad_id"]: row for row in rows}

    def test_salted_clicks__brine_and_kafka_streams__the_same_totals(self):
        topic, out = self.name("ad-clicks"), self.name("clicks-per-ad")
        lines = self.generate("ad-clicks", COUNT, "--hot", "0.5", "--ads", "1000", "--seed", "9")
        self.produce(topic, lines, "--key", "ad_id", "--salt", "10", "--partitions", "12")
        self.run_job(self.job(f"""name: {self.name("job")}
operators:
  - source: {{id: clicks, topic: {topic}}}
  - groupBy: {{id: per_ad, by: [ad_id],
              aggregate: {{clicks: count(), cost_micros: sum(cost_micros)}}}}
  - sink: {{topic: {out}}}
"""))
        self.assertEqual(self.streams_totals(topic), self.totals(out))


if __name__ == "__main__":
    unittest.main(verbosity=2)
