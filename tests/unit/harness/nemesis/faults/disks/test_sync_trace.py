"""What a power loss leaves: lines of strace in, lengths out."""

from __future__ import annotations

import pytest

from harness.nemesis.faults.disks.sync_trace import (
    Cuts,
    File,
    TraceError,
    baseline,
    cuts,
    ended,
    files,
)

LOG = "/d/t-0/00.log"


def wrote(count: int, path: str = LOG, pid: int = 7) -> str:
    return f'{pid} write(9<{path}>, ""..., {count}) = {count}'


def fsync(path: str = LOG, pid: int = 7, result: str = "0") -> str:
    return f"{pid} fsync(9<{path}>)     = {result}"


def of(*lines: str) -> tuple[int, int | None]:
    file = files(lines)[LOG]
    return file.length, file.synced


def test_what_was_written_before_a_sync_is_on_disk_and_nothing_after_it() -> None:
    assert of(wrote(100), fsync(), wrote(50)) == (150, 100)


def test_without_a_sync_nothing_is_on_disk() -> None:
    assert of(wrote(100), wrote(50)) == (150, None)


def test_the_sync_of_another_file_or_of_the_folder_says_nothing() -> None:
    assert of(wrote(100), fsync("/d/t-0"), fsync("/d/t-0/01.log")) == (100, None)


def test_a_sync_that_failed_synced_nothing() -> None:
    assert of(wrote(100), fsync(result="-1 EIO (Input/output error)")) == (100, None)


def test_what_another_thread_wrote_during_a_sync_is_not_known_to_be_on_disk() -> None:
    assert of(
        wrote(100),
        f"7 fsync(9<{LOG}> <unfinished ...>",
        wrote(50, pid=8),
        "7 <... fsync resumed>)   = 0",
    ) == (150, 100)


def test_a_sync_that_never_ended_synced_nothing() -> None:
    assert of(wrote(100), f"7 fdatasync(9<{LOG}> <unfinished ...>") == (100, None)


def test_a_write_counts_when_it_ends() -> None:
    begun = f'8 write(9<{LOG}>, ""..., 50 <unfinished ...>'
    assert of(wrote(100), begun, fsync(), "8 <... write resumed>) = 50") == (150, 100)
    assert files([begun])[LOG].writing == 1


def test_a_short_or_failed_write_is_as_long_as_it_says() -> None:
    assert of(wrote(10), f'7 write(9<{LOG}>, ""..., 100) = 40') == (50, None)
    assert of(wrote(10), f'7 write(9<{LOG}>, ""..., 9) = -1 ENOSPC (No space left)') == (10, None)


def test_a_write_at_a_place_makes_the_file_longer_only_past_its_end() -> None:
    assert of(wrote(100), f'7 pwrite64(9<{LOG}>, ""..., 10, 20) = 10') == (100, None)
    assert of(wrote(100), f'7 pwrite64(9<{LOG}>, ""..., 10, 95) = 10') == (105, None)


def test_a_truncation_takes_what_was_synced_too() -> None:
    assert of(wrote(100), fsync(), f"7 ftruncate(9<{LOG}>, 60) = 0", wrote(20)) == (80, 60)


def test_a_renamed_file_keeps_what_was_synced_and_replaces_the_other() -> None:
    """As a checkpoint is written: aside, synced, moved into place."""
    known = files(
        [
            wrote(9, "/d/checkpoint"),
            wrote(5, "/d/checkpoint.tmp"),
            fsync("/d/checkpoint.tmp"),
            '7 rename("/d/checkpoint.tmp", "/d/checkpoint") = 0',
            wrote(6, "/d/checkpoint.tmp"),
        ]
    )

    assert known["/d/checkpoint"] == File(length=5, synced=5)
    assert known["/d/checkpoint.tmp"] == File(length=6)


