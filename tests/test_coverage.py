#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ledger in docs/ledger against the tree: sources, tests and decisions that it names exist, and docs/coverage.md is what it renders. Prints TAP.

    test_coverage.py SOURCE_ROOT

The checker is tried on claims about a small made-up tree first: a sound one passes, and each unsound one is reported.
"""
import importlib.machinery
import importlib.util
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True


def load_renderer(root):
    path = os.path.join(root, "scripts", "render-coverage")
    loader = importlib.machinery.SourceFileLoader("render_coverage", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("render_coverage", loader))
    loader.exec_module(module)
    return module


class Tree:
    """What a claim may refer to."""

    def __init__(self, root):
        self.root = root
        self.texts = {}
        build = re.sub(r"#.*", "", self.text("tests/meson.build") or "")
        self.programs = self.listed(build, "test_nouns") | self.listed(build, "served_nouns") | set(re.findall(r"executable\('test_(\w+)'", build))
        self.scripts = {f"test_{noun}.sh" for noun in self.listed(build, "test_scripts")} | set(re.findall(r"files\('(test_\w+\.(?:py|sh))'\)", build))
        self.decisions = set(re.findall(r"^\| (.*?) \| ", self.text("docs/provenance.md") or "", re.MULTILINE))

    @staticmethod
    def listed(build, name):
        found = re.search(rf"^{name} = \[(.*?)\]", build, re.MULTILINE | re.DOTALL)
        return set(re.findall(r"'(\w+)'", found[1])) if found else set()

    def text(self, path):
        if path not in self.texts:
            try:
                with open(os.path.join(self.root, path), encoding="utf-8") as file:
                    self.texts[path] = file.read()
            except OSError:
                self.texts[path] = None
        return self.texts[path]

    def source_problem(self, entry):
        path, _, name = entry.partition(":")
        text = self.text(path) if re.match(r"(src|include)/", path) else None
        if text is None:
            return f"{path} is not a source file"
        function = rf"^\w[\w\s*]*\b{name}\([^;{{]*\)\s*{{"
        if not re.fullmatch(r"\w+", name) or not re.search(rf"{function}|^(struct|union|enum) {name} {{", text, re.MULTILINE):
            return f"{path} does not define {name or 'anything without a name'}"
        return None

    def test_problem(self, entry):
        program, _, name = entry.partition(":")
        if "." in program:
            if name or program not in self.scripts or self.text(f"tests/{program}") is None:
                return f"{entry} is not a script that tests/meson.build runs"
            return None
        text = self.text(f"tests/{program}.c")
        if text is None or program.removeprefix("test_") not in self.programs:
            return f"{program} is not a program that tests/meson.build runs"
        if not re.fullmatch(r"\w+", name) or not re.search(rf"^static void {name}\(void \*\*state\)", text, re.MULTILINE):
            return f"tests/{program}.c does not define {name or 'a test without a name'}"
        if not re.search(rf"\(\s*{name}\s*[,)]", text[text.find("\nint main("):]):
            return f"tests/{program}.c does not run {name}"
        return None


# What a claim of a state must have (True) and may not have (False).
NEEDED = {
    "enforced": {"where": True, "test": True, "decision": False},
    "untested": {"where": True, "test": False, "decision": False},
    "printed": {"decision": False},
    "missing": {"where": False, "test": False, "decision": False},
    "contradicted": {"where": True, "decision": False},
    "decided-otherwise": {"where": True, "decision": True},
}


def claim_problems(claim, tree, renderer):
    if not re.fullmatch(r"ch\d\d-\d\d\d", claim["id"]) or claim["id"][:4] not in renderer.CHAPTERS:
        yield "the id is not chapter, dash and three digits"
    if claim["heading"] not in renderer.HEADINGS:
        yield f"{claim['heading']} is not a heading of scripts/render-coverage"
    if not re.fullmatch(r"text|[TL]\d+\.\d+", claim["seed"]):
        yield f"{claim['seed']} is not text, a table or a listing"
    if not claim["claim"]:
        yield "the claim is empty"
    if claim["state"] not in renderer.STATES:
        yield f"{claim['state']} is not a state"
    for column, needed in NEEDED.get(claim["state"], {}).items():
        if bool(claim[column]) != needed:
            yield f"a claim that is {claim['state']} {'needs' if needed else 'cannot have'} an entry in the column {column}"
    yield from filter(None, map(tree.source_problem, claim["where"]))
    yield from filter(None, map(tree.test_problem, claim["test"]))
    if claim["decision"] and claim["decision"] not in tree.decisions:
        yield f"docs/provenance.md has no row that begins with {claim['decision']}"


def problems(claims, tree, renderer):
    seen, found = set(), []
    for claim in claims:
        if claim["id"] in seen:
            found.append(f"{claim['id']}: the id is used twice")
        seen.add(claim["id"])
        found += [f"{claim['id']}: {problem}" for problem in claim_problems(claim, tree, renderer)]
    return found


MADE_UP = {
    "src/room/noun.c": "struct noun {\n    int x;\n};\nstatic int declared(int x);\n\nint room_noun_make(struct noun *noun,\n"
                       "                   int x)\n{\n    return called(x);\n}\n",
    "tests/test_noun.c": "static void it_runs(void **state)\n{\n}\nstatic void it_is_left_out(void **state)\n{\n}\n"
                         "int main(void)\n{\n    const struct CMUnitTest tests[] = {cmocka_unit_test(it_runs)};\n}\n",
    "tests/test_idle.c": "static void it_runs(void **state)\n{\n}\nint main(void)\n{\n    run(it_runs);\n}\n",
    "tests/test_noun.sh": "echo 1..1\n",
    "tests/test_idle.sh": "echo 1..1\n",
    "tests/meson.build": "test_nouns = [\n  'noun', # 'idle'\n]\ntest_scripts = [\n  'noun',\n]\n",
    "docs/provenance.md": "| question | decision |\n|---|---|\n| colour of the noun | blue |\n",
}
SOUND = {"id": "ch27-001", "heading": "selectors", "seed": "T27.2", "claim": "a claim", "state": "enforced", "where": ["src/room/noun.c:room_noun_make"],
         "test": ["test_noun:it_runs"], "decision": "", "note": ""}
DECIDED = {"state": "decided-otherwise", "test": [], "decision": "colour of the noun"}
# A change of the sound claim, and a word of the problem that must be reported; none when the claim stays sound.
CHANGES = [
    ({}, None),
    ({"where": ["src/room/noun.c:noun"], "test": ["test_noun.sh"]}, None),
    (DECIDED, None),
    ({"state": "missing", "where": [], "test": []}, None),
    ({"id": "ch27-1"}, "three digits"),
    ({"id": "ch31-001"}, "three digits"),
    ({"heading": "selector"}, "not a heading"),
    ({"seed": "27.2"}, "a table or a listing"),
    ({"claim": ""}, "empty"),
    ({"state": "done"}, "not a state"),
    ({"where": []}, "needs an entry in the column where"),
    ({"test": []}, "needs an entry in the column test"),
    ({"state": "untested"}, "cannot have an entry in the column test"),
    ({"state": "missing", "test": []}, "cannot have an entry in the column where"),
    ({"state": "contradicted", "where": []}, "needs an entry in the column where"),
    ({"where": ["src/room/verb.c:room_noun_make"]}, "not a source file"),
    ({"where": ["docs/provenance.md:blue"]}, "not a source file"),
    ({"where": ["src/room/noun.c"]}, "does not define"),
    ({"where": ["src/room/noun.c:declared"]}, "does not define declared"),
    ({"where": ["src/room/noun.c:called"]}, "does not define called"),
    ({"where": ["src/room/noun.c:room_noun"]}, "does not define room_noun"),
    ({"where": ["src/room/noun.c:room_noun_make", "src/room/noun.c:gone"]}, "does not define gone"),
    ({"test": ["test_verb:it_runs"]}, "not a program"),
    ({"test": ["test_idle:it_runs"]}, "not a program"),
    ({"test": ["test_noun"]}, "does not define"),
    ({"test": ["test_noun:it"]}, "does not define it"),
    ({"test": ["test_noun:it_is_left_out"]}, "does not run it_is_left_out"),
    ({"test": ["test_idle.sh"]}, "not a script"),
    ({"test": ["test_noun.sh:it_runs"]}, "not a script"),
    ({**DECIDED, "decision": ""}, "needs an entry in the column decision"),
    ({**DECIDED, "decision": "colour"}, "no row that begins with colour"),
    ({"decision": "colour of the noun"}, "cannot have an entry in the column decision"),
]
LINE = "ch27-001\tselectors\tT27.2\ta claim\tmissing\t-\t-\t-\t-"
BROKEN_LINES = [LINE.replace("\t-\t-\t-\t-", "\t-\t-\t-"), LINE + "\t-", LINE.replace("a claim", ""), LINE.replace("a claim", "a claim ")]


def try_checker(renderer):
    with tempfile.TemporaryDirectory() as root:
        for path, text in MADE_UP.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        tree = Tree(root)
        for change, word in CHANGES:
            found = problems([{**SOUND, **change}], tree, renderer)
            if (len(found) != 1 or word not in found[0]) if word else found:
                yield f"the change {change} gives {found}, not one problem with: {word}"
        if problems([SOUND, SOUND], tree, renderer) != ["ch27-001: the id is used twice"]:
            yield "an id that is used twice is not reported"


def try_parser(renderer):
    names = "\t".join(renderer.COLUMNS)
    claims = renderer.parse(f"# a comment\n{names}\n{LINE}\n", "made up")
    if len(claims) != 1 or claims[0]["where"] != [] or claims[0]["note"] != "" or claims[0]["claim"] != "a claim":
        yield f"a sound line is read as {claims}"
    for text in [f"{names}\n{line}\n" for line in BROKEN_LINES] + [LINE, "# nothing\n"]:
        try:
            yield f"{text!r} is read as {renderer.parse(text, 'made up')}"
        except renderer.LedgerError:
            pass


def main():
    root = sys.argv[1]
    renderer = load_renderer(root)
    results = [("the parser reports broken lines", list(try_parser(renderer))),
               ("the checker reports unsound claims", list(try_checker(renderer)))]
    claims = []
    try:
        claims = renderer.read(root)
        results.append(("the ledger can be read", [] if claims else ["there is no claim"]))
    except (renderer.LedgerError, OSError) as problem:
        results.append(("the ledger can be read", [str(problem)]))
    results.append(("what the ledger names exists", problems(claims, Tree(root), renderer)))
    with open(os.path.join(root, "docs", "coverage.md"), encoding="utf-8") as file:
        same = file.read() == renderer.render(claims)
    results.append(("docs/coverage.md is what the ledger renders", [] if same else ["Run scripts/render-coverage."]))
    print(f"1..{len(results)}")
    for number, (what, found) in enumerate(results, 1):
        print(f"{'not ok' if found else 'ok'} {number} - {what}")
        for line in found:
            print(f"# {line}")
    return 1 if any(found for _, found in results) else 0


if __name__ == "__main__":
    sys.exit(main())
