#!/usr/bin/env python3
"""tests/tidy/test_style.py - shows that style.py finds what it is there for."""
import pathlib
import unittest

import style

NAME = pathlib.Path("state/env.c")
HEADER = pathlib.Path("state/env.h")
GOOD = ["/* state/env.c - an example. */", "static int one(void)", "{", "    return 1;", "}"]


def function(length, inside="    x();"):
    return ["static void f(void)", "{"] + [inside] * (length - 2) + ["}"]


class Style(unittest.TestCase):
    def check_one(self, faults, word):
        faults = list(faults)
        self.assertEqual(1, len(faults), faults)
        self.assertIn(word, faults[0])

    def test_good_file__no_fault(self):
        for check in (style.check_lines, style.check_file, style.check_functions):
            self.assertEqual([], list(check(NAME, GOOD)))

    def test_lines__at_and_over_the_limit(self):
        self.assertEqual([], list(style.check_lines(NAME, ["x" * 100])))
        self.check_one(style.check_lines(NAME, ["x" * 101]), "101 columns")
        self.check_one(style.check_lines(NAME, ["\tx"]), "a tab")
        self.check_one(style.check_lines(NAME, ["x "]), "blanks")
        self.check_one(style.check_lines(NAME, ["/* TO" "DO: later */"]), "reminder")

    def test_functions__at_and_over_the_limit(self):
        self.assertEqual([], list(style.check_functions(NAME, function(70))))
        self.check_one(style.check_functions(NAME, function(71)), "71 lines")
        self.check_one(style.check_functions(NAME, function(3, " " * 20 + "if (x)")), "nested")

    def test_files__at_and_over_the_limit(self):
        self.assertEqual([], list(style.check_file(NAME, GOOD[:1] + [""] * 599)))
        self.check_one(style.check_file(NAME, GOOD[:1] + [""] * 600), "601 lines")
        self.check_one(style.check_file(NAME, ["int x;"]), "must begin with")

    def test_headers__guard_and_first_comment(self):
        first = "/* state/env.h - an example. */"
        self.assertEqual([], list(style.check_file(HEADER, [first, "#ifndef BR_STATE_ENV_H"])))
        self.check_one(style.check_file(HEADER, [first, "#ifndef BR_ENV_H"]), "guard")
        self.check_one(style.check_file(HEADER, [first]), "guard")


if __name__ == "__main__":
    unittest.main()
