#!/usr/bin/env python3
"""tests/flow/test_faults_records.py - keys, numbers, text and bad input that broke others.

The numbers are FAULTS entries.
"""
import json
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import flow  # noqa: E402

LOGS = "local kafka"


class Records(flow.Flow):
    def setUp(self):
        super().setUp()
        self.topic, self.out = self.name("in"), self.name("out")
        self.job_name = self.name("job")

    def group_job(self, by, aggregate="n: count()", source="", tail=""):
        return self.job(f"""name: {self.job_name}
operators:
  - source: {{id: s, topic: {self.topic}, {source}}}
  - groupBy: {{id: g, by: [{by}], aggregate: {{{aggregate}}}}}
  - sink: {{topic: {self.out}{tail}}}
""".replace(", }", "}"))

    def feed(self, *values, key=None):
        """Values are bytes, or text to be encoded."""
        self.put(self.topic, [(key, v.encode() if isinstance(v, str) else v) for v in values])

    def start(self, *values, partitions=1, key=None):
        self.create(self.topic, partitions)
        self.feed(*values, key=key)

    # ---- null and empty ----

    def test_27_produce__known_keys__on_javas_partitions(self):
        keys = {"k1": 5, "k8": 2, "k5": 0, "": 3}
        lines = [json.dumps({"k": key}).encode() + b"\n" for key in keys]
        self.produce(self.topic, lines, "--key", "k", "--partitions", "6")
        self.assertEqual(keys, {r.key.decode(): r.partition for r in self.dump(self.topic)})

    def test_28_pass_through__null_and_empty__stay_what_they_are(self):
        records = [(b"k", b""), (b"", b"v"), (None, b"w"), (b"n", b"null"), (b"", b"")]
        self.create(self.topic, 1)
        self.put(self.topic, records)
        self.run_job(self.job(f"""name: {self.job_name}
operators:
  - source: {{id: s, topic: {self.topic}, format: none}}
  - sink: {{topic: {self.out}}}
"""))
        self.assertEqual(records, [(r.key, r.value) for r in self.dump(self.out)])

    def test_28_sum__zero__is_a_value_and_survives_a_restore(self):
        self.start('{"k":"a","v":5}', '{"k":"a","v":-5}')
        job = self.group_job("k", "v: sum(v)")
        self.run_job(job)
        self.assertEqual({"a": {"k": "a", "v": 0}}, self.totals(self.out))
        shutil.rmtree(self.state)
        self.feed('{"k":"a","v":1}')
        self.run_job(job)
        self.assertEqual({"a": {"k": "a", "v": 1}}, self.totals(self.out))

    def test_34_null_group_keys__dropped_and_counted(self):
        self.create(self.topic, 1)
        self.put(self.topic, [(None, b"1"), (b"a", b"1"), (None, b"1"), (b"a", b"1")])
        summary = self.run_job(self.group_job('"@key"', source="format: none"))
        self.assertEqual((4, 2), (summary["records"], summary["null_keys"]))
        self.assertEqual({"a": {"key": "a", "n": 2}}, self.totals(self.out))
        for internal in ("g-changelog", "g-repartition"):
            topic = f"{self.job_name}-{internal}"
            self.assertNotIn(None, [record.key for record in self.dump(topic)])
        self.assertEqual([4], self.committed(self.job_name, self.topic))

    # ---- keys ----

    def test_44_compound_groups__separators_inside__stay_apart(self):
        pairs = [("12", "3"), ("1", "23"), ("", "q"), ("q", "")]
        for mark in ("#", "|", ":", "_", "\0", ",", "\""):
            pairs += [(f"x{mark}y", "z"), ("x", f"y{mark}z")]
        self.start(*(json.dumps({"a": a, "b": b}) for a, b in pairs))
        self.run_job(self.group_job("a, b"))
        rows = [(row["a"], row["b"], row["n"]) for row in self.totals(self.out).values()]
        self.assertEqual(sorted((a, b, 1) for a, b in pairs), sorted(rows))

    def test_44_unsalt__any_campaign__is_stripped_exactly(self):
        campaigns = ["camp", "camp#7", "#", "", "camp#", "c#x"]
        keys = [f"{campaign}#{salt}" for campaign in campaigns for salt in (0, 1, 2)]
        self.create(self.topic, 4)
        for number, key in enumerate(keys):
            self.put(self.topic, [(key.encode(), b"1")], number % 4)
        by = "{campaign: 'unsalt(@key, \"#\")'}"
        self.run_job(self.group_job(by, source="format: none"))
        got = {row["campaign"]: row["n"] for row in self.totals(self.out).values()}
        self.assertEqual({campaign: 3 for campaign in campaigns}, got)

    def test_51_text_keys__escapes_and_bad_bytes__exact_or_refused(self):
        good = [rb'"a"', rb'"a\u0000b"', rb'"\u0061"', rb'"caf\u00e9"', '"café"'.encode(),
                rb'"\ud83d\ude00"', '"😀"'.encode()]
        bad = [rb'"\ud800"', rb'"\uX000"', b'"\xff"', b'"\x00"']
        self.start(*(b'{"k":' + text + b"}" for text in good + bad))
        summary = self.run_job(self.group_job("k"))
        self.assertEqual(len(bad), summary["dead_letters"])
        got = {key: json.loads(value)["n"] for key, value in self.latest(self.out).items()}
        self.assertEqual({b"a": 2, b"a\0b": 1, "café".encode(): 2, "😀".encode(): 2}, got)
        dead = self.dump(f"{self.job_name}-dead-letters")
        self.assertEqual([b'{"k":' + text + b"}" for text in bad], [r.value for r in dead])
        self.assertEqual([str(len(good) + i).encode() for i in range(len(bad))],
                         [r.headers["__streams.errors.offset"] for r in dead])

    def test_51_record_keys__any_bytes__kept_by_length(self):
        keys = [b"\0", b"a\0b", b"\xff\xfe", b"a"]
        self.create(self.topic, 1)
        self.put(self.topic, [(key, b"1") for key in keys])
        self.run_job(self.group_job('"@key"', source="format: none"))
        self.assertEqual(sorted(keys), sorted(self.latest(self.out)))

    def test_55_keys__of_any_length__counted_and_restored(self):
        keys = [b"k" * n for n in (0, 1, 495, 500, 511, 512, 100000)]
        keys += [b"k" * 511 + b"a" * 89, b"k" * 511 + b"b" * 89]
        self.create(self.topic, 1)
        job = self.group_job('"@key"', source="format: none")
        for want in (2, 4):
            self.put(self.topic, [(key, b"1") for key in keys + keys])
            self.run_job(job)
            got = {key: json.loads(value)["n"] for key, value in self.latest(self.out).items()}
            self.assertEqual({key: want for key in keys}, got)
            shutil.rmtree(self.state)

    # ---- numbers ----

    def test_48_integers__above_2_to_53__keep_every_digit(self):
        ids = ["9007199254740993", "9007199254740992", "1795292668348461057", "228930314431312345"]
        self.start(*(f'{{"id":{digits},"v":{digits}}}' for digits in ids))
        self.run_job(self.group_job("id", "v: sum(v)"))
        latest = self.latest(self.out)
        self.assertEqual({digits.encode() for digits in ids}, set(latest))
        for digits in ids:
            self.assertEqual(f'{{"id":{digits},"v":{digits}}}'.encode(), latest[digits.encode()])

    def test_49_sums__beyond_64_bits__exact(self):
        cases = {"up": [9223372036854775807, 1], "down": [-9223372036854775808, -1],
                 "u64": [18446744073709551615], "back": [9223372036854775807, 1, -2],
                 "odd": [9007199254740993, 0]}
        lines = [f'{{"k":"{k}","v":{v}}}' for k, values in cases.items() for v in values]
        self.start(*lines)
        job = self.group_job("k", "v: sum(v)")
        self.run_job(job)
        want = {k: {"k": k, "v": sum(values)} for k, values in cases.items()}
        self.assertEqual(want, self.totals(self.out))
        shutil.rmtree(self.state)  # and through the changelog's encoding
        self.feed('{"k":"up","v":1}')
        self.run_job(job)
        want["up"]["v"] += 1
        self.assertEqual(want, self.totals(self.out))

    # ---- bad input ----

    POISON = [b'{"k":"a","v":1}', b'{"k":"a","v":', b"", None, b"[" * 100000, b" " * 900000,
              b'{"k":"a","v":"7"}', b'{"k":"a","v":2}']

    def test_53_poison__skipped__counted_and_passed_for_good(self):
        self.start(*self.POISON)
        job = self.group_job("k", "v: sum(v)", source="errors: skip")
        summary = self.run_job(job)
        self.assertEqual((8, 5, 1),
                         (summary["records"], summary["skipped"], summary["null_values"]))
        self.assertEqual({"a": {"k": "a", "v": 3}}, self.totals(self.out))
        self.assertEqual([8], self.committed(self.job_name, self.topic))
        self.assertEqual(0, self.run_job(job)["records"])

    def test_53_poison__dead_letters__raw_bytes_with_reason_and_place(self):
        self.start(*self.POISON)
        self.assertEqual(5, self.run_job(self.group_job("k", "v: sum(v)"))["dead_letters"])
        dead = self.dump(f"{self.job_name}-dead-letters")
        bad = {1: self.POISON[1], 2: b"", 4: self.POISON[4], 5: self.POISON[5], 6: self.POISON[6]}
        got = {int(r.headers["__streams.errors.offset"]): r.value for r in dead}
        self.assertEqual(bad, got)
        for record in dead:
            self.assertEqual(b"0", record.headers["__streams.errors.partition"])
            self.assertEqual(self.topic.encode(), record.headers["__streams.errors.topic"])
            self.assertTrue(record.headers["__streams.errors.message"])
            self.assertTrue(record.headers["__streams.errors.exception"])

    def test_53_poison__fail__stops_at_its_offset_every_time(self):
        self.start(*self.POISON)
        job = self.group_job("k", "v: sum(v)", source="errors: fail")
        for _ in range(2):
            done = self.brine(*self.run_args(job, "--until-end"), code=2)
            self.assertIn(f"{self.topic}[0]@1".encode(), done.stderr)
            self.assertEqual([1], self.committed(self.job_name, self.topic))
        job = self.group_job("k", "v: sum(v)", source="errors: skip")  # goes on at that offset
        summary = self.run_job(job)
        self.assertEqual((7, 5), (summary["records"], summary["skipped"]))
        self.assertEqual({"a": {"k": "a", "v": 3}}, self.totals(self.out))


