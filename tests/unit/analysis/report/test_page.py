"""report.html says everything in its text, loads nothing, and cannot be broken by a run's texts."""

import base64
import gzip
import hashlib
import json
import re
from typing import Any

import pytest

from analysis.report.page import ROWS_MAX, STRETCHES_MAX, render, tiles
from analysis.report.parts.templates import TEMPLATES
from harness.model.runs.report import Report
from tests.support.pages import report_parts, reports
from tests.support.pages.page_reader import read, script

BUILDERS = [
    reports.valid,
    reports.invalid,
    reports.control,
    reports.graceful,
    reports.unknown,
    reports.empty,
    reports.huge,
    reports.hostile,
]


@pytest.mark.parametrize("build", BUILDERS)
def test_the_verdict_is_a_word_and_a_sentence(build):
    example = build()
    text = read(example).text

    assert example.report["verdict"].capitalize() in text
    sentence = example.report["sentence"].replace("\x00", "\ufffd").replace("\udc80", "?")
    assert " ".join(sentence.split()) in text.replace("\x00", "\ufffd")


def test_what_was_tried_is_told_in_words():
    text = read(reports.invalid()).text

    assert "The study's test 4: idempotence, acks=all, leader killed" in text
    assert "retries for 30.0 s, idempotence on, 3 replicas, min.insync.replicas=2" in text
    assert "Brokers Kafka 3.9.1" in text
    assert "10 faults: kill leader ×10" in text


def test_a_lost_record_is_shown_with_its_evidence_and_its_split():
    text = read(reports.invalid()).text

    assert "3 seen, 2 delivered before, 1 never delivered" in text
    assert "977 before fault 0: kill → kafka1 delivered before 981 partition 0" in text
    assert "analysis/lost.parquet" in text
    assert "Promise broken" in text


def test_a_control_run_says_that_its_losses_are_allowed_and_wanted():
    text = read(reports.control()).text

    assert "Allowed here, and as the scenario expects (at least 1)" in text
    assert "Promise broken" not in text
    assert "5 other anomalies: none seen; 3 of them are forbidden here" in text
    assert "8 other counts: 0 acknowledged without an offset" in text


def test_a_run_that_never_sent_anything_says_why_once():
    example = reports.unknown()
    report = example.report
    why = "the run failed in phase set-up: kafka1 did not start: no listener"
    report["counts"] = dict.fromkeys(report["counts"], 0)
    report["sentence"] = f"It is not known whether data was lost: {why}."
    report |= {"reasons": [why, "nothing was sent"], "verdict_words": "2 reasons", "faults": []}
    report["run"]["failure"] = {"phase": "set-up", "error": "kafka1 did not start: no listener"}
    report["host"]["cpu_starvation"]["pressure_some_percent"] = 90.0
    text = read(example).text

    assert text.count("kafka1 did not start") == 1
    assert "nothing was sent The run ended early in phase “set-up”." in text
    assert "The host was short of CPU" not in text
    assert "Nothing was recorded during the load, so there is no timeline." in text


def test_an_unknown_run_says_why_and_claims_nothing():
    text = read(reports.unknown()).text

    assert "final read incomplete" in text
    assert "The run ended early in phase “load”: time limit" in text
    assert "None found, which proves nothing in this run" in text
    assert "Promise kept" not in text
    assert "pid 812 was still there after 10 s" in text


def test_an_outage_is_told_with_its_fault_and_both_ways_to_the_first_ack():
    example = reports.kills(times=1)
    [window] = [w for w in example.report["windows"] if w["kind"] == "produce"]
    text = read(example).text

    assert "0: kill → kafka1" in text
    assert f"{window['injection_to_first_ack_s']:.2f} s" in text
    assert f"{window['heal_to_first_ack_s']:.2f} s" in text


def test_a_fault_is_shown_with_both_proofs_and_who_led_before_and_after():
    text = read(reports.kills(times=1)).text

    assert "pid 812 is gone" in text
    assert "ISR of partition 0 full" in text
    assert "leader: kafka1 → kafka" in text
    assert "ISR: 3 → 2, without kafka1" in text


def test_replicas_that_were_followed_are_told_in_numbers():
    example = reports.kills(times=1)
    assert "Replicas" not in read(example).text
    example.report["replication"] = reports.replication()

    text = " ".join(read(example).text.split())

    assert "sampled 560 times, every 54.9 ms" in text
    assert "checkpoint, which it writes every 5.00 s" in text
    assert "kafka3 1 6 13 211 ms 985 ms 3.09 s" in text
    assert "0: kill → kafka1 0 kafka3 10.21 s 15.02 s 4.81 s 1.20 24.55 s – –" in text
    assert "2,107 acknowledged records lay past the log end of a leader" in text
    assert "2,106 of them are lost, 1 were found nevertheless." in text
    assert "12.50 s 0 kafka2 1,204 kafka1 3,310" in text


