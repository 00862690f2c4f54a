"""The sample of mutants: drawn by its seed, of what Python reads otherwise."""

from __future__ import annotations

from bench.mutants.sample import drawn

TEXTS = {
    "one.py": """
from __future__ import annotations

def decide(count: int | None, most: int = 3, *, sure: bool = True) -> int | None:
    total: int | float = count + most * 2
    if count is None or not sure:
        return None
    while total > 5 and sure:
        total -= 1
        break
    return total
""",
    "two.py": """
def all_of(rows):
    return [row for row in rows if row < 7 and row != 2 or row == 9]
""",
}


def test_a_sample_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    first, again, other = (drawn(seed, 8, TEXTS) for seed in (1, 1, 2))

    assert [m.key for m in first] == [m.key for m in again]
    assert {m.key for m in first} != {m.key for m in other}
    assert 8 == len({m.key for m in first})


def test_a_sample_holds_no_annotation_and_nothing_but_python() -> None:
    everything = drawn(1, 1000, TEXTS)

    assert 12 <= len(everything) == len({m.key for m in everything})
    assert {"one.py", "two.py"} == {m.file for m in everything}
    for each in everything:
        compile(each.text, each.file, "exec")
        assert "int | None" not in each.change[1] or "int | None" in each.change[2]
        assert "int | float" not in each.change[1] or "int | float" in each.change[2]


def test_of_a_smaller_sample_the_larger_one_holds_all() -> None:
    few, many = (drawn(1, size, TEXTS) for size in (5, 12))

    assert [m.key for m in few] == [m.key for m in many][:5]


def test_a_change_of_one_file_changes_nothing_of_what_is_drawn_in_another() -> None:
    before = {m.key for m in drawn(1, 1000, TEXTS) if m.file == "two.py"}
    changed = {**TEXTS, "one.py": "x = 1 + 2 + 3\n"}

    assert before == {m.key for m in drawn(1, 1000, changed) if m.file == "two.py"}
