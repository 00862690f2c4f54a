"""Nothing gets too long to be read at once: files, functions, classes and folders.

What is longer than that stands in a set here with the size it has. It may not grow, and once it is
short enough it has to leave the set, so that the sets only ever get smaller.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from harness.checkout import ROOT
from tests.support.source_files import defined, folders, lines, python_files, tree

FILE_LINES = 400
FUNCTION_LINES = 60
CLASS_LINES = 200
FILES_IN_A_FOLDER = 13
TEST_FILES_IN_A_FOLDER = 25
WITHOUT_INIT = ("tests/unit", "tests/live", "tests/rules", "tests/baseline")


def test_files_are_at_most_400_lines_long() -> None:
    sizes = {file: len((ROOT / file).read_text().splitlines()) for file in python_files()}

    _within(FILE_LINES, sizes)


def test_functions_are_at_most_60_lines_long() -> None:
    _within(FUNCTION_LINES, _sizes(ast.FunctionDef, ast.AsyncFunctionDef))


def test_classes_are_at_most_200_lines_long() -> None:
    _within(CLASS_LINES, _sizes(ast.ClassDef))


def test_a_folder_holds_no_more_files_than_can_be_told_apart() -> None:
    counts = {folder: len(files) for folder, files in folders().items()}
    limits = {
        folder: TEST_FILES_IN_A_FOLDER if folder.startswith("tests") else FILES_IN_A_FOLDER
        for folder in counts
    }

    assert {} == {folder: n for folder, n in counts.items() if n > limits[folder]}


def test_every_room_says_what_is_inside() -> None:
    """With a file of its own for that; only folders of tests, which nobody imports, have none."""
    tests = {folder for folder in folders() if folder.startswith(WITHOUT_INIT)}
    silent = {folder for folder, files in folders().items() if "__init__.py" not in files}

    assert tests == silent


def test_every_module_says_what_it_is() -> None:
    """Its docstring is its specification."""
    assert [] == [file for file in python_files() if not ast.get_docstring(tree(file))]


def test_the_file_of_a_room_is_nothing_but_its_docstring() -> None:
    """What stood in it would be imported with every module of the room. One has a door for
    notebooks, `analysis.open`, which imports nothing before it is called."""
    rooms = [file for file in python_files() if file.endswith("__init__.py")]
    rooms.remove("analysis/__init__.py")

    assert [] == [file for file in rooms if len(tree(file).body) > 1]


def _sizes(*kinds: type[ast.AST]) -> dict[str, int]:
    """`file: name` -> lines of every class or function; of several of one name the longest."""
    sizes: dict[str, int] = {}
    for file in python_files():
        for node in defined(file):
            if isinstance(node, kinds):
                name = f"{file}: {node.name}"
                sizes[name] = max(lines(node), sizes.get(name, 0))
    return sizes


def _within(limit: int, sizes: Mapping[str, int]) -> None:
    assert {} == {name: size for name, size in sizes.items() if size > limit}, "too long"
