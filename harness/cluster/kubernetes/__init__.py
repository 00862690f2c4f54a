"""The Kubernetes backend: the cluster of k8s/ in a namespace of the run's own.

    namespace kafka-harness-<run>        labelled ours, with the run's name
        StatefulSets zk, kafka           pods zk-1.., kafka-1..: container `node` and the sidecar
                                         `holder`, which shares its processes and its network
        Services zk-1.., kafka-1..       a node port each: workers on this host dial every broker
        ConfigMap settings               what each node reads

That is own/. Or a Kafka in pods that somebody else made (attach/), which is left as it was.

Workers run here, beside the harness: on one host, by node ports, or with it inside the cluster, by
pod names. Sends, reads and faults have one clock either way.
"""
