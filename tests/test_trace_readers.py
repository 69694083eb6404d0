#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A sentence of the trace is for people: programs read records. Prints TAP.

    test_trace_readers.py SOURCE_ROOT

Outside src/protocol no source of the library, the command, the bench and the examples may

- hold three words in a row of a sentence that src/protocol/trace_events.def declares, two in a file that reads the
  trace, as records or as lines: it would parse them or print them anew;
- search or scan text in a file that reads the trace.

Before it judges the tree it judges a made-up one, where it must find exactly the violations put there.
"""
import os
import re
import sys
import tempfile

import tap

ROOMS = ("src", "bench", "examples")
RENDERER = os.path.join("src", "protocol")
SOURCES = (".c", ".h", ".def", ".py")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
EVENT = re.compile(r'PR_TRACE_EVENT\(\d+,\s*(\w+),\s*\w+,\s*\w+,\s*"([^"]*)"\)')
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
JOINED = re.compile(r'"\s*\n\s*"')
READS = re.compile(r"\bpr_trace_(?:decode|next|at)\b|\btrace_fn\s*=|\btrace_record_fn\s*=")
PARSES = re.compile(r"\b(v?sscanf|strstr|strcasestr|strtok|strtok_r|memmem|regexec)\s*\(")


def sentences(root):
    """The fixed parts of each event's name that are words of a sentence, by event."""
    with open(os.path.join(root, RENDERER, "trace_events.def"), encoding="utf-8") as file:
        table = file.read()
    for event, name in EVENT.findall(table):
        for part in re.split(r"\{\w+\}", name):
            part = part.strip(" :,")
            if " " in part:
                yield event, part, len(part.split())


def source_files(root):
    for room in ROOMS:
        for where, folders, files in os.walk(os.path.join(root, room)):
            folders.sort()
            for name in sorted(files):
                path = os.path.relpath(os.path.join(where, name), root)
                if name.endswith(SOURCES) and not path.startswith(RENDERER + os.sep):
                    yield path


def parsers(root):
    """Every violation, as `file: what`."""
    found = []
    parts = list(sentences(root))
    for path in source_files(root):
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            text = JOINED.sub("", COMMENT.sub("", file.read()))
        reads = READS.search(text)
        for literal in LITERAL.findall(text):
            found += [f"{path}: \"{literal}\" has words of {event}" for event, part, words in parts
                      if part in literal and words >= (2 if reads else 3)]
        if reads:
            found += [f"{path}: reads the trace and calls {name}" for name in PARSES.findall(text)]
    return found


TABLE = """PR_TRACE_EVENT(1, LENT, DRIVER, PLAIN, "domain {domain} lent to client {client}")
PR_TRACE_EVENT(2, LONG, DRIVER, PLAIN,
               "it is over: {text}")
PR_TRACE_EVENT(3, MAP, DRIVER, PLAIN, "map")
PR_TRACE_EVENT(4, BOOT, DRIVER, PLAIN, "boot command {id}")
"""
MADE_UP = {
    "src/protocol/trace_events.def": TABLE,
    "src/protocol/trace.c": 'f("lent to client");',
    "src/tool/a.c": '/* "it is over" */ g("map"); g(" lent to "\n  "client %u");',
    "src/tool/b.c": 'pr_trace_decode(bytes); sscanf(text, "boot command %x", &id);',
    "src/tool/c.c": 'strstr(text, "boot command");',
    "bench/d.c": "config.trace_fn = f; strstr(line, word);",
    "examples/e.py": 'if "it is over" in line:',
}
WANTED = ['src/tool/a.c: " lent to client %u" has words of LENT',
          'src/tool/b.c: "boot command %x" has words of BOOT',
          "src/tool/b.c: reads the trace and calls sscanf",
          "bench/d.c: reads the trace and calls strstr",
          'examples/e.py: "it is over" has words of LONG']


def check_made_up_tree():
    with tempfile.TemporaryDirectory() as root:
        for path, text in MADE_UP.items():
            path = os.path.join(root, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        found = parsers(root)
    return [] if found == WANTED else [f"found {found}"]


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    results = [("finds who parses sentences in a made-up tree", check_made_up_tree()),
               ("no program parses a sentence of the trace", parsers(root))]
    return tap.report(results)


if __name__ == "__main__":
    sys.exit(main())
