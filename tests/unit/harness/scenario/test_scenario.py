"""Scenarios: twins differ as named, errors name the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.scenario import ScenarioError
from harness.model.worker_kinds import KINDS, WorkerKind
from harness.scenario.file import read_scenario
from tests.support.scenarios import complaints, differences

MINIMAL = 'title = "t"\n[workload]\nkind = "stream"\n'
MIXED = '[mixed]\nuntil_s = 15\nperiod_s = 5\n[[mixed.faults]]\nverb = "kill"\ntarget = "one"\n'


def write(folder: Path, text: str, name: str = "mine.toml") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ('extends = "study-1"', None),
        ('extends = "study-1"\n[workload]\nrate = 5', None),
        ('extends = "study-1"\n[mixed]\nmost = 1', None),
        (MINIMAL + '[[faults]]\nverb = "kill"\ntarget = "one"\nat_s = 1\ntimes = 1', None),
        (
            MINIMAL + '[[faults]]\nverb = "kill"\ntarget = "one"\nwhen = "isr-alone"\ntimes = 2',
            None,
        ),
        (
            MINIMAL + '[[faults]]\nverb = "lose"\ntarget = "one"\nat_s = 1',
            "'options' is a required",
        ),
        ('extends = "study-1"\n[[faults]]\nverb = "kill"\nat_s = 1', "'target' is a required"),
        ('title = "t"', "'workload' is a required"),
        ('title = "t"\n[workload]\nrate = 5', "'kind' is a required"),
        (MINIMAL + "[mixed]\nmost = 1", "'faults' is a required"),
        (MINIMAL + '[workload.producer]\n"sasl.password" = "x"', "'sasl.password' should not be"),
        (MINIMAL + '[topic.config]\n"min.insync.replicas" = "2"', None),
        (MINIMAL + '[topic.config]\n"min.insync.replicas" = "two"', "'two' is not valid"),
        (MINIMAL + '[cluster.server]\n"min.insync.replicas" = true', "True is not valid"),
    ],
)
def test_the_schema_asks_for_keys_only_where_nothing_is_extended(written, complaint):
    told = complaints(written)

    assert bool(told) is (complaint is not None)
    assert complaint is None or complaint in told[0]


@pytest.mark.parametrize(
    ("twin", "named"),
    [
        ("study-3", {"/workload/producer/retries"}),
        ("study-4", {"/workload/producer/enable.idempotence"}),
        ("study-3-stream", {"/workload/producer/retries"}),
        ("study-4-stream", {"/workload/producer/enable.idempotence"}),
    ],
)
def test_twins_of_the_demanding_study_differ_only_in_the_client_setting_they_name(twin, named):
    base = "study-2-demanding-stream" if twin.endswith("stream") else "study-2-demanding"
    one, other = read_scenario(base).model_dump(), read_scenario(twin).model_dump()

    found = differences(one, other)

    assert named == found - {"/name", "/title", "/expect/duplicate"}


def test_study_1_and_study_2_differ_only_in_acks():
    one, other = (
        read_scenario("study-1").model_dump(),
        read_scenario("study-2").model_dump(),
    )

    found = differences(one, other)

    assert found - {"/name", "/title", "/expect/lost"} == {"/workload/producer/acks"}


def test_graceful_and_hard_differ_only_in_how_the_leader_leaves():
    one, other = (
        read_scenario("graceful").model_dump(),
        read_scenario("hard").model_dump(),
    )

    assert differences(one["faults"][0], other["faults"][0]) == {"/verb", "/until"}
    assert differences(one, other) - {"/name", "/title"} == {"/faults"}


def test_a_worker_of_a_new_kind_is_a_target_by_its_name(tmp_path, monkeypatch):
    prober = WorkerKind(name="prober", count=lambda work: work.producers, sends=True)
    monkeypatch.setitem(KINDS, "prober", prober)
    killed = MINIMAL + '[[faults]]\nverb = "kill"\ntarget = "prober-{}"\nat_s = 1\n'

    assert read_scenario(write(tmp_path, killed.format(0))).faults[0].target == "prober-0"
    with pytest.raises(ScenarioError, match=r"\(kill prober-1\): target: 'prober-1' is unknown"):
        read_scenario(write(tmp_path, killed.format(1)))


wrong_file = pytest.mark.parametrize(
    ("text", "told"),
    [
        ("title = ", "not a TOML file"),
        ('title = "t"', "workload is missing"),
        (MINIMAL + "rond = 3", "unknown key workload.rond (did you mean 'workload.rounds'?)"),
        (MINIMAL + "[clustr]\nbrokers = 3", "unknown key clustr (did you mean 'cluster'?)"),
        (MINIMAL + "rate = 0", "workload.rate: Input should be greater than 0, got 0"),
        (MINIMAL + 'rate = "fast"', "workload.rate: Input should be a valid number"),
        (MINIMAL + "[topic]\nreplication_factor = 4", "topic.replication_factor is 4"),
        (
            MINIMAL + '[topic.config]\n"min.insync.replicas" = 4',
            "no send with acks=all could ever succeed",
        ),
        (
            MINIMAL + '[workload.producer]\nacks = 1\n"enable.idempotence" = true',
            "enable.idempotence=true needs acks=all, but acks is 1",
        ),
        (
            MINIMAL + '[workload.producer]\nretries = 0\n"enable.idempotence" = true',
            "needs retries > 0",
        ),
        (
            MINIMAL + '[workload.producer]\nacks = 1\n"transactional.id" = "t"',
            "workload.producer: transactional.id needs acks=all, but acks is 1",
        ),
        (
            MINIMAL + "transaction_abort_every = 3",
            "workload.transaction_abort_every: set workload.producer.transactional.id",
        ),
        (MINIMAL + '[cluster.server]\n"log.dirs" = "x"', "is set by the harness: remove it"),
        (MINIMAL + 'dies = ["before-commit"]', "workload.dies: set workload.group_consumers or"),
        (
            MINIMAL + 'group_consumers = 1\ndies = ["before-commit"]\ndies_after = 20000',
            "workload.dies_after: 1 deaths after 20,000 records each",
        ),
        (MINIMAL + "[expect]\nskipped = '0'", "expect.skipped: set workload.group_consumers"),
        (
            MINIMAL + "[expect]\nunacknowledged-lost = '0'",
            "expect.unacknowledged-lost: set workload.producer.acks=0",
        ),
        (MINIMAL + "[expect]\ndiverged = '0'", "expect.diverged: set check.replicas=true"),
        (MINIMAL + "[expect]\nearly-read = '0'", "expect.early-read: set check.watermarks=true"),
        (MINIMAL + "[expect]\nisr-leave-s = '<= 3'", "expect.isr-leave-s: set check.watermarks"),
        (
            MINIMAL + "[expect]\nkept-past-log-end = '0'",
            "expect.kept-past-log-end: set check.watermarks",
        ),
        (MINIMAL + 'commit = "never"', "workload.commit: Input should be 'auto', 'before'"),
        (
            'title = "t"\n[workload]\nkind = "write-read"\ngroup_consumers = 1',
            "workload.group_consumers counts for kind = 'stream' alone",
        ),
        (
            MINIMAL + '[[faults]]\nverb = "kil"\ntarget = "leader"\nat_s = 1',
            "first [[faults]] (kil leader): verb: 'kil' is unknown (did you mean 'kill'?)",
        ),
        (
            MINIMAL + '[[faults]]\nverb = "kill"\ntarget = "kafka4"\nat_s = 1',
            "first [[faults]] (kill kafka4): target: 'kafka4' is unknown",
        ),
        (MINIMAL + '[[faults]]\nverb = "kill"\ntarget = "leader"', "give exactly one of at_s"),
        (
            MINIMAL + '[[faults]]\nverb = "kill"\ntarget = "leader"\nat_s = 99',
            "the last one is due at 99 s, but workload.duration_s is 20",
        ),
        (
            MINIMAL + "[topic]\nreplication_factor = 1\n"
            '[[faults]]\nverb = "kill"\ntarget = "follower"\nat_s = 1',
            "with one replica there is no follower",
        ),
        (
            MINIMAL + "[topic]\nreplication_factor = 3\n"
            '[[faults]]\nverb = "reassign"\ntarget = "all"\nat_s = 1',
            "first [[faults]] (reassign all): verb: reassign: every broker has a replica already",
        ),
        (
            MINIMAL + '[[faults]]\nverb = "kill"\ntarget = "kafka1"\nat_s = 3\nfor_s = 4\n'
            '[[faults]]\nverb = "pause"\ntarget = "kafka1"\nat_s = 5',
            "second [[faults]]: pause kafka1 at 5 s overlaps the first, kill kafka1 at 3 s for "
            "4 s, and both need exclusive use of the process of kafka1: start it when the other is",
        ),
        (
            MINIMAL + '[[faults]]\nverb = "move-leader"\ntarget = "follower"\nat_s = 1',
            "(move-leader follower): verb: move-leader: follower: a follower of the only partition",
        ),
        (
            MINIMAL + '[[faults]]\nverb = "move-leader"\ntarget = "all"\nat_s = 1',
            "(move-leader all): verb: move-leader: all: no other replica could lead",
        ),
        (
            MINIMAL + '[[faults]]\nverb = "elect"\ntarget = "leader"\nat_s = 1',
            "(elect leader): verb: elect: leader: with one partition the leader has no other",
        ),
        (
            MINIMAL + '[[faults]]\nverb = "elect"\ntarget = "zk-leader"\nat_s = 1',
            "(elect zk-leader): target: elect does not apply to zk-leader, only to a broker",
        ),
        (
            MINIMAL + '[[faults]]\nverb = "kill"\ntarget = "producer-1"\nat_s = 1',
            "first [[faults]] (kill producer-1): target: 'producer-1' is unknown",
        ),
        (
            'title = "t"\n[workload]\nkind = "write-read"\n'
            '[[faults]]\nverb = "kill"\ntarget = "producer"\nat_s = 1',
            "first [[faults]] (kill producer): target: producer: only a workload of kind",
        ),
        (
            MINIMAL + "[cluster]\nzookeepers = 1\n"
            '[[faults]]\nverb = "kill"\ntarget = "zk-follower"\nat_s = 1',
            "a single ZooKeeper neither leads nor follows",
        ),
        (
            MINIMAL + '[[faults]]\nverb = "cut-answers"\ntarget = "leader"\nat_s = 1\n'
            'options = { how = "nicely" }',
            "how is 'nicely', must be one of drop, reset",
        ),
        (
            MINIMAL + '[[faults]]\nverb = "kill"\ntarget = "leader"\nat_s = -1',
            "first [[faults]] (kill leader): at_s: Input should be greater than or equal to 0",
        ),
        (
            MINIMAL + '[[faults]]\nverb = "kill"\ntraget = "leader"\nat_s = 1',
            "first [[faults]] (kill): target is missing",
        ),
        (
            MINIMAL + '[[faults]]\nverb = "kill"\ntarget = "leader"\nats = 1',
            "first [[faults]] (kill leader): unknown key ats (did you mean 'at_s'?)",
        ),
        (
            MINIMAL + MIXED + '[[mixed.faults]]\nverb = "pause"\ntarget = "one"\nfor_s = -1',
            "second [[mixed.faults]] (pause one): for_s: Input should be greater",
        ),
        (
            MINIMAL + MIXED + '[[mixed.faults]]\nverb = "pauze"\ntarget = "one"',
            "second [[mixed.faults]] (pauze one): verb: 'pauze' is unknown (did you mean 'pause'?)",
        ),
        (MINIMAL + '[faults]\nverb = "kill"', "faults: write [[faults]] in double brackets, once"),
        ("faults = [3]\n" + MINIMAL, "first [[faults]]: Input should be a valid dictionary"),
        (
            MINIMAL + '[topic.config]\n"min.insync.replicas" = "two"',
            "topic.config.min.insync.replicas is 'two', not a whole number",
        ),
        (
            MINIMAL + '[[faults]]\nverb = "set-config"\ntarget = "leader"\nat_s = 1\n'
            '[faults.options]\n"min.insync.replica" = 2',
            "(set-config leader): options: 'min.insync.replica' cannot be changed on "
            "topic in a run (did you mean 'min.insync.replicas'?)",
        ),
        (
            MINIMAL + '[[faults]]\nverb = "kill"\ntarget = "leader"\nat_s = 1\ntimes = 2',
            "needs every_s",
        ),
    ],
)
# What no schema tells: it depends on two keys, on a cluster's size or on a registry's rules.
ONLY_WHEN_READ = (
    "not a TOML file",
    "topic.replication_factor is 4",
    "no send with acks=all could ever succeed",
    "enable.idempotence=true needs acks=all",
    "needs retries > 0",
    "transactional.id needs acks=all",
    ": set ",
    "workload.dies_after: 1 deaths",
    "counts for kind = 'stream' alone",
    "target: ",
    "the last one is due at",
    "with one replica there is no follower",
    "verb: reassign",
    "verb: move-leader",
    "verb: elect",
    " overlaps ",
    "a single ZooKeeper neither leads nor follows",
)


@wrong_file
def test_the_schema_marks_what_is_wrong_with_a_key_a_type_or_a_range_and_no_more(text, told):
    elsewhere = any(words in told for words in ONLY_WHEN_READ)

    assert elsewhere or complaints(text)
    assert not elsewhere or told == "not a TOML file" or complaints(text) == []


@wrong_file
def test_what_cannot_be_run_is_refused_in_one_sentence_that_names_file_and_key(
    tmp_path, text, told
):
    with pytest.raises(ScenarioError) as refused:
        read_scenario(write(tmp_path, text))

    head, *others = str(refused.value).splitlines()
    sentences = [each.strip() for each in others] or [head]  # a line each where there are several
    assert any(told in sentence for sentence in sentences)
    assert all(sentence.startswith("mine.toml: ") for sentence in sentences)


def test_a_file_with_a_byte_order_mark_is_a_file_like_any_other(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(MINIMAL.encode("utf-8-sig"))

    assert read_scenario(str(path)).title == "t"


def test_an_unknown_name_gets_the_nearest_one():
    with pytest.raises(ScenarioError, match=r"did you mean 'study-1'"):
        read_scenario("study1")


def test_a_scenario_may_extend_another_and_change_what_it_names(tmp_path):
    path = write(tmp_path, 'title = "short"\nextends = "study-1"\n[workload]\nrounds = 9600\n')

    loaded = read_scenario(path)

    assert (loaded.title, loaded.workload.rounds) == ("short", 9600)
    assert loaded.workload.producer["acks"] == "1"


def test_a_scenario_that_extends_itself_is_refused(tmp_path):
    path = write(tmp_path, 'extends = "mine"\n' + MINIMAL)

    with pytest.raises(ScenarioError, match="extends itself"):
        read_scenario(path)


@pytest.mark.parametrize(("kind", "demanded"), [("loss", "lost"), ("divergence", "diverged")])
def test_with_and_without_epochs_differ_only_in_protocol_and_message_format(kind, demanded):
    one = read_scenario(f"epoch-{kind}-without").model_dump()
    found = differences(one, read_scenario(f"epoch-{kind}-with").model_dump())

    assert found - {"/name", "/title"} - {"/expect/lost"} == {
        "/cluster/server/inter.broker.protocol.version",
        "/cluster/server/log.message.format.version",
        *({f"/expect/{demanded}"} - {"/expect/lost"}),
    }


def test_what_a_group_commits_when_is_all_that_its_scenarios_differ_in():
    one = read_scenario("manual-commit").model_dump()
    for twin in ("manual-commit-before", "auto-commit"):
        found = differences(one, read_scenario(twin).model_dump())

        assert found - {"/name", "/title"} <= {
            "/workload/commit",
            "/expect/skipped",
            "/expect/reprocessed",
        }
