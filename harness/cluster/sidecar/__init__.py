"""The sidecar: a container beside a node, whose script heals the node when the harness is gone."""
