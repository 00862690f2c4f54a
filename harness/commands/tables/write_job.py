"""kafka-harness check --write-job FILE: writes the check of two tables as one file for Spark.

The file is a Python program with a zip archive of the checkers' modules: those that
analysis.tables.job needs. So its driver needs PySpark alone, its executors need nothing, and no
rule is written twice. It also has the known configuration (`--about`), with what that permits.
"""

from __future__ import annotations

import ast
import base64
import io
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from harness import release
from harness.foreign.about import About
from harness.foreign.imported_run import HistoryFacts, HistoryRows, ImportRequest, write_run
from harness.model.runs.run_folder import StoreError, write_atomically
from harness.model.untold import NEVER_TOLD

MAIN: Final = "analysis.tables.job"
OURS: Final = ("analysis", "harness")
# Fields of analysis.frames.schema.RUNS that the configuration decides.
_CONFIGURED: Final = (
    *("transforms", "transactional", "dirty", "one_copy", "to_end", "dense", "checkpoint_ns"),
    *("threshold_ns", "bucket_ns"),
)
_WIDTH: Final = 100
_PROGRAM: Final = '''"""Check two tables, sends and reads: what Kafka lost, duplicated or made up.

    spark-submit {name} --sends TABLE --reads TABLE [--final-read-is-complete] [--rows N]

Written by kafka-harness {version}, commit {commit}; docs/tables.md describes it.
Its driver needs PySpark 4 and Python 3.11, its executors need nothing.
Exit codes: 0 valid, 1 invalid, 2 unknown, 254 bad arguments or tables, 255 anything else.
"""

import atexit
import base64
import os
import sys
import tempfile

if sys.version_info < (3, 11):
    sys.exit("error: this job needs Python 3.11 or newer: set spark.pyspark.driver.python")

# What is known of the configuration, and what it permits: JSON.
KNOWN = base64.b85decode("""
{known}
""".replace("\\n", "")).decode()
# The checkers: a zip archive of Python sources.
MODULES = """
{modules}
"""


def main():
    file, archive = tempfile.mkstemp(suffix=".zip", prefix="kafka-harness-")
    with os.fdopen(file, "wb") as opened:
        opened.write(base64.b85decode(MODULES.replace("\\n", "")))
    atexit.register(os.unlink, archive)
    sys.path.insert(0, archive)
    try:
        import pyspark

        if int(pyspark.__version__.split(".")[0]) < 4:
            sys.exit("error: this job needs PySpark 4 or newer, and this is " + pyspark.__version__)
        from {main} import main as check

        code = check(sys.argv[1:], KNOWN)
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        sys.stderr.write("error: " + type(error).__name__ + ": " + lines[0] + "\\n")
        code = 255
    sys.exit(code)


if __name__ == "__main__":
    main()
'''


def write_job(file: Path, about: About) -> None:
    """Write the program. Raises HistoryError, StoreError and DiskError."""
    if file.is_dir() or not file.parent.is_dir():
        raise StoreError(f"--write-job {file}: no file can be there: give a name in a folder")
    text = _PROGRAM.format(
        name=file.name,
        version=release.version(),
        commit=release.commit(),
        main=MAIN,
        known=_packed(known(about).encode()),
        modules=_packed(_archive()),
    )
    try:
        write_atomically(file, text)
    except OSError as error:
        raise StoreError(f"--write-job {file}: cannot be written ({error.strerror})") from None


def modules(name: str = MAIN) -> dict[str, Path]:
    """The modules of ours that a module needs when it is imported, and itself: name -> source."""
    sources: dict[str, Path] = {}
    needed = [name]
    while needed:
        module = needed.pop()
        spec = None if module in sources else find_spec(module)
        if spec is None or spec.origin is None:
            continue
        sources[module] = Path(spec.origin)
        package = module.rpartition(".")[0]
        needed += [package] if package else []
        needed += _imported(ast.parse(sources[module].read_text()))
    return sources


def _imported(tree: ast.Module) -> Iterator[str]:
    """The imports at the top of a module, without those below `if TYPE_CHECKING`."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.split(".")[0] in OURS)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in OURS:
            assert node.module is not None
            yield node.module
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from filter(_is_module, names)


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # its parent is no package
        return False


def _archive() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, source in sorted(modules().items()):
            path = name.replace(".", "/")
            path += "/__init__.py" if source.name == "__init__.py" else ".py"
            # Without a time: the same sources make the same file.
            archive.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), source.read_bytes())
    return made.getvalue()


def _packed(data: bytes) -> str:
    text = base64.b85encode(data).decode()
    return "\n".join(text[at : at + _WIDTH] for at in range(0, len(text), _WIDTH))


def known(about: About) -> str:
    """The known configuration, as analysis.tables.findings takes it: the result of a check of a run
    without operations. Raises HistoryError."""
    from analysis.checks.run_row import run_row  # Spark is slow to import
    from analysis.stored.stored_run import open_run
    from analysis.tables.findings import Configuration
    from analysis.verdict.permission import permission_of  # and only needed here

    facts = HistoryFacts(
        start_ns=1, end_ns=1, topic=None, partitions=1, producers=1, untold=NEVER_TOLD
    )
    no_rows = HistoryRows(operations={}, values=(), events=())
    with tempfile.TemporaryDirectory() as folder:
        request = ImportRequest(name="known", results=Path(folder), command="", about=about)
        run = open_run(write_run(facts, request, lambda _: no_rows).path)
    permission = permission_of(run)
    row = run_row(run)
    causes = [{**cause, "partition": None} for cause in permission.rows()]
    return Configuration(
        facts=permission.facts,
        run={name: row[name] for name in _CONFIGURED},
        causes=causes,
        doubts=[cause.why for cause in permission.causes],
        partitions=run.partitions,
        new_topic=about.new_topic,
    ).to_json()
