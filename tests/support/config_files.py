"""What the user's files say, and a scenario that they are laid over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness.config_files.settings import FileSettings
from harness.scenario.layers.lay import Laid

Read = Callable[..., FileSettings]  # (name, text, whose, choice="")
Write = Callable[[str], Path]


def plain(file: FileSettings) -> dict[str, str]:
    return {each.key: each.value for each in file.settings}


OWN = """
title = "t"
[topic.config]
"min.insync.replicas" = 1
"unclean.leader.election.enable" = false
"segment.bytes" = 2000
[workload]
kind = "stream"
group_consumers = 2
[workload.producer]
acks = "all"
"enable.idempotence" = true
"message.timeout.ms" = 4000
[workload.consumer]
"session.timeout.ms" = 6000
[cluster.server]
"replica.lag.time.max.ms" = 1500
[expect]
lost = ">= 1"
duplicate = "0"
"produce-gap-s" = "2 to 9"
"""
LayOver = Callable[..., Laid]


def told(found: Laid, words: str) -> list[str]:
    return [note for note in found.notes if words in note]
