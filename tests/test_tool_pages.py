#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The HTML pages of `anemone compile --html` and `anemone compare --html` in a browser without a window: no script error,
clicks and sorting work (the page tries them itself when its address ends in #selftest), and the table says what the JSON says.
Skipped where no browser is installed. Prints TAP.

    test_tool_pages.py ANEMONE
"""
import html.parser
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import mil
import tap

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HOSTILE = '</script><script>document.title=1</script><img src=x onerror=alert(1)>&amp;'
SECONDS = 120


def constant(name, shape, values):
    return f'tensor<fp16, {mil.shape_text(shape)}> {name} = const()[name = string("{name}"), ' \
           f'val = {mil.tensor("fp16", shape, values)}];'


def result(name, shape, call, label=None):
    attributes = f'[name = string("{label}")]' if label else ""
    return f"tensor<fp16, {mil.shape_text(shape)}> {name} = {call}{attributes};"


def small():
    """A branch, a fused ReLU, a composite, an alias, a node that nothing reads, and a name that is markup."""
    rng = random.Random(1)
    shape = [1, 4, 6, 6]
    weights = [round(rng.uniform(-0.5, 0.5), 3) for _ in range(16)]
    return mil.program([("x", shape)], [
        constant("w", [4, 4, 1, 1], weights),
        result("c", shape, "conv(x = x, weight = w)", HOSTILE),
        result("r", shape, "relu(x = c)"),
        result("a", shape, "add(x = r, y = x)"),
        result("dead", shape, "tanh(x = a)"),
        result("s", shape, "softmax(x = a, axis = int32(1))"),
        result("y", [1, 144, 1, 1], f"reshape(x = s, shape = {mil.integers(1, 144, 1, 1)})"),
    ], ["y"])


def large(nodes):
    """As many nodes, with branches of every span."""
    rng = random.Random(2)
    shape, lines = [1, 1, 1, 8], []
    for i in range(nodes):
        before = f"v{i - 1}" if i else "x"
        other = f"v{rng.randrange(i)}" if i else "x"
        lines.append(result(f"v{i}", shape, f"add(x = {before}, y = {other})" if i % 3 else f"tanh(x = {before})"))
    return mil.program([("x", shape)], lines, [f"v{nodes - 1}"])


class Page(html.parser.HTMLParser):
    """What the test reads of a page: texts of elements with an id, cells of the table by row, boxes, images."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.rows, self.boxes, self.images, self.open = {}, {}, 0, 0, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag in ("img", "input", "meta", "br"):
            self.images += tag == "img"
            return
        if tag == "tr" and "data-id" in attributes:
            self.row = self.rows.setdefault(int(attributes["data-id"]), [])
        if tag == "td":
            self.row.append("")
        self.boxes += tag == "g" and attributes.get("class", "").startswith("node")
        self.open.append((tag, attributes.get("id")))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, text):
        for tag, name in self.open:
            if name:
                self.texts[name] = self.texts.get(name, "") + text
            if tag == "td":
                self.row[-1] += text


def find_browser():
    for name in BROWSERS:
        path = shutil.which(name)
        if path:
            return path
    return None


def opened(browser, folder, path):
    """The page after its script, as the browser has it."""
    run = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", "--dump-dom",
                          f"file://{path}#selftest"], capture_output=True, text=True, timeout=SECONDS, check=False)
    return Page(run.stdout)


class Bench:
    """One model, for both verbs."""

    def __init__(self, anemone, browser, folder, model):
        self.anemone, self.browser, self.folder, self.model = anemone, browser, folder, model
        self.environment = dict(os.environ, XDG_CACHE_HOME=folder, ANEMONE_SERVICE="none")

    def page(self, *words):
        """The page that a verb writes, in the browser, and the verb's JSON."""
        path = os.path.join(self.folder, "page.html")
        run = subprocess.run([self.anemone, *words, self.model, "--html", path, "--json"], capture_output=True, text=True,
                             env=self.environment, check=False)
        if run.returncode:
            raise AssertionError(run.stderr)
        return opened(self.browser, self.folder, path), json.loads(run.stdout)


def healthy(page, data):
    """The page's own test found nothing, and every node is there."""
    assert page.texts.get("problem", "") == "", page.texts["problem"]
    found = json.loads(page.texts.get("selftest", '{"failures": ["the page ended before its test did"]}'))
    assert found["failures"] == [], found["failures"]
    assert found["checks"] > len(data["nodes"]) // 20
    assert page.images == 0
    return found


def number(text):
    return float(text.replace(",", "")) if text else 0.0