def test_who_led_what_and_how_much_load_each_bore_is_told_in_numbers():
    example = reports.kills(times=1)
    example.report["leadership"] = report_parts.leadership()

    text = read(example).text

    assert (
        "0.00 s 3.00 s leads 1, 200 acks/s leads 1, 201 acks/s leads 1, 199 acks/s – "
        "3.00 s 6.00 s leads 0, 0 acks/s leads 2, 402 acks/s leads 1, 199 acks/s 0: kill → kafka1"
    ) in text
    assert "more are in report.json" not in text
    assert "No leader" not in text


def test_of_many_stretches_the_first_are_shown_and_the_others_counted():
    example = reports.kills(times=1)
    example.report["leadership"] = report_parts.leadership(
        stretches=STRETCHES_MAX + 1_001, leaderless=1
    )

    text = read(example).text

    assert f"The first {STRETCHES_MAX} are listed, 1,001 more are in report.json" in text
    assert text.count("1 partition ") == STRETCHES_MAX
    assert "33.00 s 36.00 s" in text
    assert "36.00 s 39.00 s" not in text


@pytest.mark.parametrize(
    ("stretches", "partitions", "shown"), [(1, 1, False), (2, 1, True), (1, 3, True), (0, 3, False)]
)
def test_one_partition_with_one_leader_throughout_needs_no_table(stretches, partitions, shown):
    example = reports.kills(times=1)
    example.report["leadership"] = report_parts.leadership(stretches=stretches)
    example.report["configuration"]["topic"]["partitions"] = partitions

    assert ("Leaders and load" in read(example).text) == shown


def test_a_report_from_before_leaders_were_counted_is_shown_all_the_same():
    example = reports.kills(times=1)
    assert "leadership" not in example.report
    assert "Leaders and load" not in read(example).text


def test_configuration_promises_and_the_command_are_there():
    text = read(reports.valid()).text

    for expected in (
        "zookeeper.session.timeout.ms 6000",
        "enable.idempotence true",
        "min.insync.replicas 2",
        "linger.ms producer 0 5 0",
        "KIP-98, Exactly Once Delivery",
        "kafka-harness run study-1 --backend local --seed 42",
        "librdkafka 2.16.0",
        "2 CPUs, 7.7 GiB",
        "0.4 % of its CPU time",
    ):
        assert expected in text


def test_a_starved_host_is_named_at_the_top():
    example = reports.valid()
    assert "short of CPU" not in read(example).text

    example.report["host"]["cpu_starvation"]["steal_percent"] = 12.5
    assert "The host was short of CPU" in read(example).text


@pytest.mark.parametrize(
    ("key", "most", "more"),
    [
        ("steal_percent", 5.0, 5.1),
        ("pressure_some_percent", 60.0, 60.1),
        ("cgroup_throttled_s", 1.0, 1.1),
    ],
)
def test_a_host_is_starved_above_its_limits_only(key, most, more):
    example = reports.valid()
    example.report["host"]["cpu_starvation"][key] = most
    assert "short of CPU" not in read(example).text

    example.report["host"]["cpu_starvation"][key] = more
    assert "short of CPU" in read(example).text


def test_the_key_numbers():
    numbers = {tile["name"]: tile for tile in tiles(reports.invalid().model)}

    assert ("3", "bad") == (numbers["Records lost"]["value"], numbers["Records lost"]["tone"])
    assert "0" == numbers["Duplicates"]["value"]
    assert "kill →" in numbers["Longest write outage"]["note"]
    assert "of 10,000 sends; 3 in doubt, 0 failed" == numbers["Sends acknowledged"]["note"]
    assert "1.9 ms" == numbers["Time to ack, p50"]["value"]


def test_a_number_that_was_not_measured_is_not_zero():
    numbers = {tile["name"]: tile["value"] for tile in tiles(reports.empty().model)}

    assert "–" == numbers["Records lost"]
    assert "–" == numbers["Longest read outage"]
    assert "–" == numbers["Time to ack, p50"]


def tile_of(report: dict[str, Any], name: str) -> dict[str, str]:
    return {each["name"]: each for each in tiles(Report.model_validate(report))}[name]


def test_an_outage_of_what_nobody_did_was_not_measured():
    """Nobody read: that reads never stopped would be as true as that they never went on."""
    report = reports.valid().report
    report["longest_window_s"]["consume"] = 0.0
    report["counts"]["reads"] = 0
    tile = tile_of(report, "Longest read outage")
    assert tile["value"] == "–"
    assert tile["note"] == "not measured: no consumer that follows the log was given anything"

    report["counts"] |= {"reads": 5, "acked": 0}  # acks=0: nobody knows what was due
    tile = tile_of(report, "Longest read outage")
    assert tile["note"] == "not measured: nothing was acknowledged: nothing to read"


