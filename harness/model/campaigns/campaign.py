"""A campaign's file as a model, and its cells.

Cells are listed one by one, or come from a matrix: scenarios x the values of some settings.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from harness.model.campaigns.matrix import places
from harness.model.scenario import ScenarioError
from harness.model.sections.part import Listed


class Cell(BaseModel):
    """One scenario with one set of settings, run `repeats` times."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[
        str,
        Field(
            description="what it is called in the data; by default as its scenario",
            examples=["study-1"],
        ),
    ] = ""
    formerly: Annotated[
        Listed,
        Field(
            description="what it was called in older lines of the ledger, which count for it",
            examples=[("study-one",)],
        ),
    ] = ()
    scenario: Annotated[
        str, Field(description="a shipped scenario's name, or a file", examples=["study-1"])
    ]
    repeats: Annotated[int, Field(ge=1, description="how many runs it has", examples=[10])]
    claim: Annotated[
        str,
        Field(
            description="what its runs are measured against, for the reader",
            examples=["acks=1: records are lost"],
        ),
    ] = ""
    part: Annotated[
        str, Field(description="the part of the page that shows it", examples=["Replication"])
    ] = ""
    note: Annotated[
        str, Field(description="what the page says of it", examples=["On one machine."])
    ] = ""
    every_gap: Annotated[
        bool,
        Field(description="show how the gaps of all its faults are distributed", examples=[True]),
    ] = False
    latency: Annotated[bool, Field(description="show how long acks took", examples=[True])] = False
    balance: Annotated[
        bool, Field(description="show what part of the load each broker bore", examples=[True])
    ] = False
    share_lost: Annotated[
        bool,
        Field(description="show what share of the acknowledged records is lost", examples=[True]),
    ] = False
    session_s: Annotated[
        int,
        Field(
            ge=0,
            description="its brokers' session in s, which gaps wait for; 0: not told",
            examples=[6],
        ),
    ] = 0
    set: dict[str, Any] = Field(
        default={},
        description="changes of the scenario, as by `--set`, the same on every backend",
        examples=[{"workload.rounds": 10000}],
    )

    @property
    def key(self) -> str:
        """The cell's name in the data."""
        return self.name or self.scenario

    @property
    def names(self) -> tuple[str, ...]:
        """The cell's names in the data, now and earlier."""
        return (self.key, *self.formerly)


class Note(BaseModel):
    """What the page says of some cells of a matrix."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    where: Annotated[
        dict[str, Any],
        Field(
            description="the settings of those cells, `scenario` too",
            examples=[{"workload.producer.acks": "1"}],
        ),
    ]
    text: Annotated[str, Field(description="what it says", examples=["Nobody else may lead."])]


class Matrix(BaseModel):
    """Scenarios x the values of some settings, each cell run `repeats` times."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scenarios: Annotated[
        Listed,
        Field(
            min_length=1,
            description="shipped scenarios' names, or files",
            examples=[("failover-hard", "pause-long")],
        ),
    ]
    repeats: Annotated[int, Field(ge=1, description="how many runs a cell has", examples=[20])]
    axes: Annotated[
        dict[str, tuple[Any, ...]],
        Field(
            description="settings as by `--set`, each with its values",
            examples=[{"workload.producer.acks": ("1", "all")}],
        ),
    ]
    exclude: Annotated[
        tuple[dict[str, Any], ...],
        Field(
            description="cells that have all of these settings are not run",
            examples=[({"topic.replication_factor": 1},)],
        ),
    ] = ()
    set: dict[str, Any] = Field(
        default={},
        description="changes of all its scenarios, as by `--set`",
        examples=[{"workload.rate": 2000}],
    )
    part: Annotated[
        str, Field(description="the part of the page that shows it", examples=["Idempotence"])
    ] = ""
    notes: Annotated[
        tuple[Note, ...],
        Field(
            description="what the page says of cells that have these settings",
            examples=[({"where": {"workload.producer.acks": "1"}, "text": "…"},)],
        ),
    ] = ()

    def cells(self) -> list[Cell]:
        """Its cells. Raises ScenarioError for a matrix that has none."""
        return [
            Cell(
                name=place.name,
                scenario=place.scenario,
                repeats=self.repeats,
                part=self.part,
                note=" ".join(note.text for note in self.notes if place.has(note.where)),
                set={**self.set, **place.settings},
            )
            for place in places(self.scenarios, self.axes, self.exclude)
        ]


