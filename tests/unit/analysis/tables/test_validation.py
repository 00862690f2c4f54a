"""Tables that cannot be checked: one sentence with table, column and remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.remote.java_errors import Unreachable
from analysis.tables.final_read import ends
from analysis.tables.table_files import TableError, open_table
from analysis.tables.validation import valid_tables
from harness.model.untold import SENDS
from tests.support.two_tables import as_csv, as_parquet, sent, was_read

GOOD_SENDS = [sent("a", 0), sent("b", 1)]
GOOD_READS = [was_read("a", 0), was_read("b", 1)]


@pytest.mark.parametrize(
    ("sends", "reads", "words"),
    [
        ([{"value": "a"}], GOOD_READS, "sends.parquet: it has no column type, partition, offset; "),
        (GOOD_SENDS, [{"value": "a", "offset": 1}], "reads.parquet: it has no column partition; "),
        (
            [sent(1.5, 0)],
            GOOD_READS,
            "its column value is of type double, expected is a text, a wh",
        ),
        ([sent("a", 0.0)], GOOD_READS, "its column offset is of type double, expected is a whole"),
        (
            [sent("a", "0")],
            GOOD_READS,
            "offset is of type string, expected is a whole number: cast",
        ),
        ([sent("a", 0, type=1)], GOOD_READS, "its column type is of type bigint, expected is a te"),
        ([*GOOD_SENDS, sent(None, 2)], GOOD_READS, "1 of 3 rows have no value, so nobody"),
        ([*GOOD_SENDS, sent("a", 2)], GOOD_READS, "the value 'a' is sent 2 times: each must be"),
        (
            [*GOOD_SENDS, sent("c", 2, type="OK")],
            GOOD_READS,
            "type than ok, fail, info, such as 'OK'",
        ),
        ([*GOOD_SENDS, sent("c", 2, None)], GOOD_READS, "are ok without a partition, such as 'c'"),
        ([*GOOD_SENDS, sent("c", 2, -1)], GOOD_READS, "a partition that is not 0 to 999, such as"),
        ([*GOOD_SENDS, sent("c", -2)], GOOD_READS, "1 of 3 rows have an offset that is not -1 to"),
        (
            [sent("c", 2, start_ns=9, end_ns=8)],
            GOOD_READS,
            "ended before they began: times must be",
        ),
        ([sent("c", 2, process="a b")], GOOD_READS, "a process that is not a word of letters"),
        (
            [sent("c", 2, topic="t"), sent("d", 3, topic="u")],
            GOOD_READS,
            "topic u, beside t: check",
        ),
        ([sent("c", 2, topic="t")], [was_read("a", 0, topic="u")], "reads.parquet: it has records"),
        (
            GOOD_SENDS,
            [was_read("a", None), *GOOD_READS],
            "1 of 3 rows have no offset: a record tha",
        ),
        (GOOD_SENDS, [was_read("a", 0, f="lookup")], "another f than read, poll, final-read, such"),
        (GOOD_SENDS, [was_read(b"a", 0)], "its value holds bytes, and that of"),
        (
            [sent("07", 0)],
            [was_read(7, 0)],
            "sends.parquet: 1 of 1 rows have a value that is no nu",
        ),
    ],
)
def test_one_sentence_names_table_column_and_remedy(spark, tmp_path, sends, reads, words):
    files = (
        as_parquet(tmp_path / "sends.parquet", sends),
        as_parquet(tmp_path / "reads.parquet", reads),
    )

    with pytest.raises(TableError) as refused:
        valid_tables(spark, *map(str, files))

    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("cell", ["2.0", "99999999999999999999"])
def test_what_is_no_number_in_csv_is_named_with_the_range(spark, tmp_path, cell):
    sends = as_csv(tmp_path / "sends.csv", [*GOOD_SENDS, sent("c", cell)])
    reads = as_csv(tmp_path / "reads.csv", GOOD_READS)

    with pytest.raises(TableError) as refused:
        valid_tables(spark, str(sends), str(reads))

    words = f"an offset that is no whole number from -1 to {2**48 - 1}, such as '{cell}'"
    assert f"1 of 3 rows have {words}" in str(refused.value)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the user is."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("no.parquet", None, "there is no such file or folder"),
        ("no.such", None, "there is no such table, and no file"),
        ("t.parquet", b"", "it is empty: expected are columns and rows"),
        (
            "t.txt",
            b"value,partition\n",
            "t.txt is no Parquet by its first bytes, and no CSV by its",
        ),
        ("t.parquet", b"PAR1 and no more", "Spark cannot read it: "),
        ("t.csv", b"value,type,partition,offset\na,ok,0,0,9\n", "as many cells as the line of n"),
        (
            "t.csv",
            b"value,type,partition,offset\na,ok,0\n",
            "the line of names, or a quote that no",
        ),
        ("t.csv", b'value,type,partition,offset\n"a,ok,0,0\n', "or a quote that nothing ends ("),
        ("t.csv", b"value,type,partition,offset\n\xe9,ok,0,0\n", "1 of 1 rows have a value with b"),
        ("t.csv", "value,type,partition,offset\n\ufffd,ok,0,0\n".encode(), "or with U+FFFD, as"),
        (
            "t.csv",
            b"value,type,partition,offset,topic\na,ok,0,0,\xe9\n",
            "have a topic with bytes that are no UTF-8",
        ),
        ("folder.parquet", "folder", "it has no files: expected is Parquet or CSV"),
        ("s3a://bucket/t", None, "Spark has no connector for it ("),
        ("nosuch://host/t", None, "Spark has no connector for it ("),
    ],
)
def test_what_cannot_be_opened_is_one_sentence(spark, here, name, content, words):
    if content == "folder":
        Path(name).mkdir()
    elif content is not None:
        Path(name).write_bytes(content)
    reads = as_parquet(here / "reads.parquet", GOOD_READS)

    with pytest.raises(TableError) as refused:
        valid_tables(spark, name, str(reads))

    assert str(refused.value).startswith(f"{name}: ")
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "Exception" not in str(refused.value) or "connector" in words
    assert "SQLSTATE" not in str(refused.value)


def test_reads_without_rows_are_refused_and_sends_without_rows_tell_no_send(spark, tmp_path):
    sends, reads = as_csv(tmp_path / "s.csv", []), as_csv(tmp_path / "r.csv", GOOD_READS)
    nothing = tmp_path / "nothing.csv"
    nothing.write_text("value,partition,offset\n")

    with pytest.raises(TableError, match=r"nothing.csv: it has no rows: nothing can be told fr"):
        valid_tables(spark, str(sends), str(nothing))
    assert SENDS in valid_tables(spark, str(sends), str(reads)).untold


def test_bytes_that_are_no_utf_8_do_not_matter_where_nobody_looks(spark, tmp_path):
    (tmp_path / "s.csv").write_bytes(b"value,type,partition,offset,note\na,ok,0,0,\xe9\n")
    reads = as_parquet(tmp_path / "reads.parquet", GOOD_READS)

    assert 1 == valid_tables(spark, str(tmp_path / "s.csv"), str(reads)).acked


def test_u_fffd_is_a_character_of_parquet(spark, tmp_path):
    sends = as_parquet(tmp_path / "sends.parquet", [sent("\ufffd", 0)])
    reads = as_parquet(tmp_path / "reads.parquet", GOOD_READS)

    assert 1 == valid_tables(spark, str(sends), str(reads)).acked


def test_a_store_that_nobody_answers_for_is_no_wrong_argument(spark, tmp_path):
    spark.sparkContext._jsc.hadoopConfiguration().set("ipc.client.connect.max.retries", "0")
    sends = as_parquet(tmp_path / "sends.parquet", GOOD_SENDS)

    with pytest.raises(Unreachable, match=r"^hdfs://127.0.0.1:1/t: cannot be reached \(.*refused"):
        valid_tables(spark, str(sends), "hdfs://127.0.0.1:1/t")


def test_a_table_of_spark_is_opened_by_its_name(spark, tmp_path):
    spark.read.parquet(str(as_parquet(tmp_path / "s.parquet", GOOD_SENDS))).createOrReplaceTempView(
        "told_sends"
    )

    assert 2 == open_table(spark, "told_sends").rows.count()
    assert 2 == open_table(spark, f"parquet.`{tmp_path}/s.parquet`").rows.count()


@pytest.mark.parametrize(
    ("reads", "words"),
    [
        ([was_read("a", 0, f="read")], "no read is of the final read"),
        ([was_read("a", 0, f="final-read", end_ns=5)], "the final read ended before the last ack"),
    ],
)
def test_tables_that_say_otherwise_than_the_user_are_refused(spark, tmp_path, reads, words):
    sends = as_parquet(tmp_path / "sends.parquet", [sent("a", 0, start_ns=1, end_ns=10)])
    valid: Any = valid_tables(spark, str(sends), str(as_parquet(tmp_path / "reads.parquet", reads)))

    with pytest.raises(TableError, match=words):
        ends(valid, complete=True)