def report_of_a_small_network(bench):
    page, data = bench.page("compile", "--report")
    found = healthy(page, data)
    assert found["boxes"] == len(data["nodes"]) == page.boxes
    for i, node in enumerate(data["nodes"]):
        if node["where"] in ("input", "output"):
            continue
        cells = page.rows[i]
        assert cells[1] == node["name"] and cells[2] == node["kind"] and cells[3] == node["where"], cells
        assert abs(number(cells[0]) - node["cost_us"]) < 1e-9, cells
        assert number(cells[5]) == node["descriptors"] and number(cells[6]) == node["weights_bytes"], cells
    assert HOSTILE in [node["name"] for node in data["nodes"]]
    places = {node["name"]: node["where"] for node in data["nodes"]}
    assert (places["r"], places["dead"], places["s"], places["a"]) == ("fused", "dead", "engine", "engine"), places
    costs = [data["nodes"][i]["cost_us"] for i in page.rows]
    assert costs == sorted(costs, reverse=True)
    total = sum(node["cost_us"] for node in data["nodes"])
    assert abs(total - data["estimates"][1]["engine_us"]) < 0.01, (total, data["estimates"])


def comparison_of_a_small_network(bench):
    page, data = bench.page("compare")
    healthy(page, data)
    measured = 0
    for i, node in enumerate(data["nodes"]):
        if node.get("where") or "errors" not in node:
            continue
        measured += 1
        cells = page.rows[i]
        assert cells[0] == node["name"] and cells[1] == node["kind"], cells
        for policy, error in enumerate(node["errors"]):
            for cell, member in ((cells[2 + 3 * policy], "output_l2"), (cells[3 + 3 * policy], "added_l2")):
                assert abs(float(cell) - error[member]) <= 0.005001 * abs(error[member]), (cells, error)
    assert measured == 4, measured
    assert [error["top1"] for error in data["outputs"][0]["errors"]] == [True, True]


def report_of_a_large_network(bench):
    page, data = bench.page("compile", "--report")
    healthy(page, data)
    assert len(data["nodes"]) == 1002 and len(page.rows) == 1000, (len(data["nodes"]), len(page.rows))


def report_of_squeezenet(bench):
    """The nodes are those of the file, each with a place."""
    page, data = bench.page("compile", "--report")
    healthy(page, data)
    nodes = [node for node in data["nodes"] if node["where"] not in ("input", "output")]
    kinds = [node["kind"] for node in nodes]
    assert (len(nodes), kinds.count("Conv"), kinds.count("Relu"), kinds.count("Concat")) == (68, 25, 25, 8), kinds
    assert all(node["where"] == "engine" for node in nodes if node["kind"] == "Conv")
    assert data["places"]["host"] == 0 and sum(data["places"].values()) == len(nodes)


def comparison_of_mnist(bench):
    page, data = bench.page("compare")
    healthy(page, data)
    for error in data["outputs"][0]["errors"]:
        assert error["cosine"] >= 0.999 and error["top1"], error


def problems_of(check, bench):
    try:
        check(bench)
    except (AssertionError, KeyError, ValueError, subprocess.TimeoutExpired) as problem:
        return [f"{type(problem).__name__}: {problem!s:.600}"]
    return []


def written(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def shared(name):
    """A real model of ANEMONE_MODELS or of the folder beside the tree; None when it is not there."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for folder in (os.environ.get("ANEMONE_MODELS", ""), os.path.join(root, "..", "shared", "models")):
        if folder and os.path.exists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    return None


def main():
    browser = find_browser()
    if not browser:
        print("1..0 # SKIP no browser is installed: " + ", ".join(BROWSERS))
        return 0
    anemone = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        little, many = written(folder, "small.mil", small()), written(folder, "large.mil", large(1000))
        results = []
        for name, check, model in (
                ("the report of a small network", report_of_a_small_network, little),
                ("the comparison of a small network", comparison_of_a_small_network, little),
                ("the report of 1000 nodes", report_of_a_large_network, many),
                ("the report of squeezenet_trim.onnx", report_of_squeezenet, shared("squeezenet_trim.onnx")),
                ("the comparison of mnist.onnx", comparison_of_mnist, shared("mnist.onnx"))):
            if model:
                results.append((name, problems_of(check, Bench(anemone, browser, folder, model))))
            else:
                results.append((f"{name} # SKIP the model is not there; ANEMONE_MODELS names its folder", []))
        return tap.report(results)


if __name__ == "__main__":
    sys.exit(main())
