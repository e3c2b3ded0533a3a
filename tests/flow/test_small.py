#!/usr/bin/env python3
"""tests/flow/test_small.py - one small job from lines to totals and back from its changelog.

Small enough to run under valgrind too (valgrind_flow).
"""
import json
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import flow  # noqa: E402

LOGS = "local kafka"


class Small(flow.Flow):
    def test_job__two_groupbys_and_a_branch__every_command(self):
        clicks, ads, regions = self.name("clicks"), self.name("ads"), self.name("regions")
        job_name = self.name("small")
        job = self.job(f"""name: {job_name}
operators:
  - source: {{id: clicks, topic: {clicks}}}
  - groupBy: {{id: per_ad, by: [ad_id], aggregate: {{n: count(), most: max(cost_micros)}}}}
  - sink: {{topic: {ads}}}
  - map: {{id: west, from: clicks, where: 'string.sub(region, -4) == "west"'}}
  - groupBy: {{id: per_region, by: [region], aggregate: {{n: count(), mean: avg(cost_micros)}}}}
  - sink: {{topic: {regions}}}
""")
        lines = self.generate("ad-clicks", 2000, "--ads", "20", "--hot", "0.3", "--seed", "5")
        self.produce(clicks, lines + [b"not json\n"], "--partitions", "3")
        self.brine("validate", job, flags=False)
        summary = self.run_job(job)
        self.assertEqual((2001, 1), (summary["records"], summary["dead_letters"]))
        self.check_totals(lines, ads, regions)
        shutil.rmtree(self.state)
        self.assertGreater(self.run_job(job)["restored"], 0)
        self.check_totals(lines, ads, regions)
        self.check_query(job_name, lines)
        dead = self.dump(f"{job_name}-dead-letters")
        self.assertEqual([b"not json"], [record.value for record in dead])
        self.assertEqual(clicks.encode(), dead[0].headers["__streams.errors.topic"])

    def check_totals(self, lines, ads, regions):
        clicks = [json.loads(line) for line in lines]
        costs, west = {}, {}
        for click in clicks:
            costs.setdefault(click["ad_id"], []).append(click["cost_micros"])
            if click["region"].endswith("west"):
                west.setdefault(click["region"], []).append(click["cost_micros"])
        self.assertEqual({ad: {"ad_id": ad, "n": len(c), "most": max(c)}
                          for ad, c in costs.items()}, self.totals(ads))
        self.assertEqual({region: {"region": region, "n": len(c), "mean": sum(c) / len(c)}
                          for region, c in west.items()}, self.totals(regions))

    def check_query(self, job_name, lines):
        ad = json.loads(lines[0])["ad_id"]
        done = self.brine("query", job_name, "per_ad", ad, "--state-dir", self.state, "--json",
                          flags=False)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([sum(json.loads(line)["ad_id"] == ad for line in lines)],
                         [row["n"] for row in rows])


if __name__ == "__main__":
    unittest.main(verbosity=2)
