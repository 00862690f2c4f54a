"""`make mutants`: try the mutants that were not tried yet, then write docs/mutants.md.

Every result is kept in .mutants/session.jsonl as soon as it is there, so the command can be
interrupted anywhere and goes on where it was. Exit 0: every mutant that survived has its reason.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

from rich.console import Console

from bench.mutants import page
from bench.mutants.mutant import Mutant, PinError, pins
from bench.mutants.sample import sample
from bench.mutants.session import Outcome, Session
from bench.mutants.trial import Copy, Taken, UnmutatedFails, alone, attempt, together
from harness.model.exit_codes import interrupted

say = Console(highlight=False, markup=False, soft_wrap=True).print


def main() -> int:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.mutants", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--sample", type=int, default=300, help="how many are drawn")
    parser.add_argument("--only", default="", help="try those of files whose path begins so")
    parser.add_argument("--most", type=int, help="end after so many trials by the nearest tests")
    parser.add_argument("--render", action="store_true", help="write the page, try nothing")
    asked = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):  # as at Ctrl-C, tests that run are ended
        signal.signal(number, lambda number, _: sys.exit(interrupted(number)))
    try:
        pinned, sampled = [pin.made() for pin in pins()], sample(asked.seed, asked.sample)
        session = Session.open()
        if not asked.render:
            with alone():
                chosen = [m for m in (*pinned, *sampled) if m.file.startswith(asked.only)]
                _try(chosen, session, asked.most)
    except (PinError, UnmutatedFails, Taken) as error:
        say(f"mutants: {error}")
        return 255
    text = page.render(asked.seed, pinned, sampled, session)
    page.PAGE.write_text(text)
    return int(page.UNEXPLAINED in text)


def _try(mutants: Sequence[Mutant], session: Session, most: int | None) -> None:
    left = [mutant for mutant in mutants if not session.holds(mutant.key)]
    say(f"{len(mutants)} mutants, {len(left)} of them to be tried")
    copy, passed = Copy(), [mutant for mutant in left if session.passed(mutant.key)]
    near = [mutant for mutant in left if mutant not in passed]
    for number, mutant in enumerate(near[:most], 1):
        outcome = attempt(mutant, copy, session)
        if outcome.killed or mutant.test:
            session.keep(mutant.key, outcome)
            _tell(mutant, outcome, f"{number}/{len(near)}")
        else:
            session.keep_passed(mutant.key)
            passed.append(mutant)
            say(f"{number}/{len(near)} {mutant.place} passed ({outcome.took_s} s)")
    if most is None:
        say(f"{len(passed)} passed the nearest tests: now by all")
        for number, (mutant, outcome) in enumerate(together(passed, copy, session), 1):
            session.keep(mutant.key, outcome)
            _tell(mutant, outcome, f"{number}/{len(passed)}")


def _tell(mutant: Mutant, outcome: Outcome, number: str) -> None:
    told = f"killed by {outcome.by}" if outcome.killed else "SURVIVED"
    say(f"{number} {mutant.place} {told} ({outcome.took_s} s)")
    if not outcome.killed:
        _, old, new = mutant.change
        say(f"    {mutant.what}\n    - {old}\n    + {new}")


if __name__ == "__main__":
    sys.exit(main())
