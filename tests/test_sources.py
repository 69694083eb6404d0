#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every citation in src, include and docs against docs/sources.md and the pages of docs/facts. Prints TAP.

    test_sources.py SOURCE_ROOT

Before it judges the tree it judges made-up lines, of which it must refuse exactly the wrong ones.
"""
import os
import re
import sys

PAGES = {"engine": "engine", "oracle": "oracles", "oracles": "oracles", "command": "commands", "guide": "guide"}
SECTION = r"(?:,? sections?)? (\d+(?:\.\d+)?(?:(?:, | and | to )\d+(?:\.\d+)?)*)"
SHEET = re.compile(r"\b(\w+) facts\b(?:" + SECTION + ")?")  # command facts 5.1 and 6
WHERE = re.compile(r"\b(engine|oracles) (\d+\.\d+) [A-DU]\b")  # the last column of the descriptor tables
GUIDE = re.compile(r"\b[Gg]uide (\d+\.\d+)")
BARE = re.compile(r'["(]facts:? \d')  # a section of which page?
# Words that are always a citation, and those that are one only in a page: in C they are names too.
WORDS = re.compile(r"\b(seeds?|guide|aneregs|ANEREGS|ORACLES|FACTS|jsw|lnx|oracle sheet|H16 map|ANEForge|T6021|allbilly|freedomtan)\b")
PAGE_WORDS = re.compile(r"\b(drv)\b(?! *[_.(*])")
DESIGN = re.compile(r"\b(design) (?:rule )?\d")
CHAPTER = re.compile(r"\b(?:seeds?,? )?ch\. ?(\d+)")
TABLE = re.compile(r"\bTables? ((?:\d+|[A-Z])\.\d+)")
SEED_CHAPTERS = {"2", "27", "28", "29", "30"}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def keys_of(text):
    """The code spans in the first column of the tables of docs/sources.md."""
    return {key for row in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE) for key in re.findall(r"`([^`]+)`", row)}


def sections_of(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".md"):
            found[name[:-3]] = set(re.findall(r"^##+ (\d+(?:\.\d+)?)\.? ", read(os.path.join(folder, name)), re.MULTILINE))
    return found


def problems(line, keys, sections, page):
    """What is wrong with the citations of a line."""
    found = []

    def need(key):
        if key not in keys:
            found.append(f"{key} has no row in docs/sources.md")

    def need_section(sheet, number):
        if number not in sections.get(PAGES[sheet], ()):
            found.append(f"docs/facts/{PAGES[sheet]}.md has no section {number}")

    for sheet, numbers in SHEET.findall(line):
        sheet = sheet.lower()
        if numbers or f"{sheet} facts" in keys:
            need(f"{sheet} facts")
        if sheet in PAGES:
            for number in re.findall(r"\d+(?:\.\d+)?", numbers):
                need_section(sheet, number)
    for sheet, number in WHERE.findall(line):
        need(sheet)
        need_section(sheet, number)
    for number in GUIDE.findall(line):
        need_section("guide", number)
    if BARE.search(line):
        found.append("facts of which page?")
    for pattern in (WORDS, DESIGN) + ((PAGE_WORDS,) if page else ()):
        for key in pattern.findall(line):
            need(key)
    for chapter in CHAPTER.findall(line):
        if chapter not in SEED_CHAPTERS:
            found.append(f"chapter {chapter} is not one of the seeds")
    for table in TABLE.findall(line):
        if table.split(".")[0] not in SEED_CHAPTERS:
            need(f"Table {table}")
    return found


def files(root):
    for folder, ends in (("src", (".c", ".h", ".def", ".S")), ("include", (".h",)), ("docs", (".md",))):
        for where, folders, names in os.walk(os.path.join(root, folder)):
            folders.sort()
            yield from (os.path.join(where, name) for name in sorted(names) if name.endswith(ends))


MADE_UP = (
    ("/* command facts 5.1 and 6 */", 0),
    ("/* command facts 5.1 and 9 */", 1),
    ("/* kernel facts 2 */", 1),
    ('X(A, 0, "engine 1.1 A")', 0),
    ('X(A, 0, "engine 1.9 A")', 1),
    ('X(A, 0, "facts 6")', 1),
    ("/* guide 1.1, guide 7.7 */", 1),
    ("as jsw saw it", 1),
    ("/* seeds ch. 28, Table 28.4 */", 0),
    ("/* seeds ch. 31; Table C.15 */", 2),
    ("/* design rule 6 */", 1),
    ("/* common to both: facts of the engine */", 0),
)
MADE_UP_KEYS = {"seeds", "guide", "guide facts", "command facts", "engine facts", "engine"}
MADE_UP_SECTIONS = {"commands": {"5.1", "6"}, "engine": {"1.1"}, "guide": {"1.1"}}


def main():
    root = sys.argv[1]
    wrong = [line for line, count in MADE_UP if len(problems(line, MADE_UP_KEYS, MADE_UP_SECTIONS, True)) != count]
    keys, sections = keys_of(read(os.path.join(root, "docs", "sources.md"))), sections_of(os.path.join(root, "docs", "facts"))
    found, cited = [], 0
    for path in files(root):
        for number, line in enumerate(read(path).splitlines(), 1):
            cited += bool(SHEET.search(line) or WHERE.search(line) or WORDS.search(line))
            found += [f"{os.path.relpath(path, root)}:{number}: {what}" for what in problems(line, keys, sections, path.endswith(".md"))]
    print("1..3")
    print(f"{'not ok' if wrong else 'ok'} 1 - made-up citations are judged")
    for line in wrong:
        print(f"# judged wrongly: {line}")
    print(f"{'ok' if cited > 300 else 'not ok'} 2 - citations are found ({cited} lines)")
    print(f"{'not ok' if found else 'ok'} 3 - every citation leads somewhere")
    for line in found:
        print(f"# {line}")
    return 1 if wrong or found or cited <= 300 else 0


if __name__ == "__main__":
    sys.exit(main())
