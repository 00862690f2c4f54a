"""Three controllers with a metadata log each on disk, and three brokers that they know."""

from __future__ import annotations

from harness.cluster.view.metadata_log.reader import WentBack
from harness.cluster.view.metadata_log.view import MetadataLogView
from harness.cluster.view.state import PartitionState
from tests.support.labs import metadata_logs as logs
from tests.support.labs.metadata_logs import Logs

CONTROLLERS = ("controller1", "controller2", "controller3")
ALL = ("kafka1", "kafka2", "kafka3")
FIRST = PartitionState(leader="kafka1", isr=ALL, leader_epoch=0, elr=(), partition_epoch=0)


class Quorum:
    """Three controllers, the first of which leads epoch 1; three brokers, and t-0 on all."""

    def __init__(self, root, *names: str, dynamic: bool = False) -> None:
        names = names or CONTROLLERS
        self.logs = Logs(root, *names, disks=dynamic)
        self.a, self.b, self.c = self.logs.copies
        static = None if dynamic else names
        self.view = MetadataLogView(self.logs.nodes, "t", 1, self.logs.folders, static)
        first = [logs.voters(*((each.id, name) for name, each in self.logs.by_name.items()))]
        self.a.elected(1, *(first if dynamic else []))
        self.a.append(logs.feature("metadata.version", 25))
        self.epochs = {n: self.a.append(logs.broker(n, self.a.end)) for n in (1, 2, 3)}
        self.a.append(*(logs.unfence(n, epoch) for n, epoch in self.epochs.items()))
        self.a.append(logs.topic("t"), logs.partition("t", 0))
        self.spread()

    def spread(self) -> None:
        """All have what the first has."""
        for other in (self.b, self.c):
            other.follow(self.a)

    @property
    def backs(self) -> list[WentBack]:
        """All that went back so far."""
        return self.view._reader.backs

    def voters(self) -> tuple[str, ...]:
        """Names of those who may vote."""
        self.view.look()
        names = {node.id: node.name for node in self.logs.nodes}
        return tuple(names[each] for each in sorted(self.view._reader.voters()))

    def isr(self) -> tuple[str, ...]:
        return self.view.look().partitions[0].isr
