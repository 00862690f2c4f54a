"""Values, held against what the jars document of a key."""

from __future__ import annotations

import pytest

from harness.distribution.documented import Documented, wrong_value

VERSIONS = Documented("string", "[0.8.0, 3.9-IV0]")


@pytest.mark.parametrize(
    ("of", "right", "wrong"),
    [
        (Documented("boolean"), ["true", "FALSE", True], ["on", "1", "${env:X}", ""]),
        (Documented("int", "[1,...,9] or -1"), ["1", 9, "-1", "+3"], ["0", "10", "7d", "1.5"]),
        (Documented("int"), ["2147483647"], ["2147483648", "twelve", "{{ x }}"]),
        (Documented("long", "[-1,...]"), ["2147483648"], ["-2", "9223372036854775808"]),
        (Documented("short"), ["32767"], ["32768"]),
        (Documented("double", "[0.5,...,1.0]"), ["0.5", "1", "1e0"], ["0.4", "nan", "half"]),
        (Documented("string", "[none, gzip]"), ["none"], ["zip", "GZIP", ""]),
        (Documented("string", "(case insensitive) [NONE]"), ["none", "None"], ["no"]),
        (
            Documented("list", "[compact, delete]"),
            ["compact,delete", " delete"],
            ["a", "compact,b"],
        ),
        (VERSIONS, ["3.9", "3.9-IV0", "0.8.0"], ["3.10"]),
        (Documented("string", "non-empty string"), ["", "x"], []),
        (Documented("list", "[partitionId]:[brokerId],[partitionId]:[brokerId],..."), ["0:1"], []),
        (Documented("class"), ["com.acme.A"], []),
        (Documented("password"), ["[1,...]"], []),
    ],
)
def test_a_value_is_of_its_key_s_type_and_range(of, right, wrong):
    assert [] == [value for value in right if wrong_value(value, of)]
    assert [] == [value for value in wrong if not wrong_value(value, of)]


def test_what_is_wrong_is_told_with_the_type_and_its_limits():
    assert wrong_value("0", Documented("int", "[1,...]")) == "not a value of type int in [1,...]"
    assert wrong_value("x", Documented("boolean")) == "not a value of type boolean"