def test_sends_that_their_client_aborted_are_no_failed_ones():
    report = reports.valid().report
    report["counts"] |= {"failed": 9, "aborted": 7}
    tile = tile_of(report, "Sends acknowledged")

    assert tile["note"].endswith("2 failed, 7 aborted by their client")


def test_none_found_in_a_run_that_proves_nothing_is_not_zero():
    unknown = {tile["name"]: tile for tile in tiles(reports.unknown().model)}
    valid = {tile["name"]: tile for tile in tiles(reports.valid().model)}

    assert ("–", "doubt") == (unknown["Records lost"]["value"], unknown["Records lost"]["tone"])
    assert "0" == valid["Records lost"]["value"]


def test_no_outage_above_the_threshold_is_said_so():
    example = reports.kills(times=0)
    numbers = {tile["name"]: tile for tile in tiles(example.model)}

    assert "no stretch of 500 ms or more" == numbers["Longest write outage"]["note"]
    assert "No fault was injected" in read(example).text


def test_a_run_without_a_timeline_is_a_small_page_without_scripts():
    example = reports.empty()
    reader = read(example)

    assert [] == reader.scripts
    assert "there is no timeline" in reader.text
    assert len(render(example.model, [], [])) < 50_000


def test_of_too_many_outages_the_longest_are_listed_and_the_rest_is_counted():
    example = reports.huge()
    windows = example.report["windows"]
    reader = read(example)

    assert f"The {ROWS_MAX} longest of {len(windows)} are listed." in reader.text
    longest = max(windows, key=lambda window: window["length_s"])
    assert f"{longest['length_s']:.2f} s" in reader.text


@pytest.mark.parametrize("build", [reports.invalid, reports.hostile, reports.empty])
def test_the_page_names_no_address_but_its_own_parts(build):
    beside = {"report.json", "junit.xml", "analysis/lost.parquet/"}
    addresses = read(build()).addresses

    assert {each for each in addresses if not each.startswith(("#", "data:"))} <= beside


@pytest.mark.parametrize("build", [reports.invalid, reports.hostile])
def test_the_policy_forbids_requests_and_lets_just_two_scripts_run(build):
    reader = read(build())
    [ours] = [text for attributes, text in reader.scripts if "type" not in attributes]
    plotly = gzip.decompress(base64.b64decode(script(reader, "plotly")))

    allowed = re.search(r"script-src ([^;]*);", reader.policy)
    assert allowed is not None
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}'"
        for text in (ours.encode(), plotly)
    ]
    assert hashes == allowed[1].split()
    assert reader.policy.startswith("default-src 'none';")


def test_texts_of_the_run_stay_texts():
    reader = read(reports.hostile())

    assert 4 == len(reader.scripts)
    assert "img" not in reader.tags
    assert "document.title='broken'" in reader.text


def test_the_embedded_figure_cannot_end_its_element_and_is_json_still():
    example = reports.hostile()
    page = render(example.model, example.timeline, example.views)
    text = script(read(example), "figure")

    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text)["layout"]["height"] > 0
    assert page.count("</script>") == 4


def test_the_same_run_gives_the_same_page():
    one, two = reports.invalid(), reports.invalid()

    first = render(one.model, one.timeline, one.views)
    assert first == render(two.model, two.timeline, two.views)


def test_the_page_of_a_minute_and_a_half_stays_under_two_and_a_half_megabytes():
    example = reports.invalid()

    assert len(render(example.model, example.timeline, example.views).encode()) < 2_500_000


def test_every_heading_below_the_first_can_be_reached_from_the_list_of_parts():
    example = reports.valid()
    page = render(example.model, example.timeline, example.views)
    targets = re.findall(r'<a href="#(\w+)">', page)

    assert targets
    assert all(f'id="{target}"' in page for target in targets)


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("paper", [0, 1, 2], ids=["light", "dark", "print"])
def test_text_stands_out_from_its_paper(paper):
    """WCAG AA: a contrast of 4.5 for text of any size."""
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    sets = [dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in re.split(":root", style)]
    colors = sets[1 + paper]

    moods = ("good", "bad", "doubt", "lost", "kept")
    pairs = [(text, "paper") for text in ("ink", "soft", "link", "good", "bad", "doubt")]
    pairs += [(text, f"{mood}-wash") for mood in moods for text in ("ink", "soft", mood)]
    pairs += [("stamp", mood) for mood in ("good", "bad", "doubt")] + [("soft", "wash")]
    for text, ground in pairs:
        bright, dim = sorted((luminance(colors[text]), luminance(colors[ground])), reverse=True)
        assert (bright + 0.05) / (dim + 0.05) >= 4.5, f"{text} on {ground}"
