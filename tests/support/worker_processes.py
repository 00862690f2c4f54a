"""A worker as a process against librdkafka's mock cluster, and what can be seen of it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.checkout import ROOT
from harness.history.progress_page import DONE, Progress
from harness.history.sealing import seal
from harness.waiting import wait_until
from tests.support.mock_kafka import TOPIC
from tests.support.recorded_runs import sealed_operations

LONG_S = 60.0


@dataclass
class Started:
    """A worker's process, and what can be seen of it."""

    run: Path
    name: str
    process: subprocess.Popen[str]
    progress: Progress

    def said(self) -> dict[str, Any]:
        """Its next line."""
        assert self.process.stdout is not None
        line: dict[str, Any] = json.loads(self.process.stdout.readline())
        return line

    def go(self) -> None:
        """Wait until it is ready, and let it begin."""
        assert self.said() == {"event": "ready"}
        self.say("go")

    def say(self, line: str) -> None:
        """Give it a line by the pipe."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def hang_up(self) -> None:
        """Close the pipe, as the end of the harness does."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.stdin = None

    def acked(self, count: int) -> None:
        """Wait for so many acks."""
        wait_until(lambda: self.progress.acked >= count, timeout_s=LONG_S, what=f"{count} acks")

    def stop(self) -> str:
        """SIGTERM, and the reason that it gives for its end."""
        self.process.send_signal(signal.SIGTERM)
        return self.reason()

    def reason(self) -> str:
        """Wait for its orderly end; the reason that it gave, to the harness and in the history."""
        out, err = self.process.communicate(timeout=LONG_S)
        assert self.process.returncode == 0, err
        assert self.progress.state == DONE
        told: str = json.loads(out.splitlines()[-1])["reason"]
        assert [told] == [event["reason"] for event in self.events("end")]
        return told

    def ended(self, code: int) -> str:
        """Wait for its end with this exit code; what it wrote to stderr."""
        _, err = self.process.communicate(timeout=LONG_S)
        assert self.process.returncode == code
        return err

    def events(self, name: str) -> list[dict[str, Any]]:
        """Its events of one kind."""
        text = (self.run / "history" / f"{self.name}.jsonl").read_text()
        events = [json.loads(line) for line in text.splitlines()]
        return [event for event in events if event["event"] == name]

    def operations(self, f: str) -> list[dict[str, Any]]:
        """Its sealed operations of one kind."""
        seal(self.run)
        return [row for row in sealed_operations(self.run, self.name) if row["f"] == f]


class Starter:
    """Starts workers of one run."""

    def __init__(self, run: Path) -> None:
        self.run, self.processes = run, list[subprocess.Popen[str]]()
        (run / "history").mkdir(parents=True)

    def __call__(self, module: str, bootstrap: str, **spec: Any) -> Started:
        name = f"{module.replace('_', '-')}-{len(self.processes)}"
        given = {
            "run_id": "test/1",
            "process": name,
            "history": str(self.run / "history"),
            "topic": TOPIC,
            "partitions": 1,
            "limit_s": LONG_S,
            "flush_s": 10.0,
            "consumer_config": {"bootstrap.servers": bootstrap, "fetch.wait.max.ms": 5},
            **spec,
            "config": {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "retries": 2147483647,
                "fetch.wait.max.ms": 5,
                **spec.get("config", {}),
            },
        }
        path = self.run / f"{name}.json"
        path.write_text(json.dumps(given))
        page = Progress.create(self.run / "history", name)
        process = subprocess.Popen(
            [sys.executable, "-m", f"workloads.{module}", str(path)],
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.processes.append(process)
        return Started(run=self.run, name=name, process=process, progress=page)
