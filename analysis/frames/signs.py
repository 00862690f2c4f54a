"""Signs: what a screen sees of an anomaly. An anomaly without any of its signs is absent.

A screen (analysis.screens) goes through a history once and keeps each record's place, and whether
the final read has it there. An anomaly names the signs without which it cannot exist. One that
names none is looked for in everything.

    signs=(Sign.MISSED,)    it needs a record that is not where it was acked
"""

from __future__ import annotations

from enum import Enum, auto


class Sign(Enum):
    """One thing that was seen somewhere in a history."""

    MISSED = auto()  # an acked value is not in the final read at the place of its ack
    UNCLAIMED = auto()  # the final read has a value where no send was acked, nor may have been
    STRAY = auto()  # a reader was given a value that the final read does not have there
    CONTESTED = auto()  # two values were acked or read at one place
    GARBLED = auto()  # a reader was given a payload that is no value
    NOT_FOUND = auto()  # a look-up did not find its record
    UNASKED = auto()  # a value that was sent for no ack is not in the final read
    OVERTAKEN = auto()  # a later send of the same client lies before an earlier one
    OUT_OF_TIME = auto()  # a send that began after an ack lies before what was acked
    SKIP = auto()  # a reader passed over a record of the log
    BACK = auto()  # a reader was given what it had passed
    OLDER = auto()  # a reader was given a lower leader epoch than before
    HOLE = auto()  # the log has an offset without a record
    PASSED = auto()  # a group committed past a record that no member processed
    AGAIN = auto()  # members processed a record twice
    OUTDATED = auto()  # a member kept a generation when a newer one had been given out
    LOWER = auto()  # a coordinator answered less than had been committed
    EARLY = auto()  # a reader was given a record before its commit was asked for, or without
    TORN = auto()  # a transaction is in the final read in part
    UNSTABLE = auto()  # a committed record was read that is not below the last stable offset
    CYCLE = auto()  # transactions read from each other
    OUTPUTS = auto()  # an input has not as many outputs as it should, or an output no input
    DIFFERS = auto()  # a replica does not hold what the final read has
