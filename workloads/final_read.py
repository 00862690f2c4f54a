"""The final read: after healing, a new consumer reads every partition from log start to log end
(workloads/client/whole_read.py)."""

from __future__ import annotations

from harness.history.record_format import FINAL_READ
from workloads.client.whole_read import read_everything
from workloads.worker import Session, leave, main


def final_read(session: Session) -> None:
    """Read everything once and record how far it got."""
    read_everything(session, FINAL_READ, "ends")


if __name__ == "__main__":
    leave(main("final-read", final_read))
