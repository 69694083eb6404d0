#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manual page against the command: every verb, and every option that a verb's help lists, in the section of the verb. Prints
TAP.

    test_manual.py ANEMONE SOURCE_ROOT
"""
import os
import re
import subprocess
import sys

import tap

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def text_of(anemone, *words):
    return subprocess.run([anemone, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def sections(page):
    """The text of each verb's section, without the marks of the page."""
    plain = page.replace("\\-", "-")
    plain = re.sub(r"\\f[A-Z]", "", plain)
    found = {}
    for part in re.split(r"^\.SS ", plain[plain.index(".SH VERBS"):plain.index(".SH ", plain.index(".SH VERBS") + 4)], flags=re.MULTILINE)[1:]:
        verb = part.split()[1]
        found[verb] = found.get(verb, "") + part
    return found


def problems_of(anemone, verb, section):
    """The options of the first paragraph and those that begin a line; others are in examples, and may be of other verbs."""
    text = text_of(anemone, verb, "--help")
    listed = set(OPTION.findall(text.split("\n\n")[0])) | set(re.findall(r"^  (--[a-z-]+)", text, re.MULTILINE))
    return [f"{option} is not in the page" for option in sorted(listed - {"--help"} - set(OPTION.findall(section)))]


def main():
    anemone, root = sys.argv[1:]
    with open(os.path.join(root, "man", "anemone.1"), encoding="utf-8") as file:
        found = sections(file.read())
    verbs = re.findall(r"^  (\w+) +\S", text_of(anemone, "--help").split("Verbs:\n")[1].split("\n\n")[0], re.MULTILINE)
    results = [("the page has a section for every verb", sorted(set(verbs) ^ set(found)))]
    results += [(f"options of {verb}", problems_of(anemone, verb, found.get(verb, ""))) for verb in verbs]
    return tap.report(results)


if __name__ == "__main__":
    sys.exit(main())