class Pool(BaseModel):
    """Cells that are one experiment for some anomalies, since what they differ in cannot matter to
    these: their runs are counted together, beside the cells' own rows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(description="what the page calls it", examples=["acks=1"])]
    where: Annotated[
        tuple[dict[str, Any], ...],
        Field(
            min_length=1,
            description="its cells, by `scenario` and all of their settings; a list is any of its "
            "values",
            examples=[({"scenario": "one-kill", "workload.producer.acks": ["1", "all"]},)],
        ),
    ]
    of: Annotated[
        tuple[Literal["lost", "duplicate"], ...],
        Field(min_length=1, description="what is counted together", examples=[("lost",)]),
    ]
    reason: Annotated[
        str,
        Field(
            min_length=1,
            description="why, in Kafka, what differs cannot matter",
            examples=["With acks=1 no broker looks at it."],
        ),
    ]

    def has(self, cell: Cell) -> bool:
        """Whether it contains a cell."""
        own = {**cell.set, "scenario": cell.scenario}
        return any(
            cells.keys() == own.keys()
            and all(
                own[key] in (some if isinstance(some, list) else [some])
                for key, some in cells.items()
            )
            for cells in self.where
        )


class Campaign(BaseModel):
    """The file, checked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: Annotated[str, Field(description="what it is for", examples=["The study"])]
    data: Annotated[
        str,
        Field(
            description="the ledger of its runs, beside the campaign's file",
            examples=["data/study.jsonl"],
        ),
    ]
    seed: Annotated[
        int,
        Field(description="run n of a cell has this seed + n, on every backend", examples=[1]),
    ] = 1000
    backends: Annotated[
        tuple[str, ...],
        Field(description="each cell is run on each of them", examples=[("local", "docker")]),
    ] = ("local",)
    older: Annotated[
        Literal["count", "beside"],
        Field(
            description="whether runs whose lines have no digest of what they put to the test are "
            "among a cell's `repeats`, or stand `beside` them",
            examples=["beside"],
        ),
    ] = "count"
    tries: Annotated[
        int,
        Field(
            ge=1,
            le=10,
            description="how often at most a run is made that ends with 255 and shows no anomaly",
            examples=[3],
        ),
    ] = 2
    producer_config: Annotated[
        str,
        Field(
            description="your producers' .properties, as for `run --producer-config`; from the "
            "campaign's folder on",
            examples=["producer.properties"],
        ),
    ] = ""
    consumer_config: Annotated[
        str,
        Field(description="your consumers' .properties", examples=["consumer.properties"]),
    ] = ""
    server_properties: Annotated[
        str,
        Field(description="a broker's server.properties", examples=["server.properties"]),
    ] = ""
    topic_config: Annotated[
        str,
        Field(description="the topic's .properties, or its KafkaTopic", examples=["topic.yaml"]),
    ] = ""
    cells: Annotated[
        tuple[Cell, ...],
        Field(description="what is run", examples=[({"scenario": "study-1", "repeats": 10},)]),
    ] = ()
    matrix: Annotated[
        tuple[Matrix, ...],
        Field(
            description="what is run too: every combination of some settings' values",
            examples=[
                (
                    {
                        "scenarios": ("study-1",),
                        "repeats": 5,
                        "axes": {"workload.producer.acks": ("1", "all")},
                    },
                )
            ],
        ),
    ] = ()

    pools: Annotated[
        tuple[Pool, ...],
        Field(
            description="cells whose runs are counted together",
            examples=[
                (
                    {
                        "name": "acks=1",
                        "where": ({"scenario": "one-kill", "workload.producer.acks": "1"},),
                        "of": ("lost",),
                        "reason": "…",
                    },
                )
            ],
        ),
    ] = ()

    def pooled(self) -> list[tuple[Pool, list[Cell]]]:
        """Each pool with its cells. Raises ScenarioError for one that pools nothing."""
        pools = [(pool, [c for c in self.every_cell() if pool.has(c)]) for pool in self.pools]
        for pool, cells in pools:
            if len(cells) < 2:
                raise ScenarioError(
                    f"pools: {pool.name!r} has {len(cells)} cells: write `scenario` and every "
                    "setting of two cells at least, as the axes have them"
                )
        return pools

    def every_cell(self) -> list[Cell]:
        """Its cells, those of its matrices last. Raises ScenarioError without cells, and for two of
        one name."""
        cells = [*self.cells, *(cell for matrix in self.matrix for cell in matrix.cells())]
        if not cells:
            raise ScenarioError("cells: there are none: give at least one [[cells]] or [[matrix]]")
        keys = [cell.key for cell in cells]
        twice = [key for key in keys if keys.count(key) > 1]
        if twice:
            raise ScenarioError(f"two cells are called {twice[0]!r}: give one another name")
        return cells
