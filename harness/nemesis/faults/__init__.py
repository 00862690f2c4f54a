"""The verbs. A fault is a verb at a target; adding a verb is one file here and one line in VERBS.

Every verb is the same four small functions over an `Injection`: do it, prove that it bit, undo it,
prove that it is undone. The proofs return their evidence as a sentence, or None for "not yet"; what
conducts the plan waits for them and writes them down.
"""

from __future__ import annotations

from harness.nemesis.faults import (
    answers,
    clock,
    command,
    decommission,
    flip,
    links,
    moves,
    netem,
    pods,
    power,
    process,
    restarts,
    settings,
    slow,
    storage,
    witness,
    writes,
)
from harness.nemesis.faults.verb import Injection, Verb

VERBS: dict[str, Verb] = {
    "kill": process.KILL,
    "stop": process.STOP,
    "pause": process.PAUSE,
    "cut": links.CUT,
    "lose": links.LOSE,
    "delay": slow.DELAY,
    "throttle": slow.THROTTLE,
    "reorder": netem.REORDER,
    "duplicate": netem.DUPLICATE,
    "corrupt": netem.CORRUPT,
    "roll": restarts.ROLL,
    "crash-loop": restarts.CRASH_LOOP,
    "elect": moves.ELECT,
    "move-leader": moves.MOVE_LEADER,
    "reassign": moves.REASSIGN,
    "raise-replication": moves.RAISE_REPLICATION,
    "decommission": decommission.DECOMMISSION,
    "set-config": settings.SET_CONFIG,
    "add-partitions": settings.ADD_PARTITIONS,
    "cut-answers": answers.CUT_ANSWERS,
    "dump-log": witness.DUMP_LOG,
    "freeze-disk": storage.FREEZE_DISK,
    "fill-disk": storage.FILL_DISK,
    "slow-disk": writes.SLOW_DISK,
    "fail-disk": writes.FAIL_DISK,
    "lose-power": power.LOSE_POWER,
    "lose-disk": power.LOSE_DISK,
    "flip-bit": flip.FLIP_BIT,
    "skew-clock": clock.SKEW_CLOCK,
    "command": command.COMMAND,
    "delete-pod": pods.DELETE_POD,
    "delete-pod-now": pods.DELETE_POD_NOW,
    "drain": pods.DRAIN,
}

__all__ = ["VERBS", "Injection", "Verb"]