class JobFiles(flow.Flow):
    """What a job file may say: refused before anything is made. Unit tests have the details."""

    GOOD = ("name: {}\noperators:\n  - source: {{topic: in}}\n  - sink: {{topic: out}}\n")

    def validate(self, text, code):
        path = self.work / "job.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        done = self.brine("validate", path, code=code, flags=False, timeout=5)
        if code == 1:
            whole = not text.strip() or len(text) > 1_000_000  # then the file itself is at fault
            place = rb"" if whole else rb":\d+:\d+"
            self.assertRegex(done.stderr + done.stdout, rb"job\.yaml" + place + rb": ")
        return done

    def test_65_job_names__hostile__refused_and_nothing_made(self):
        for name in ("", ".", "..", "a/b", "../../tmp/x", "a%2Fb", "a b", "日本", '"a\\u0000b"',
                     "a" * 300, "-x", "null", "[a]"):
            self.validate(self.GOOD.format(name), 1)
        for name in ("0000002", "Ads", "ads", "7", "a.b_c-d", "a" * 100):
            self.validate(self.GOOD.format(name), 0)
        self.assertEqual(["job.yaml"], [path.name for path in self.work.iterdir()])

    def test_65_job_name__of_digits__stays_text(self):
        topic, name = self.name("in"), self.name("0000002")
        self.create(topic, 1)
        self.put(topic, [(b"k", b"{}")])
        job = self.job(f"name: {name}\noperators:\n  - source: {{topic: {topic}}}\n"
                       f"  - sink: {{topic: {self.name('out')}}}\n")
        self.assertEqual(name, self.run_job(job)["job"])
        self.assertEqual([1], self.committed(name, topic))

    def test_70_yaml__surprises__refused_with_line_and_column(self):
        good = self.GOOD.format("a")
        for text in ("name: b\n" + good, good + "---\nname: b\n", "", "\n",
                     "base: &b {name: x}\n<<: *b\n" + good,
                     good.replace("topic: in", "tpoic: in"), good.replace("  - sink", "\t- sink"),
                     "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n" + good,
                     good + "#" + "x" * 10_000_000, good[:30],
                     good + "settings: {commit_interval: 60}\n",
                     good + "settings: {commit_interval: 1.5m}\n",
                     good + "settings: {commit_interval: -5s}\n",
                     *(good.replace("topic: out", f"topic: out, partitions: {n}")
                       for n in ("08", "1_000", "1e3", "0x10", "-1", "0", "99999999999"))):
            self.validate(text, 1)

    def test_70_yaml__harmless_variants__accepted(self):
        good = self.GOOD.format("a")
        self.validate(b"\xef\xbb\xbf" + good.encode(), 0)
        self.validate(good.replace("\n", "\r\n"), 0)
        self.validate(json.dumps({"name": "a", "operators": [{"source": {"topic": "in"}},
                                                             {"sink": {"topic": "out"}}]}), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
