"""A second copy of runs: a folder, or an object store by its URI.

    --copy-to s3://bucket/nightly      the run's folder goes to s3://bucket/nightly/study-1/2026…-7
    --copy-to gs://bucket/nightly      Google's, and whatever else pyarrow has a file system for
    --copy-to file:///mnt/share        a folder
    --copy-to ../share                 the same: without a scheme it is a folder's path

Credentials come from the environment, as each store's own tools read them (AWS_ACCESS_KEY_ID, …);
other stores are named as in pyarrow.fs.FileSystem.from_uri:
s3://bucket/nightly?endpoint_override=minio:9000&scheme=http. A pod without a lasting disk keeps its
results this way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyarrow import fs
from pyarrow.lib import ArrowException
from rich.console import Console

from harness.commands.closing_table import plain
from harness.model.exit_codes import FAILED, VALID
from harness.model.runs.run_folder import RunFolder, StoreError

KEPT, NOT_KEPT = VALID, FAILED
_FAILS = (OSError, ArrowException, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """A destination that can be written to."""

    files: Any  # pyarrow.fs.FileSystem
    path: str

    def take(self, run: RunFolder) -> str:
        """Copy the run's folder, all of it; returns where it is. Raises StoreError."""
        target = f"{self.path.rstrip('/')}/{run.path.parent.name}/{run.path.name}"
        try:
            self.files.create_dir(target, recursive=True)
            fs.copy_files(
                str(run.path),
                target,
                source_filesystem=fs.LocalFileSystem(),
                destination_filesystem=self.files,
            )
        except _FAILS as error:
            raise StoreError(f"--copy-to: {run.path} could not be copied: {error}") from None
        return target


def destination(uri: str) -> Copies:
    """The destination behind a URI, tried before anything starts. Raises StoreError.

    The error does not repeat the URI: it may hold a password.
    """
    try:
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", uri):
            files, path = fs.FileSystem.from_uri(uri)
        else:
            files, path = fs.LocalFileSystem(), str(Path(uri).expanduser().absolute())
        root = path.strip("/").split("/")[0] if files.type_name != "local" else path
        files.get_file_info(root)
        if files.type_name == "local":
            files.create_dir(path, recursive=True)
    except _FAILS as error:
        reason = str(error).replace(uri, "it")
        raise StoreError(f"--copy-to: the destination cannot be used: {reason}") from None
    return Copies(files=files, path=path)


def copy_run(run: RunFolder, copies: Copies | None, console: Console) -> int:
    """Copy a run that has ended to the destination, if there is one; returns the exit code.

    A copy that fails stops no other run: the original remains.
    """
    if copies is None:
        return KEPT
    try:
        console.print(plain(f"copied   {copies.take(run)}"), soft_wrap=True)
    except StoreError as error:
        console.print(plain(f"error: {error}", "bold red"), soft_wrap=True)
        return NOT_KEPT
    return KEPT
