"""minikube: loads images of the host's Docker into it.

A context is minikube's when the kubeconfig says so: `minikube start` writes an extension beside the
context, with the provider `minikube.sigs.k8s.io`; the context's name is the profile's.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.cluster.nodes import ClusterError

PROVIDER = "minikube.sigs.k8s.io"
LIMIT_S = 600.0  # an image of half a gigabyte


def profile_of(context: Mapping[str, Any]) -> str | None:
    """The minikube profile of a kubeconfig's context; None where it is another cluster."""
    extensions = context["context"].get("extensions") or ()
    providers = [(extension.get("extension") or {}).get("provider") for extension in extensions]
    return str(context["name"]) if PROVIDER in providers else None


def bring(profile: str, images: Iterable[str]) -> list[str]:
    """Load the images that the profile has not; their names. Raises ClusterError.

    Without the program minikube nothing is done: the cluster may be one of another machine.
    """
    if shutil.which("minikube") is None:
        return []
    loaded = [line.strip() for line in _minikube(profile, "image", "ls").splitlines()]
    missing = [
        image
        for image in dict.fromkeys(images)
        if not any(name == image or name.endswith(f"/{image}") for name in loaded)
    ]
    for image in missing:
        _minikube(profile, "image", "load", image)
    return missing


def _minikube(profile: str, *words: str) -> str:
    argv: Sequence[str] = ["minikube", "--profile", profile, *words]
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        raise ClusterError(f"{' '.join(argv)} took over {LIMIT_S:g} s") from None
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        raise ClusterError(
            f"{' '.join(argv)}: {said}; `kafka-harness image` makes it where it is missing"
        )
    return done.stdout