def test_a_renamed_folder_takes_its_files_along() -> None:
    known = files([wrote(9), fsync(), '7 rename("/d/t-0", "/d/t-0.uuid-delete") = 0'])

    assert set(known) == {"/d/t-0.uuid-delete/00.log"}


def test_a_segment_that_is_deleted_and_made_again_begins_anew() -> None:
    assert of(
        wrote(9),
        fsync(),
        f'7 rename("{LOG}", "{LOG}.deleted") = 0',
        f'7 unlink("{LOG}.deleted") = 0',
        wrote(4),
    ) == (4, None)


def test_what_survived_one_power_loss_survives_the_next() -> None:
    lines = baseline({LOG: 40}).splitlines()

    assert of(*lines, wrote(10)) == (50, 40)


def test_lines_that_are_no_file_calls_are_passed_over() -> None:
    assert (
        files(
            [
                "",
                "7 --- SIGKILL {si_signo=SIGKILL} ---",
                "7 +++ killed by SIGKILL +++",
                "7 <... write resumed>) = 3",
            ]
        )
        == {}
    )


def test_a_trace_has_ended_with_the_line_of_the_process_not_of_a_thread() -> None:
    assert not ended("17 +++ killed by SIGKILL +++\n", 7)
    assert ended("17 +++ killed by SIGKILL +++\n7 +++ killed by SIGKILL +++\n", 7)
    assert ended("7 +++ exited with 1 +++\n", 7)


def test_the_unsynced_end_is_cut_and_what_was_never_synced_or_is_an_index_goes() -> None:
    known = files(
        [
            wrote(100),
            fsync(),
            wrote(50),
            wrote(30, "/d/t-0/90.log"),
            wrote(9, "/d/t-0/partition.metadata"),
            fsync("/d/t-0/partition.metadata"),
            fsync("/d/t-0/00.txnindex"),
        ]
    )
    sizes = {
        LOG: 150,
        "/d/t-0/90.log": 30,
        "/d/t-0/00.index": 10485760,
        "/d/t-0/00.timeindex": 12,
        "/d/t-0/00.txnindex": 0,
        "/d/t-0/partition.metadata": 9,
        "/d/.lock": 0,
    }

    assert cuts(known, sizes) == Cuts(
        cut={LOG: 100},
        remove=(
            "/d/t-0/90.log",
            "/d/t-0/00.index",
            "/d/t-0/00.timeindex",
            "/d/t-0/00.txnindex",
            "/d/.lock",
        ),
        bytes_before=180,
        bytes_after=100,
    )


def test_all_synced_means_nothing_to_cut() -> None:
    found = cuts(files([wrote(100), fsync()]), {LOG: 100})

    assert (found.cut, found.remove, found.bytes_after) == ({}, (), 100)


@pytest.mark.parametrize("size", [99, 101])
def test_a_segment_that_the_trace_does_not_explain_is_refused(size: int) -> None:
    with pytest.raises(TraceError, match=f"{size} bytes, but the trace saw 100"):
        cuts(files([wrote(100), fsync()]), {LOG: size})


def test_a_write_in_progress_may_have_made_the_segment_longer() -> None:
    known = files([wrote(100), fsync(), f'8 write(9<{LOG}>, ""..., 50 <unfinished ...>'])

    assert cuts(known, {LOG: 150}).cut == {LOG: 100}


@pytest.mark.parametrize(
    "killed",
    [
        [f'8 write(9<{LOG}>, ""..., 50) = ?'],
        [f'8 write(9<{LOG}>, ""..., 50 <unfinished ...>', "8 <... write resumed>) = ?"],
        [f'8 write(9<{LOG}>, ""..., 50 <unfinished ...>) = ?'],
    ],
)
def test_a_thread_that_was_killed_in_a_write_may_have_written(killed: list[str]) -> None:
    known = files([wrote(100), fsync(), *killed])

    assert cuts(known, {LOG: 150}).cut == {LOG: 100}
    assert cuts(known, {LOG: 100}).cut == {}
