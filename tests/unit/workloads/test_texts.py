"""Records that are the user's texts, and the ids of outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from workloads.client.texts import Texts, id_of, number_in
from workloads.worker import Spec

TWO = 1 << 40 | 2


def texts(**given: Any) -> Texts:
    whole: dict[str, Any] = {"run_id": "r", "process": "p", "topic": "t", "partitions": 1, **given}
    return Texts(Spec(history=Path(), config={}, limit_s=1, **whole))


class Record:
    """A message with these parts."""

    def __init__(self, value: bytes | None = None, key: bytes | None = None, **headers: bytes):
        self._value, self._key, self._headers = value, key, headers

    def value(self) -> bytes | None:
        return self._value

    def key(self) -> bytes | None:
        return self._key

    def headers(self) -> list[tuple[str, bytes]] | None:
        return list(self._headers.items()) or None


def test_a_text_is_a_records_if_it_is_what_is_sent_for_its_value() -> None:
    made = texts(record='{"id": $value, "n": 1}')

    assert made.record(7) == b'{"id": 7, "n": 1}'
    assert made.value(made.record(TWO)) == TWO
    for other in (b'{"id": 7, "n": 2}', b'{"id": 07, "n": 1}', b"", b'{"id": , "n": 1}', b"7"):
        assert made.value(other) is None


def test_lines_of_a_file_are_sent_in_turn_each_by_its_values_number(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_text("a $value\nlonger $value!\n")
    made = texts(record_file=str(file))

    sent = [made.record(1 << 40 | n) for n in range(3)]

    assert sent == [b"a %d" % (1 << 40), b"longer %d!" % ((1 << 40) + 1), b"a %d" % TWO]
    assert [made.value(each) for each in sent] == [1 << 40, (1 << 40) + 1, TWO]
    assert made.value(b"longer %d!" % TWO) is None  # that line is another value's


def test_key_and_headers_may_have_the_value() -> None:
    made = texts(record="$value", key="k$value", headers={"id": "$value", "from": "shop"})

    assert made.key is not None
    assert (made.key(7), made.headers(7)) == (b"k7", [("id", "7"), ("from", "shop")])
    assert texts(record="$value").key is None


@pytest.mark.parametrize(
    ("form", "record", "value"),
    [
        ("json:/order_id", Record(b'{"order_id": 7}'), 7),
        ("json:/order_id", Record(b'{"order_id": "7"}'), 7),
        ("json:/a/1/b~1c", Record(b'{"a": [0, {"b/c": 7}]}'), 7),
        ("json:/order_id", Record(b'{"order_id": 7.0}'), None),
        ("json:/order_id", Record(b'{"order_id": true}'), None),
        ("json:/order_id", Record(b'{"order_id": -7}'), None),
        ("json:/order_id", Record(b"{"), None),
        ("json:/order_id", Record(None), None),
        ("json:/order_id", Record(b'"order_id"'), None),
        ("key", Record(b"", b"7"), 7),
        ("key", Record(b""), None),
        ("header:id", Record(b"", id=b"7"), 7),
        ("header:id", Record(b""), None),
        (r"regex:order (\d+)", Record(b"paid order 7."), 7),
        (r"regex:order (\d+)", Record(b"paid"), None),
        ("key", Record(b"", b"99999999999999999999"), None),
    ],
)
def test_ids(form: str, record: Record, value: int | None) -> None:
    assert id_of(form)(cast(Any, record)) == value


def test_a_line_is_an_id() -> None:
    assert [number_in(line) for line in (b"7", b" 7 ", b"x", b"", b"\xff")] == [
        7,
        7,
        None,
        None,
        None,
    ]
