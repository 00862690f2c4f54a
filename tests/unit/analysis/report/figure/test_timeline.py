"""The timeline shows what happened when, and nothing that did not."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from analysis.report.figure.panels import PALETTE, leaders
from analysis.report.figure.timeline import _short, burst, coarsened, figure, lost_marks
from tests.support.pages import reports


def drawn(example: reports.Example) -> Any:
    return figure(example.model, example.timeline, example.views)


def titles(picture: Any) -> list[str]:
    return [note.text for note in picture.layout.annotations if note.name != "fault"]


def hovers(picture: Any) -> dict[float, str]:
    """What the hover says, by the start of the bucket."""
    [moments] = [trace for trace in picture.data if trace.hovertemplate]
    return dict(zip(moments.x, moments.text, strict=True))


def bucket(t_s: float, **fields: Any) -> dict[str, Any]:
    quiet = {"acks": 0, "fails": 0, "infos": 0, "reads": 0, "ack_p50_ms": None, "ack_p99_ms": None}
    return {"t_s": t_s} | quiet | fields


def test_every_fault_is_a_band_from_injection_to_heal_with_its_label():
    example = reports.kills(times=3)
    picture = drawn(example)
    bands = [shape for shape in picture.layout.shapes if shape.yref == "paper"]
    labels = [note.text for note in picture.layout.annotations if note.name == "fault"]

    expected = [(fault["start_s"], fault["healed_s"]) for fault in example.report["faults"]]
    assert [pytest.approx(pair, abs=1e-3) for pair in expected] == [(b.x0, b.x1) for b in bands]
    assert [f"kill → {f['nodes'][0]}" for f in example.report["faults"]] == labels


def test_a_fault_that_never_healed_reaches_to_the_end():
    picture = drawn(reports.unknown())
    [band] = [shape for shape in picture.layout.shapes if shape.yref == "paper"]

    assert band.x1 == pytest.approx(12.7)


def test_faults_of_one_moment_share_a_label_and_lie_below_each_other():
    example = reports.kills(times=1)
    twin = example.report["faults"][0] | {"fault": 1, "verb": "pause", "start_s": 3.9}
    example.report["faults"].append(twin)
    picture = drawn(example)
    [label] = [note for note in picture.layout.annotations if note.name == "fault"]
    [bars] = [trace for trace in picture.data if trace.type == "bar" and len(trace.base or ()) == 2]

    assert ("pause → kafka1<br>kill → kafka1", 3.9) == (label.text, label.x)
    assert 1 == abs(bars.y[0] - bars.y[1])


def test_faults_of_another_moment_have_a_label_of_their_own():
    example = reports.kills(times=1)
    first = example.report["faults"][0]
    for number, start_s in enumerate((first["start_s"], 9.0, 9.1), 1):
        example.report["faults"].append(first | {"fault": number, "start_s": start_s})
    labels = [note.text for note in drawn(example).layout.annotations if note.name == "fault"]

    assert ["kill → kafka1<br>kill → kafka1"] * 2 == labels


def test_gaps_without_acks_are_shaded_behind_acks_and_latency():
    example = reports.kills(times=2)
    shaded = [s for s in drawn(example).layout.shapes if s.yref.endswith("domain")]

    assert 2 * 2 == len(shaded)
    assert 2 == len({shape.yref for shape in shaded})


def test_lost_records_are_marked_at_the_time_of_their_acks():
    example = reports.invalid()
    [crosses] = [t for t in drawn(example).data if t.type == "scatter" and t.marker.symbol == "x"]

    rows = example.report["anomalies"]["lost"]["examples"]
    assert [pytest.approx(row["acked_s"], abs=1e-3) for row in rows] == list(crosses.x)


def test_of_more_losses_than_examples_every_bucket_is_marked():
    example = reports.huge()
    marks = lost_marks(example.model, example.timeline)

    assert 3086 // 45 + 1 == len(marks)
    assert 300.0 == marks[0].at_s


def test_hovering_tells_the_numbers_the_roles_and_what_was_wrong():
    example = reports.invalid()
    fault = example.report["faults"][1]
    texts = hovers(drawn(example))
    inside = texts[round(fault["start_s"] + 1, 1)]

    assert "0 acks/s" in inside
    assert f"faults: kill → {fault['nodes'][0]}" in inside
    assert "no acks:" in inside
    assert "p50" not in inside
    assert "leader kafka" in inside
    assert "ISR 3" in inside


def test_hovering_tells_rates_a_second():
    example = reports.valid()
    first, second = example.timeline[:2]
    rate = first["acks"] / (second["t_s"] - first["t_s"])

    assert hovers(drawn(example))[first["t_s"]].startswith(f"{rate:,.0f} acks/s")


@pytest.mark.parametrize(("length", "shown"), [(80, "x" * 80), (81, "x" * 79 + "…")])
def test_a_label_takes_no_more_than_its_room(length, shown):
    assert shown == _short("x" * length)


def test_only_that_text_answers_the_mouse():
    silent = [trace for trace in drawn(reports.invalid()).data if not trace.hovertemplate]

    assert {"skip"} == {trace.hoverinfo for trace in silent}


def test_a_panel_without_content_is_left_out():
    names = " ".join(titles(drawn(reports.unknown())))

    assert "Time to ack" not in names
    assert "Per second" in names
    assert "in doubt" in names


def test_a_run_whose_view_is_unknown_has_no_leader_and_no_isr():
    example = reports.graceful()
    names = " ".join(titles(figure(example.model, example.timeline, [])))

    assert "Leader" not in names
    assert "ISR" not in names


def test_all_panels_hang_on_one_time_axis():
    picture = drawn(reports.invalid())

    assert {None, "x"} >= {trace.xaxis for trace in picture.data}
    assert len({trace.yaxis for trace in picture.data}) == len(titles(picture))


def test_panels_do_not_overlap():
    layout = drawn(reports.invalid()).layout.to_plotly_json()
    domains = sorted(axis["domain"] for key, axis in layout.items() if key.startswith("yaxis"))

    assert all(low[1] < high[0] for low, high in pairwise(domains))
    assert 0 <= domains[0][0]
    assert domains[-1][1] <= 1


def test_a_leaderless_partition_has_a_line_of_its_own():
    example = reports.kills(times=1)
    example.views[1]["leader"] = None
    layout = drawn(example).layout.to_plotly_json()

    assert any(
        "none" in axis.get("ticktext", [])
        for axis in layout.values()
        if axis and isinstance(axis, dict)
    )


def test_several_partitions_are_told_apart_and_the_smallest_isr_is_shown():
    names = " ".join(titles(drawn(reports.huge())))

    assert "Leaders of 8 of 12 partitions" in names
    assert "Smallest ISR of all partitions" in names


def test_partitions_of_one_broker_lie_side_by_side_in_their_order():
    view = {"time_s": 0.0, "leader": "kafka1", "controller": "kafka1", "isr": ["kafka1"]}
    [panel] = leaders([view | {"partition": number} for number in range(3)], 10.0)
    _, *rows = (trace.y[0] for trace in panel.traces)

    assert rows == sorted(set(rows))
    assert rows[1] == pytest.approx(1)


def test_every_color_has_its_twin_for_dark_paper():
    lights = [light for light, _ in PALETTE.values()]
    text = drawn(reports.invalid()).to_json()

    assert len(lights) == len(set(lights))
    assert set() == set(lights) & {dark for _, dark in PALETTE.values()}
    assert PALETTE["ack"][0] in text


def test_a_name_that_looks_like_markup_is_text():
    example = reports.hostile()
    notes = [note.text for note in drawn(example).layout.annotations if note.name == "fault"]

    assert all("<script" not in text and "&lt;script" in text for text in notes)


def test_few_buckets_stay_as_they_are():
    rows = [bucket(0.0, acks=3), bucket(0.5, acks=4)]

    assert (rows, 0.5) == coarsened(rows)


def test_many_buckets_are_merged_without_losing_an_ack_or_a_peak():
    rows = [bucket(n / 10, acks=n, ack_p50_ms=2.0, ack_p99_ms=float(n)) for n in range(10)]
    merged, width_s = coarsened(rows, most=4)

    assert pytest.approx(0.3) == width_s
    assert [0.0, 0.3, 0.6, 0.9] == [row["t_s"] for row in merged]
    assert sum(range(10)) == sum(row["acks"] for row in merged)
    assert [2.0, 5.0, 8.0, 9.0] == [row["ack_p99_ms"] for row in merged]
    assert {2.0} == {row["ack_p50_ms"] for row in merged}


def test_a_single_bucket_can_be_drawn():
    example = reports.kills(times=1)

    assert figure(example.model, [bucket(0.0)], []).layout.height > 0


def test_the_hour_long_run_keeps_the_picture_small():
    example = reports.huge()

    assert len(coarsened(example.timeline)[0]) <= 4000


def test_what_replicas_lack_is_drawn_where_somebody_looked():
    example = reports.kills(times=1)
    looks = [
        {"time_s": 0.1 * n, "brokers": {"kafka2": lack, "kafka3": None}, "unread": lack}
        for n, lack in enumerate([0, 0, 0, 4, 4, 0])
    ]

    drawn = figure(example.model, example.timeline, example.views, looks)
    plain = figure(example.model, example.timeline, example.views)

    more = drawn.data[len(plain.data) :]
    assert [list(trace.y) for trace in more] == [[0, 4, 0], [0, 4, 0], [None, None]]
    assert list(more[1].x) == [0.0, 0.3, 0.5]
    assert "kafka2" in drawn.to_json()
    assert "not readable yet" not in plain.to_json()


def rates_of(*acks: int) -> list[dict[str, Any]]:
    """Buckets of 0.1 s with so many acks each."""
    return [bucket(round(0.1 * n, 1), acks=many, reads=many) for n, many in enumerate(acks)]


def test_a_catch_up_burst_does_not_flatten_the_rest_and_the_cut_is_said():
    example = reports.kills(times=1)
    example = replace(example, timeline=rates_of(*[40] * 30, *[0] * 20, 2000, *[40] * 49))
    picture = drawn(example)
    [axis] = [a for a in picture.select_yaxes() if a.range and a.range[1] == 600]

    assert axis.range == (0, 600)
    assert any("cut at 600" in name for name in titles(picture))
    found = burst(example.timeline)
    assert found is not None
    assert (found.at, found.highest, found.when_s) == (600, 20_000, 5.0)


@pytest.mark.parametrize("most", [40, 99, 100])
def test_rates_without_a_burst_are_shown_whole(most):
    """A hundred is as much as two and a half times what is usual."""
    timeline = rates_of(*[40] * 50, most, *[40] * 49)

    assert burst(timeline) is None
    assert not any(
        "cut at" in name for name in titles(drawn(replace(reports.kills(), timeline=timeline)))
    )


def test_a_burst_of_reads_alone_is_cut_too():
    timeline = [*rates_of(*[40] * 50), bucket(5.0, acks=40, reads=900)]
    found = burst(timeline)

    assert found is not None
    assert (found.highest, found.when_s) == (9000, 5.0)


def test_what_is_usual_is_what_five_of_a_hundred_busy_buckets_may_exceed():
    assert burst(rates_of(*[40] * 94, *[400] * 6)) is None
    assert burst(rates_of(*[40] * 96, *[400] * 4)) is not None


def test_a_load_in_which_nothing_happened_has_no_burst():
    assert burst(rates_of(0, 0)) is None


def test_hovering_tells_the_time_of_day_where_it_is_known():
    example = reports.valid()
    assert not any("UTC" in text for text in hovers(drawn(example)).values())

    example.report["run"]["load_began_utc"] = "2026-11-21T23:59:59.500+00:00"

    assert hovers(drawn(example))[1.5].startswith("00:00:01.000 UTC<br>")


def test_look_ups_are_named_beside_the_reads_that_they_are_drawn_with():
    example = reports.valid()
    assert any("reads + look-ups, dotted" in name for name in titles(drawn(example)))

    example.report["counts"]["lookups"] = 0
    assert any(">reads, dotted<" in name for name in titles(drawn(example)))
