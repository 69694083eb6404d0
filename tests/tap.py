# SPDX-License-Identifier: Apache-2.0
"""TAP for the tests in Python."""


def report(results):
    """Prints (name, problems) pairs; a problem is a line of its own. Returns the exit status."""
    print(f"1..{len(results)}")
    for number, (name, problems) in enumerate(results, 1):
        print(f"{'not ok' if problems else 'ok'} {number} - {name}")
        for problem in problems:
            print(f"# {problem}")
    return 1 if any(problems for _, problems in results) else 0
