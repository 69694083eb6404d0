#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the public headers are a manual which the tests hold to. Prints TAP.

    test_headers.py SOURCE_ROOT

Every ANE_API function of include/anemone has a comment directly above it and is called by a test or an
example. A function that returns a status names at least one status there, and every status that such a
comment names occurs in a test. No line is wider than 110 columns.

Before it judges the tree it judges a made-up one, where it must find exactly the violations put there.
"""
import os
import re
import sys

import tap
import tree

COLUMNS = 110
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DECLARATION = re.compile(r"^ANE_API\s+([^;(]*?)(\w+)\(", re.MULTILINE)
STATUS = re.compile(r"(?<![\w-])(?:kIOReturn[A-Z]\w*|ANE_RETURN_[A-Z_]+|E5RT_[A-Z0-9_]+|-E[A-Z0-9]+)(?!\w)")
STATUS_TYPES = ("IOReturn", "int64_t")
SOURCES = (".c", ".h")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def code_below(folder):
    """All sources of a folder as one text, without comments: a name in a comment is not a test."""
    return "\n".join(COMMENT.sub(" ", read(path)) for path in tree.source_files(folder, SOURCES))


def comment_above(text, start):
    """The comment that ends on the line directly above `start`, or None."""
    before = text[:start]
    if not before.endswith("*/\n"):
        return None
    return before[before.rindex("/*"):]


def functions_of(text):
    """(name, result type, line, comment or None) of each public function."""
    for match in DECLARATION.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield match[2], match[1].strip(), line, comment_above(text, match.start())


def words_of(code):
    """Its words, those with a minus sign before them in both forms: megabytes are searched once."""
    return set(re.findall(r"\w+", code)) | set(re.findall(r"(?<!\w)-\w+", code))


def calls_of(code):
    return set(re.findall(r"\b(\w+)\s*\(", code))


def check_comments(where, text):
    problems = []
    for name, result, line, comment in functions_of(text):
        if comment is None:
            problems.append(f"{where}:{line}: {name} has no comment directly above it")
        elif result in STATUS_TYPES and not STATUS.search(comment):
            problems.append(f"{where}:{line}: {name} returns a status, and its comment names none")
    return problems


def check_statuses(where, text, words):
    return [f"{where}:{line}: {name} may return {status}, which no test names"
            for name, _, line, comment in functions_of(text)
            for status in sorted(set(STATUS.findall(comment or ""))) if status not in words]


def check_calls(where, text, called):
    return [f"{where}:{line}: no test or example calls {name}" for name, _, line, _ in functions_of(text) if name not in called]


def check_width(where, text):
    return [f"{where}:{number}: {len(line)} columns; the limit is {COLUMNS}"
            for number, line in enumerate(text.split("\n"), 1) if len(line) > COLUMNS]


def check_tree(root):
    """A list of (what was checked, its problems)."""
    tests = code_below(os.path.join(root, "tests"))
    words, called = words_of(tests), calls_of(tests) | calls_of(code_below(os.path.join(root, "examples")))
    results, functions = [], 0
    for path in tree.source_files(os.path.join(root, "include", "anemone"), SOURCES):
        where, text = os.path.relpath(path, root).replace(os.sep, "/"), read(path)
        functions += sum(1 for _ in functions_of(text))
        results += [(f"{where}: every function has its comment", check_comments(where, text)),
                    (f"{where}: every status it names is in a test", check_statuses(where, text, words)),
                    (f"{where}: every function is called", check_calls(where, text, called)),
                    (f"{where}: fits into {COLUMNS} columns", check_width(where, text))]
    results.append(("there are public functions", [] if functions else ["include/anemone declares none"]))
    return results


# path, text, what must be found in it
MADE_UP_FILES = [
    ("include/anemone/a.h", """\
#define ANE_API
/* Opens. 0 or -EINVAL. */
ANE_API int ane_open(void);

/* Far away. */

ANE_API void ane_far(void);
ANE_API void ane_bare(void);
/*
 * Sends. kIOReturnBusy when it is
 * busy; ANE_RETURN_GONE, -ENODEV.
 */
ANE_API IOReturn ane_send(int first,
                          int second);
/* Waits. */
ANE_API IOReturn ane_wait(void);
/* Reads. E5RT_OK and E5RT_NO_MEMORY. */
ANE_API int64_t ane_read(void);
/* A name, which is not a status: XE5RT_OK, pre-EMPT. */
ANE_API const char *ane_name(
    void);
""" + "/*" + "x" * 120 + "*/\n",
     ["include/anemone/a.h:7: ane_far has no comment directly above it",
      "include/anemone/a.h:8: ane_bare has no comment directly above it",
      "include/anemone/a.h:8: no test or example calls ane_bare",
      "include/anemone/a.h:13: ane_send may return -ENODEV, which no test names",
      "include/anemone/a.h:13: ane_send may return ANE_RETURN_GONE, which no test names",
      "include/anemone/a.h:16: ane_wait returns a status, and its comment names none",
      "include/anemone/a.h:18: ane_read may return E5RT_NO_MEMORY, which no test names",
      "include/anemone/a.h:18: no test or example calls ane_read",
      "include/anemone/a.h:22: 124 columns; the limit is 110"]),
    ("tests/test_a.c", """\
/* ane_bare(), ANE_RETURN_GONE */
f(ane_open(), -EINVAL); ane_far (); ane_send(1, 2); g(kIOReturnBusy, ANE_RETURN_GONE_TOO, E5RT_OK);
not_ane_read(); ane_wait();
""", []),
    ("examples/b.c", "ane_name();\nE5RT_NO_MEMORY;\n", []),
]


def check_made_up_tree():
    results = tree.made_up({path: text for path, text, _ in MADE_UP_FILES}, check_tree)
    return tree.differences([problem for _, _, problems in MADE_UP_FILES for problem in problems],
                            [problem for _, problems in results for problem in problems])


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    results = [("finds the violations of a made-up tree", check_made_up_tree())] + check_tree(root)
    return tap.report(results)


if __name__ == "__main__":
    sys.exit(main())
