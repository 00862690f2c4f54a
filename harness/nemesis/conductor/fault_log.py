"""The history's lines of each fault: invoke and ok (or info, with the error) of the injection
and of the healing, the nodes that were hit, and leader, ISR and controller before and after."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.cluster.view.state import ClusterView, View
from harness.model.plan import Step
from harness.nemesis.target import Roles
from harness.nemesis.targets import roles_of


class FaultLog:
    """Writes a line for each moment of a fault. `write(event, **fields)` appends to the nemesis's
    history; `tell(line)` prints for the user."""

    def __init__(
        self, write: Callable[..., None], tell: Callable[[str], None], view: ClusterView
    ) -> None:
        self._write = write
        self._view = view
        self.tell = tell

    def did_not_happen(self, step: Step, why: Exception) -> None:
        """No node was hit: the trigger did not come, or no node played the target's role."""
        self.write("inject", "info", step, nodes=[], error=str(why))
        self.tell(f"step {step.step}: {step.verb} {step.target} did not happen: {why}")

    def write(  # noqa: PLR0913  a line has many fields
        self,
        event: str,
        kind: str,
        step: Step,
        *,
        nodes: Sequence[str],
        view: View | None = None,
        evidence: Sequence[str] = (),
        error: str | None = None,
        roles: Roles | None = None,
        done_ns: int | None = None,  # when all that was to be done to nodes had been done
    ) -> None:
        """One line: `event` is inject or heal, `kind` invoke, ok or info."""
        seen = view or self._view.look_or_last()
        played = {name: roles_of(name, roles) for name in nodes} if roles else None
        self._write(
            event,
            type=kind,
            fault=step.step,
            step=step.step,
            verb=step.verb,
            target=step.target,
            nodes=list(nodes),
            evidence="; ".join(evidence) or None,
            error=error,
            roles=played,
            done_ns=done_ns,
            **seen.as_record(),
        )
