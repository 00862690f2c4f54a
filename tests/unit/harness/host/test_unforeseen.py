"""What nobody foresaw is one sentence; its details are kept, and nothing secret with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import release
from harness.host.unforeseen import details_go_to, exit_code_of, sentence_of


def raised(message: str, folder: Path | None = None) -> Exception:
    hidden = "value-of-a-variable"
    try:
        if folder is None:
            raise KeyError(message + hidden[:0])
        with details_go_to(folder):
            raise KeyError(message)
    except KeyError as error:
        return error


def kept(folder: Path) -> str:
    (file,) = folder.glob("**/unexpected-*.txt")
    assert file.stat().st_mode & 0o077 == 0
    return file.read_text()


def test_the_details_are_in_the_run_s_folder(tmp_path: Path) -> None:
    said = sentence_of(raised("x", tmp_path), ["check", "study-1"])

    assert "\n" not in said
    assert "KeyError: 'x'" in said
    assert str(tmp_path) in said
    details = kept(tmp_path)
    assert "arguments: check study-1" in details
    assert "Traceback" in details
    assert release.described() in details
    assert "pydantic" in details
    assert "value-of-a-variable" not in details.replace('hidden = "value-of-a-variable"', "")


def test_a_release_that_cannot_be_told_does_not_hide_the_details(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> str:
        raise OSError("gone")

    monkeypatch.setattr(release, "described", broken)
    sentence_of(raised("x", tmp_path), [])

    assert "of an unknown release" in kept(tmp_path)


def test_without_a_run_s_folder_they_are_in_the_user_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    sentence_of(raised("x"), [])

    assert "Traceback" in kept(tmp_path / "kafka-harness")


def test_where_that_is_no_folder_they_are_among_the_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    assert str(tmp_path / "unexpected-") in sentence_of(raised("x", tmp_path / "gone"), [])


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "x", "--copy-to", "s3://me:hush@bucket"],
        ["run", "x", "--copy-to=s3://me:hush@bucket"],
        ["run", "x", "--set", "workload.producer.sasl.password=hush"],
        ["up", "x", "--", "mysql", "-p", "hush"],
    ],
)
def test_what_may_be_secret_is_kept_nowhere(tmp_path: Path, arguments: list[str]) -> None:
    secret = arguments[-1].removeprefix("--copy-to=").rpartition("password=")[2]
    said = sentence_of(raised(f"no answer from {secret}", tmp_path), arguments)

    assert "hush" not in said + kept(tmp_path)


def test_arguments_that_are_no_secret_are_kept(tmp_path: Path) -> None:
    sentence_of(raised("x", tmp_path), ["run", "x", "--set", "workload.rounds=10"])

    assert "run x --set workload.rounds=10" in kept(tmp_path)


def test_a_sentence_is_one_line_however_long_the_message(tmp_path: Path) -> None:
    said = sentence_of(raised("a\nb\x1b[2K" + "z" * 10_000, tmp_path), [])

    assert said.isprintable()
    assert len(said) < 600


def test_a_main_that_fails_ends_with_255_and_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def main() -> int:
        raise ZeroDivisionError("no")

    assert exit_code_of(main, failed=255) == 255
    assert exit_code_of(lambda: 2, failed=255) == 2
    said = capsys.readouterr().err
    assert "ZeroDivisionError: no" in said
    assert "Traceback" not in said


class Speechless(Exception):
    def __str__(self) -> str:
        raise AssertionError("the session is gone")


def test_an_error_that_cannot_be_asked_what_it_says_is_one_sentence_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def main() -> int:
        raise Speechless

    assert exit_code_of(main, failed=255) == 255
    assert "unexpected error (Speechless): a defect" in capsys.readouterr().err
    assert "Speechless" in kept(tmp_path / "kafka-harness")
