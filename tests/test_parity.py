#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Words that our compiler emits beside those that Apple's compiler emits for the same network. Prints TAP.

    ANEMONE_PROGRAMS=FOLDER [ANEMONE_ORACLES=FOLDER] test_parity.py ANEMONE [--page]

The programs are the public images of the shared folder, for which the network is written here; the oracles are records of the public corpus
joshuaswarren/mil-hwx-compiler (research/oracles/h13/*.json), each of which has the text of its network and the words of its descriptors. Neither is
ours to keep in the tree. A word that Apple's descriptor writes is compared with ours: header words by number, registers by address. Every word that
differs must have a reason in REASONS: the test fails for one that has none. --page prints the tables of docs/parity.md.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from oracle import program  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith("ANEMONE")}
PLAIN["ANEMONE_SERVICE"] = "none"

ALL = 0xFFFFFFFF

# (kind, first, last, bits that may differ, reason, what). The first row that holds a word counts.
REASONS = [
    ("header", 1, 1, 0xFFFF, "estimate", "ExeCycles: Apple's estimate of the cycles; ours is 0"),
    ("header", 2, 2, 0x8, "version", "LogEvents: one bit more in newer compilers, and here"),
    ("header", 8, 8, 0x701FFDF, "buffers", "numbers of buffers: newer compilers number surfaces by name; 4.2.1 and we have outputs first"),
    ("register", 0x2C, 0x2C, ALL, "patch", "PatchCfg: how the planar engine cuts a tensor; its rule is not public"),
    ("register", 0x34, 0x34, 0x43F7700, "strips", "Cfg: strip heights (ShPref, ShMin, ShMax), AccDoubleBufEn, engines of a task without weights"),
    ("register", 0x28, 0x28, ALL, "strips", "TileHeight: rows of a strip; ours is the whole height"),
    ("register", 0x4808, 0x482C, ALL, "staging", "place and strides in L2 of what passes by DMA; without effect"),
    ("register", 0x4830, 0x4830, 0x8, "version", "ResultCfg.L2BfrMode of a convolution: set by newer compilers, and here"),
    ("register", 0x4834, 0x4844, ALL, "staging", "place and strides in L2 of a result that passes by DMA; without effect"),
    ("register", 0x13814, 0x13818, ALL, "length 1", "strides along an axis of length 1: 0 by 4.2.1"),
    ("register", 0x13828, 0x1382C, ALL, "length 1", "strides along an axis of length 1: 0 by 4.2.1"),
    ("register", 0x17800, 0x17800, 0x4000000, "version", "DMAConfig.L2BfrMode, with that of ResultCfg"),
    ("register", 0x17810, 0x17814, ALL, "length 1", "strides along an axis of length 1: 0 by 4.2.1"),
    ("register", 0x17818, 0x17818, 0x300000, "row tails", "Fmt: Apple's results fill the tails of rows with zeros; ours leave them"),
    ("register", 0x13840, 0x13840, 0x100, "version", "Unknown40: set by newer compilers, and here; not in planar tasks of 4.2.1"),
    ("register", 0xC800, 0xC800, 0x82, "version", "KernelCfg: idle values, in planar tasks and with tables, since newer compilers"),
    ("register", 0xC804, 0xC804, 0x101F00, "version", "MACCfg: Bit20 in planar tasks and BinaryPoint of a bypass, since newer compilers"),
    ("register", 0x1F800, 0x1F8F4, ALL, "kernel", "streams of engines: idle values by version; one engine or all read a table"),
    ("register", 0x1C, 0x1C, 0x1C00, "lanes", "ConvCfg.OCGSize: output channels of one engine and pass; the rule is not public"),
]
# Registers that say how long the axes are, and the strides that go with them.
EXTENTS = (0x0, 0xC, 0x10, 0x14)
STRIDES = (0x1380C, 0x13810, 0x17808, 0x1780C)
AXES = "axes"
AXES_TEXT = "copies and tables see a tensor with as few axes as its strides allow: a row of channels is a row of rows"


def mil(inputs, body, output):
    ports = ", ".join("tensor<fp16, [%s]> %s" % (", ".join(map(str, shape)), name) for name, shape in inputs)
    return "program(1.3)\n{\n    func main<ios18>(%s) {\n        %s\n    } -> (%s);\n}\n" % (ports, body, output)


def tensor(shape):
    return "tensor<fp16, [%s]>" % ", ".join(map(str, shape))


def unary(name, shape):
    return mil([("x", shape)], "%s y = %s(x = x)[name = string(\"y\")];" % (tensor(shape), name), "y")


def added(shape):
    return mil([("a", shape), ("b", shape)], "%s y = add(x = a, y = b)[name = string(\"y\")];" % tensor(shape), "y")


def convolved(channels):
    """1x1 with all weights 2: what the weights are does not reach a descriptor."""
    kernel = "tensor<fp16, [%d, %d, 1, 1]>" % (channels, channels)
    weights = ", ".join(["2"] * (channels * channels))
    return mil([("x", (1, channels, 1, 1))],
               "%s w = const()[name = string(\"w\"), val = %s([%s])];\n        %s y = conv(x = x, weight = w)[name = string(\"y\")];"
               % (kernel, kernel, weights, tensor((1, channels, 1, 1))), "y")


PROGRAMS = {  # the shared images, and the network that each is
    "sum.hwx": added((1, 64, 1, 1)),
    "relu.hwx": unary("relu", (1, 1, 1, 77)),
    "sigmoid.hwx": unary("sigmoid", (1, 1, 1, 77)),
    "conv.hwx": convolved(3),
    "gemm.hwx": convolved(512),
}


def write_weights(record, folder):
    """The one weight file that a network of the corpus has: every number 0.5, which is what the corpus was made with."""
    weights = record.get("weights", {})
    if weights.get("storage") != "BLOBFILE":
        return
    size = weights["payload_bytes"]
    with open(os.path.join(folder, "weights.bin"), "wb") as file:
        file.write(struct.pack("<II", 1, 2).ljust(64, b"\0"))
        file.write(struct.pack("<IIQQ", 0xDEADBEEF, 1, size, 128).ljust(64, b"\0"))
        file.write(b"\x00\x38" * (size // 2))


def our_tasks(anemone, text, folder):
    source, image = os.path.join(folder, "network.mil"), os.path.join(folder, "network.hwx")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    result = subprocess.run([anemone, "compile", source, "--hwx", image], capture_output=True, text=True, check=False,
                            env=dict(PLAIN, XDG_CACHE_HOME=folder))
    if result.returncode:
        raise ValueError(result.stderr.strip())
    with open(image, "rb") as file:
        return [words_of(task) for task in program.read_hwx(file.read()).tasks]


def words_of(task):
    words = {("header", i): word for i, word in enumerate(task.header)}
    words.update({("register", address): word for address, word in task.registers.items()})
    return words


def oracle_words(record):
    """The words of a record of the corpus: those that the descriptor writes, no others."""
    words = {("header", i): int(word, 16) for i, word in enumerate(record["header_words"])}
    for block in record["blocks"].values():
        words.update({("register", int(address, 16)): int(word, 16) for address, word in block["words"].items()})
    return words


def elements(words):
    """Of source and result of a task."""
    size, out = words.get(("register", 0), 0), words.get(("register", 0x14), 0)
    return ((size & 0x7FFF) * (size >> 16) * words.get(("register", 0xC), 0), (out & 0x7FFF) * (out >> 16) * words.get(("register", 0x10), 0))


def reason_of(place, theirs, ours):
    """Why a word differs; None: there is no reason."""
    kind, number = place
    bits = theirs[place] ^ ours.get(place, 0)
    if kind == "register" and number in EXTENTS + STRIDES:
        moved = elements(theirs) == elements(ours) and any(theirs[("register", at)] != ours.get(("register", at)) for at in EXTENTS)
        return AXES if moved else None
    for row in REASONS:
        if row[0] == kind and row[1] <= number <= row[2] and not bits & ~row[3]:
            return row[4]
    return None


class Comparison:
    """One program: how many words are equal, and of the others how many by reason."""

    def __init__(self, name, theirs, ours):
        self.name, self.descriptors, self.ours = name, len(theirs), len(ours)
        self.words = self.equal = 0
        self.reasons, self.unexplained = {}, []
        for index, words in enumerate(theirs):
            self.compare(index, words, ours[index] if index < len(ours) else {})

    def compare(self, index, theirs, ours):
        for place, word in sorted(theirs.items()):
            self.words += 1
            if ours.get(place, 0) == word:
                self.equal += 1
                continue
            why = reason_of(place, theirs, ours) if ours else "descriptors"
            if why:
                self.reasons[why] = self.reasons.get(why, 0) + 1
            else:
                self.unexplained.append("descriptor %d, %s %x: %x, ours %x" % (index, *place, word, ours.get(place, 0)))

    def line(self):
        others = ", ".join("%d %s" % (count, why) for why, count in sorted(self.reasons.items(), key=lambda row: (-row[1], row[0])))
        return "%s: %d of %d words equal, %.1f %%%s" % (self.name, self.equal, self.words, 100 * self.equal / self.words,
                                                       "; " + others if others else "")


def compare_programs(anemone, folder, work):
    for name, text in PROGRAMS.items():
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            continue
        with open(path, "rb") as file:
            theirs = [words_of(task) for task in program.read_hwx(file.read()).tasks]
        yield Comparison(name, theirs, our_tasks(anemone, text, work))


def compare_oracles(anemone, folder, work):
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".json"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            record = json.load(file)
        if not record.get("task_descriptors"):
            continue
        theirs = [oracle_words(task) for task in record["task_descriptors"]]
        write_weights(record, work)
        try:
            ours = our_tasks(anemone, record["mil"], work)
        except ValueError as error:
            print("# %s is refused: %s" % (name, error))
            continue
        yield Comparison(record["case"], theirs, ours)


def print_page(found):
    print("| network | descriptors | ours | words | equal | |\n|---|---|---|---|---|---|")
    for one in found:
        print("| %s | %d | %d | %d | %d | %.1f %% |" % (one.name, one.descriptors, one.ours, one.words, one.equal, 100 * one.equal / one.words))
    print("\n| reason | words | what |\n|---|---|---|")
    for why in list(dict.fromkeys(row[4] for row in REASONS)) + [AXES]:
        count = sum(one.reasons.get(why, 0) for one in found)
        what = "; ".join(dict.fromkeys(row[5] for row in REASONS if row[4] == why)) or AXES_TEXT
        if count:
            print("| %s | %d | %s |" % (why, count, what))


def main():
    anemone = os.path.abspath(sys.argv[1])
    programs = os.environ.get("ANEMONE_PROGRAMS", os.path.join(HERE, "..", "..", "shared", "programs"))
    oracles = os.environ.get("ANEMONE_ORACLES", "")
    if not os.path.isdir(programs) and not os.path.isdir(oracles):
        print("1..0 # SKIP there is neither the folder of shared programs nor one of oracles (ANEMONE_PROGRAMS, ANEMONE_ORACLES)")
        return 0
    with tempfile.TemporaryDirectory() as work:
        found = list(compare_programs(anemone, programs, work)) if os.path.isdir(programs) else []
        found += list(compare_oracles(anemone, oracles, work)) if os.path.isdir(oracles) else []
    if "--page" in sys.argv[2:]:
        print_page(found)
        return 0
    for number, one in enumerate(found, 1):
        for line in one.unexplained:
            print("# %s: no reason for %s" % (one.name, line))
        print("%s %d - %s" % ("not ok" if one.unexplained else "ok", number, one.line()))
    words, equal = sum(one.words for one in found), sum(one.equal for one in found)
    print("# in all: %d of %d words equal, %.1f %%" % (equal, words, 100 * equal / max(words, 1)))
    print("1..%d" % len(found))
    return any(one.unexplained for one in found)


if __name__ == "__main__":
    sys.exit(main())
