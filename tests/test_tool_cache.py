#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`anemone cache`: which entries are dropped, by use, by key and by the limit; and the times that `anemone run` reports apart.
Prints TAP.

    test_tool_cache.py ANEMONE
"""
import json
import os
import subprocess
import sys
import tempfile

import mil
import tap


class Rig:
    def __init__(self, anemone, folder):
        self.anemone, self.folder = anemone, folder
        self.environment = dict(os.environ, XDG_CACHE_HOME=folder, ANEMONE_SERVICE="none")
        self.environment.pop("ANEMONE_CACHE_BYTES", None)

    def run(self, *words, **variables):
        return subprocess.run([self.anemone, *words], capture_output=True, text=True, check=False, env=dict(self.environment, **variables))

    def model(self, name, width=32):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(mil.program([("x", [1, 4, 1, width])], [f"tensor<fp16, [1, 4, 1, {width}]> y = relu(x = x);"], ["y"]))
        return path

    def entries(self, *words, **variables):
        """Keys, last used first; the whole answer."""
        done = self.run("cache", *(words or ("ls",)), "--json", **variables)
        if done.returncode:
            return None, done.stderr
        answer = json.loads(done.stdout)
        return [entry["key"] for entry in answer["entries"]], answer

    def compile(self, model, *words, **variables):
        done = self.run("compile", model, "--json", *words, **variables)
        return (json.loads(done.stdout) if not done.returncode else {}), done.stderr


def least_recent(rig):
    models = [rig.model(f"net{i}.mil", 32 + i) for i in range(3)]
    keys = [rig.compile(model)[0]["key"] for model in models]
    rig.compile(models[0])  # a hit is a use
    listed, answer = rig.entries()
    problems = [] if listed == [keys[0], keys[2], keys[1]] else [f"order {listed}"]
    if sorted(entry["model"] for entry in answer["entries"]) != ["net0.mil", "net1.mil", "net2.mil"]:
        problems.append(f"names {answer}")
    two = sum(entry["bytes"] for entry in answer["entries"][:2])
    listed, answer = rig.entries("gc", "--limit", str(two))
    if listed != [keys[0], keys[2]] or answer["bytes"] != two or not answer["removed_bytes"]:
        problems.append(f"after gc {answer}")
    return problems


def bounded(rig):
    """A compilation trims to the variable; an entry that is larger than that is not kept and says so."""
    model = rig.model("large.mil", 64)
    listed, answer = rig.entries()
    most = max(entry["bytes"] for entry in answer["entries"])
    made, said = rig.compile(model, ANEMONE_CACHE_BYTES=str(most + 100))
    after, _ = rig.entries()
    problems = [] if after == [made["key"]] and len(listed) > 1 and not said else [f"{after} {said}"]
    other = rig.model("other.mil", 65)
    made, said = rig.compile(other, ANEMONE_CACHE_BYTES="16")
    if made["bundle"] or "ANEMONE_CACHE_BYTES" not in said or rig.entries()[0]:
        problems.append(f"{made} {said}")
    made, said = rig.compile(other, ANEMONE_CACHE_BYTES="lots")
    if not made["bundle"] or "not a number of bytes" not in said:
        problems.append(f"{made} {said}")
    if rig.entries("ls", ANEMONE_CACHE_BYTES="3K")[1]["limit"] != 3072:
        problems.append("3K is not 3072")
    return problems


def removed(rig):
    keys = [rig.compile(rig.model(f"gone{i}.mil", 80 + i))[0]["key"] for i in range(4)]
    done = rig.run("cache", "rm", keys[0], "0123456789abcdef")
    problems = [] if done.returncode == 1 and keys[0] in rig.entries()[0] else ["one wrong key does not keep the others"]
    left, _ = rig.entries("rm", keys[0], keys[1][:12], keys[1])
    if keys[0] in left or keys[1] in left or keys[2] not in left:
        problems.append(f"left {left}")
    left, _ = rig.entries("rm", "--all")
    return problems + ([f"left {left}"] if left else [])


def old_words(rig):
    key = rig.compile(rig.model("old.mil", 90))[0]["key"]
    same = rig.entries("list")[0] == rig.entries("ls")[0] == [key]
    gone = rig.entries("remove", key)[0] == []
    rig.compile(rig.model("old.mil", 90))
    trimmed = rig.entries("trim", "0")[0] == [] and rig.entries("clear")[0] == []
    return [] if same and gone and trimmed else ["list, remove, trim or clear"]


def wrong_words(rig):
    cases = (("rm",), ("rm", "--all", "abcd"), ("gc", "5"), ("gc", "--limit", "5T"), ("ls", "--all"), ("ls", "x"), ("ls", "--limit", "1"),
             ("trim",), ("gc", "--limit", "-1"), ("gc", "--limit", "18446744073709551615K"), ("throw",), ())
    return [f"{words}: {done.returncode}" for words in cases for done in (rig.run("cache", *words),) if done.returncode != 2]


def odd_names(rig):
    """A name with characters that a terminal or JSON would take otherwise, and a long one."""
    first, second = rig.model('a"\\\x1b[31m\n.mil', 100), rig.model("n" * 200 + ".mil", 101)
    for model in (first, second):
        _, said = rig.compile(model)
        if said:
            return [said]
    names = [entry["model"] for entry in rig.entries()[1]["entries"]]
    text = rig.run("cache", "ls").stdout
    return [] if names == ["n" * 63, "a____31m_.mil"] and "\x1b" not in text else [f"{names} {text!r}"]


def times(rig):
    model, tensor = rig.model("timed.mil"), os.path.join(rig.folder, "x.npy")
    mil.write_npy(tensor, "<f2", [1, 4, 1, 32], [1.0] * 128)
    problems = []
    for repeat in (1, 2, 50):
        done = rig.run("run", model, "--input", "x=" + tensor, "--repeat", str(repeat), "--json")
        answer = json.loads(done.stdout)
        parts = (answer["compile_ms"], answer["load_ms"], answer["first_dispatch_us"], answer["latency_us"]["p50"])
        if min(parts) <= 0 or answer["repeat"] != repeat:
            problems.append(f"{repeat}: {parts}")
    text = rig.run("run", model, "--input", "x=" + tensor, "--repeat", "5").stdout
    if "first dispatch" not in text or "4 warm dispatches" not in text:
        problems.append(text)
    return problems


def main():
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(sys.argv[1], folder)
        cases = (("the least recently used goes first", least_recent), ("the limit of the environment", bounded),
                 ("entries by key, and all", removed), ("the older words", old_words), ("wrong words", wrong_words),
                 ("names of models are cut and plain", odd_names), ("compiling, loading, first and warm dispatches", times))
        return tap.report([(name, case(rig)) for name, case in cases])


if __name__ == "__main__":
    sys.exit(main())
