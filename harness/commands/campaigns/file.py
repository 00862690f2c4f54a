"""A campaign: scenarios x settings x backends x repeats, one file, any number of starts.

    title = "…"
    data = "data/study.jsonl"        # beside the campaign's file: the ledger of its runs
    [[cells]]
    scenario = "study-1"
    repeats = 10
    [cells.set]                      # as --set, the same on every backend
    "workload.rounds" = 10000
    [[matrix]]                       # a cell for each combination
    scenarios = ["failover-hard"]
    repeats = 5
    [matrix.axes]
    "workload.producer.acks" = ["1", "all"]

All keys: docs/scenario.md, made of harness.model.campaigns.

The data are a ledger (harness.model.campaigns.ledger). A run with an end there is finished and is
never made again, whatever its end; a run that was interrupted or superseded, or whose cluster did
not come up, is made again. Cells take turns, run by run, and so do backends within a cell, so that
a campaign cut short has runs of each. `--backends` limits the command to some of the backends; what
a backend needs on this machine is no part of the experiment and is given with `--set`
(`backend.docker.image` and the like)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.config_files.settings import listed
from harness.model.campaigns.campaign import Campaign
from harness.model.scenario import ScenarioError
from harness.scenario.file import tables_in, validation_sentences

FILES = (
    "producer_config",
    "consumer_config",
    "server_properties",
    "topic_config",
)  # from its folder


def read_campaign(path: Path) -> Campaign:
    """Read a campaign's file. Raises ScenarioError naming file and key."""
    tables = tables_in(path, str(path))
    try:
        campaign = Campaign.model_validate(tables)
        campaign.every_cell()
    except ValidationError as error:
        raise ScenarioError(
            listed(f"{path}: {why}" for why in validation_sentences(error, tables))
        ) from None
    except ScenarioError as error:
        raise ScenarioError(f"{path}: {error}") from None
    given = {key: getattr(campaign, key) for key in FILES}
    paths = {key: str(path.parent / name) for key, name in given.items() if name}
    return campaign.model_copy(update=paths)


def of(campaign: Campaign, names: Sequence[str]) -> tuple[str, ...]:
    """The campaign's backends of these names; all if none is given."""
    for name in names:
        if name not in campaign.backends:
            known = ", ".join(campaign.backends)
            raise ScenarioError(f"--backends {name}: the campaign's backends are {known}")
    return tuple(name for name in campaign.backends if not names or name in names)


def backend_settings(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings given with the command, of backends only: all others are in the file."""
    for key in settings:
        if not key.startswith("backend."):
            raise ScenarioError(
                f"--set {key}: a campaign's settings are in its file; --set "
                "accepts only backend.… keys"
            )
    return settings
