"""remove-controller, add-controller: changes the voters of a KRaft quorum whose log lists them.

    remove-controller   a controller votes no more; it goes on, and follows the log. Undone by
                        `vote-again`
    add-controller      a controller that only follows the log, such as one whose disk was replaced
                        (`lose-disk`), becomes a voter and stays one. The directory of its lost disk
                        is removed first, since only one directory of a controller votes

Kafka is asked (harness.cluster.admin.requests) again and again until it has done it: it changes one
voter at a time, and adds one only once that has caught up.

Proof: the voters by the quorum's leader.
Source: KIP-853; from Kafka 3.9 on, with `cluster.voters = "dynamic"`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from harness.cluster.capabilities import Operated
from harness.cluster.nodes import NotInTime, Role, controllers
from harness.model.effects import Effects
from harness.model.scenario import FaultPart
from harness.nemesis.faults.admin.reassignments import now_and_then
from harness.nemesis.options import Options
from harness.nemesis.target import Roles, Setting, Target
from harness.nemesis.verb import DoesNothing, Injection, Trial, Verb

if TYPE_CHECKING:
    from harness.cluster.admin.requests import Members

CONTROLLERS: frozenset[Role] = frozenset({"controller"})


def _begin(injection: Injection) -> None:
    injection.memo["directory"] = None


# remove-controller


def _votes_no_more(injection: Injection) -> str | None:
    node, members = injection.node, injection.requests.quorum()
    directory = members.voters.get(node.id)
    if directory is None and injection.memo["directory"] is None:
        raise DoesNothing(f"{node.name} does not vote; {_voters(injection, members)}")
    if directory is None:
        return f"{node.name} votes no more; {_voters(injection, members)}"
    injection.memo["directory"] = directory
    _remove(injection, directory)
    return None


def _vote_again(injection: Injection) -> None:
    injection.memo.pop("voter_s", None)


def _votes_again(injection: Injection) -> str | None:
    directory = injection.memo.get("directory")
    if directory is None:
        return f"{injection.node.name} was not removed"
    return _votes(injection, directory, injection.requests.quorum())


# add-controller


def _votes_by_now(injection: Injection) -> str | None:
    node, memo, members = injection.node, injection.memo, injection.requests.quorum()
    if memo["directory"] is None:
        if node.id not in members.observers:
            # It votes, or has just started with another disk and not fetched yet.
            raise NotInTime(f"{node.name} does not follow the log; {_voters(injection, members)}")
        memo["directory"] = members.observers[node.id]
    voting = members.voters.get(node.id)
    if voting is not None and voting != memo["directory"]:
        _remove(injection, voting)
        return None
    return _votes(injection, memo["directory"], members)


def _vote_already(roles: Roles, hit: frozenset[str], _: Options) -> str | None:
    follow = roles.view.observers
    if follow is None or not (voters := hit - set(follow)):
        return None
    return f"{', '.join(sorted(voters))} votes already"


def _leave(_: Injection) -> None:
    """There is nothing to undo."""


def _left(injection: Injection) -> str | None:
    return f"{injection.node.name} stays what it is to the quorum"


# Both


def _remove(injection: Injection, directory: UUID) -> None:
    voter = injection.node.id
    now_and_then(injection, "removed", lambda: injection.requests.remove_voter(voter, directory))


def _votes(injection: Injection, directory: UUID, members: Members) -> str | None:
    """Ask for it; the evidence once it votes."""
    node = injection.node
    if members.voters.get(node.id) == directory:
        return f"{node.name} votes; {_voters(injection, members)}"
    now_and_then(injection, "voter", lambda: injection.requests.add_voter(node, directory))
    return None


def _voters(injection: Injection, members: Members) -> str:
    names = {node.id: node.name for node in controllers(injection.cluster.nodes)}
    return f"voters: {', '.join(names.get(i, str(i)) for i in sorted(members.voters))}"


def _needs_dynamic_voters(setting: Setting, _: Target, __: Options) -> str | None:
    if setting.dynamic:
        return None
    return (
        'voters that are named in files cannot change: set cluster.voters = "dynamic" (from Kafka '
        "3.9 on)"
    )


# A controller that follows the log without a vote leads nothing.
VOTERS = ("controller", "quorum-leader", "quorum-followers", "quorum-majority", "quorum-all")


def _needs_a_follower(setting: Setting, target: Target, options: Options) -> str | None:
    if why := _needs_dynamic_voters(setting, target, options):
        return why
    if target.name not in VOTERS:
        return None
    return f"{target.name}: some of them vote already: use quorum-follower, or quorum-minority"


def _leaves_a_voter(setting: Setting, target: Target, options: Options) -> str | None:
    if why := _needs_dynamic_voters(setting, target, options):
        return why
    if setting.controllers > 1 and target.name != "quorum-all":
        return None
    return "the last voter cannot be removed: raise cluster.controllers, or use quorum-one"


REMOVE_CONTROLLER = Verb(
    name="remove-controller",
    undo="vote-again",
    done="removed from the quorum",
    effects=Effects(),
    needs=(Operated,),
    holds="process",
    hits=CONTROLLERS,
    inject=_begin,
    proof_in_force=_votes_no_more,
    heal=_vote_again,
    healed=_votes_again,
    impossible=_leaves_a_voter,
)
ADD_CONTROLLER = Verb(
    name="add-controller",
    undo="leave",
    done="added to the quorum",
    effects=Effects(),
    needs=(Operated,),
    holds="process",
    hits=CONTROLLERS,
    inject=_begin,
    proof_in_force=_votes_by_now,
    heal=_leave,
    healed=_left,
    impossible=_needs_a_follower,
    idle=_vote_already,
    trial=Trial(before=(FaultPart(verb="lose-disk", target="quorum-follower", for_s=1),)),
)
