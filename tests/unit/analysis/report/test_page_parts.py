"""What the page tells beside the findings: UTC, files, the close-up, counters, wide tables."""

import json
from dataclasses import replace

from analysis.measures.drawn_sends import EACH
from analysis.report.page import More
from tests.support.pages import reports
from tests.support.pages.page_reader import page_of, read, script
from tests.support.pages.report_parts import beside_report


def test_the_load_s_begin_is_told_by_the_wall_clock_and_so_is_each_fault_and_outage():
    example = reports.kills(times=1)
    assert "UTC (the load" not in read(example).text
    example.report["run"]["load_began_utc"] = "2026-11-21T02:15:00.250+00:00"
    page = page_of(example)

    assert "2026-11-21 02:15:00.250 UTC</time> (the load: second 0 of this page)" in page
    began = example.report["faults"][0]["start_s"]
    assert f'title="2026-11-21 02:15:{0.25 + began:06.3f} UTC"><div>{began:.2f} s' in page
    assert page.count('title="2026-11-21 02:15:') == 4 + 3 * len(example.report["windows"])


def test_the_run_s_files_are_linked_and_those_left_out_are_counted():
    example = reports.valid()
    assert "Files of this run" not in read(example).text
    reader = read(example, beside_report())

    assert {"logs/kafka1.log", "run.json", "report.json", "junit.xml"} <= set(reader.addresses)
    assert "and 4 more in logs" in reader.text


def test_single_sends_and_lag_are_drawn_on_demand_by_a_rule_that_the_page_states():
    example = reports.valid()
    assert "Close-up" not in read(example).text
    reader = read(example, beside_report())

    assert "Close-up : latency of single sends and consumer lag" in reader.text
    assert "3 of 10,000 sends" in reader.text
    assert f"about {EACH:,} chosen by chance" in reader.text
    assert "until the ack 1.9 ms 6.1 ms 12.7 ms 5.21 s 6.10 s" in reader.text
    assert len(json.loads(script(reader, "close-up-figure"))["data"]) == 3 + 3 + 1


def test_without_readers_the_close_up_does_not_speak_of_lag():
    reader = read(reports.valid(), replace(beside_report(), lag=[]))

    assert "Close-up : latency of single sends 3 of" in reader.text


def test_four_thousand_drawn_sends_make_a_page_hardly_larger():
    example = reports.invalid()
    example.report["run"]["load_began_utc"] = "2026-11-21T02:15:00.250+00:00"
    plain = len(page_of(example))
    sends = [{"due_s": n / 50, "ms": 1000.25 + n, "type": "ok"} for n in range(4 * EACH)]
    lag = [{"t_s": n / 4, "lag": {f"consumer-{m}": n * m for m in range(8)}} for n in range(400)]
    full = page_of(example, More(sends=sends, lag=lag))

    assert len(full) < 1.15 * plain


def test_a_burst_that_is_cut_is_told_beside_the_picture():
    example = reports.kills(times=1)
    assert "Rates are cut" not in read(example).text
    example.timeline[30]["acks"] = 9_000

    assert "the highest, 90,000 at 3.00 s, was a burst" in read(example).text


def test_reads_that_are_more_than_acks_are_explained():
    example = reports.valid()
    told = "by following the log or by looking it up : there may be several for each ack"
    assert told.replace(" :", ":") in read(example).text
    example.report["counts"] |= {"lookups": 0, "reads": 9000}

    assert "several for each ack" not in read(example).text


def test_circles_of_writes_are_told_where_there_are_transactions():
    example = reports.valid()
    assert "cycles of writes" not in read(example).text
    counts = {"committed": 5000, "in_write_circles": 12, "in_circles": 40}
    example.report["transactions"] = counts
    told = "Of 5,000 committed transactions 12 lie in cycles of writes"

    assert told in read(example).text
    assert "and 40 in cycles of writes, readings or both" in read(example).text


def test_a_count_stands_with_its_meaning():
    text = read(reports.valid()).text

    assert "clients' own errors errors that clients reported beside sends" in text
    assert "worker errors" not in text


def test_an_outage_says_how_long_it_was_before_where_it_was():
    text = read(reports.kills(times=1)).text

    assert text.index("What stopped Length From To New leader Fault Partition Attempts") > 0


def test_a_wide_table_says_on_a_phone_that_it_goes_on():
    example = reports.kills(times=1)
    page = page_of(example)

    for label in ("Promises", "Final read by partition"):
        before = page[: page.index(f'aria-label="{label}"')]
        assert before.rstrip().split("\n")[-2].startswith('<p class="sideways"'), label
