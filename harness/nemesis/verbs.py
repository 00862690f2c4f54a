"""The verbs. A fault is a verb at a target; adding a verb is one file here and one line in VERBS.

Every verb is the same four small functions over an `Injection`: do it, prove it in force, undo it,
prove that it is undone. The proofs return their evidence as a sentence, or None for "not yet"; the
conductor waits for them and writes them to the history.
"""

from __future__ import annotations

from harness.nemesis.faults import clock, command, pods
from harness.nemesis.faults.admin import (
    decommission,
    dump_log,
    elections,
    reassignments,
    settings,
    voters,
)
from harness.nemesis.faults.disks import flip_bit, power, storage, writes
from harness.nemesis.faults.network import cut_answers, links, netem, shaping
from harness.nemesis.faults.processes import restarts, signals
from harness.nemesis.verb import Injection, Verb

VERBS: dict[str, Verb] = {
    "kill": signals.KILL,
    "stop": signals.STOP,
    "pause": signals.PAUSE,
    "cut": links.CUT,
    "lose": links.LOSE,
    "delay": shaping.DELAY,
    "throttle": shaping.THROTTLE,
    "reorder": netem.REORDER,
    "duplicate": netem.DUPLICATE,
    "corrupt": netem.CORRUPT,
    "roll": restarts.ROLL,
    "crash-loop": restarts.CRASH_LOOP,
    "elect": elections.ELECT,
    "move-leader": elections.MOVE_LEADER,
    "reassign": reassignments.REASSIGN,
    "raise-replication": reassignments.RAISE_REPLICATION,
    "decommission": decommission.DECOMMISSION,
    "set-config": settings.SET_CONFIG,
    "add-partitions": settings.ADD_PARTITIONS,
    "remove-controller": voters.REMOVE_CONTROLLER,
    "add-controller": voters.ADD_CONTROLLER,
    "cut-answers": cut_answers.CUT_ANSWERS,
    "dump-log": dump_log.DUMP_LOG,
    "freeze-disk": storage.FREEZE_DISK,
    "fill-disk": storage.FILL_DISK,
    "slow-disk": writes.SLOW_DISK,
    "fail-disk": writes.FAIL_DISK,
    "lose-power": power.LOSE_POWER,
    "lose-disk": power.LOSE_DISK,
    "flip-bit": flip_bit.FLIP_BIT,
    "skew-clock": clock.SKEW_CLOCK,
    "command": command.COMMAND,
    "delete-pod": pods.DELETE_POD,
    "delete-pod-now": pods.DELETE_POD_NOW,
    "drain": pods.DRAIN,
}

__all__ = ["VERBS", "Injection", "Verb"]
