"""The verbs. A fault is a verb at a target; adding a verb is one file here and one line in VERBS.

Every verb is the same four small functions over an `Injection`: do it, prove that it bit, undo it,
prove that it is undone. The proofs return their evidence as a sentence, or None for "not yet"; what
conducts the plan waits for them and writes them down.
"""

from __future__ import annotations

from harness.nemesis.faults import answers, links, netem, process, slow
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
    "cut-answers": answers.CUT_ANSWERS,
}

__all__ = ["VERBS", "Injection", "Verb"]
