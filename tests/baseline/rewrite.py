"""What the checkers say today, as files: promises, sentences and the reports of the golden runs.

    python tests/baseline/rewrite.py

writes the files beside this one anew; tests/baseline/test_baseline.py compares them with what the
code says. A change that means to change nothing leaves them alone, and any other shows in its diff
what it changed.

`promises.txt`: by class of configuration and by anomaly, which row of the table of promises decides
at which cells. A cell is a verb at a target in a situation (`kill: leader (blind)`); `everywhere`
stands for all cells of a verb, `everywhere but` names those that are not meant, and `the rest` is
all that the rows before do not have. `sentences.txt`: the faults in words, whole headlines, and a
digest of those of each verb at all its targets under each class of configuration.
`golden/`: report.json of each golden run. Headings begin a line and what is under them is indented,
so that git names them beside its hunks.

It cannot see the report's page, nor what Spark finds in histories other than the golden ones.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from harness.checkout import ROOT

sys.path.insert(0, str(ROOT))  # so that this file can be run as well as imported

from tests.baseline.golden_reports import check_golden_runs, golden_texts
from tests.baseline.promises_text import promises_text
from tests.baseline.sentences_text import sentences_text

HERE = ROOT / "tests" / "baseline"


def main() -> None:
    """Write every file anew, and remove those of golden runs that are no more."""
    with tempfile.TemporaryDirectory() as folder:
        check_golden_runs(Path(folder))
        golden = golden_texts(Path(folder))
    texts = {"promises.txt": promises_text(), "sentences.txt": sentences_text()} | golden
    for old in HERE.glob("golden/*.json"):
        old.unlink()
    for name, text in texts.items():
        (HERE / name).parent.mkdir(exist_ok=True)
        (HERE / name).write_text(text)
        sys.stdout.write(f"{HERE / name} written\n")


if __name__ == "__main__":
    main()
