# SPDX-License-Identifier: Apache-2.0
"""Source trees for the tests in Python that check text: walked, and made up."""
import os
import tempfile


def source_files(folder, endings):
    """The paths below a folder that end so, always in the same order."""
    for where, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            if name.endswith(endings):
                yield os.path.join(where, name)


def write(root, path, text):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def made_up(files, check):
    """What `check` returns for a temporary tree of these files, path to text."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            write(root, path, text)
        return check(root)


def differences(wanted, found):
    """The problems that a check of a made-up tree missed or invented."""
    return ([f"not found: {problem}" for problem in sorted(wanted) if problem not in found]
            + [f"found wrongly: {problem}" for problem in sorted(found) if problem not in wanted])
