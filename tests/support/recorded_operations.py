"""What the segments of a recorder hold."""

from pathlib import Path

from harness.history.record_format import Operation, read_operations


def recorded(folder: Path, process: str = "p") -> list[Operation | str]:
    """Everything that a process's segments hold."""
    return [
        operation
        for path in sorted(folder.glob(f"{process}.*.seg"))
        for operation in read_operations(path.read_bytes())
    ]
