"""Fetches jars from Maven Central with the Ivy that ships inside PySpark.

Ivy resolves a few modules with all their run-time dependencies and copies the jars into one folder;
it checks each download against the repository's checksum.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

ATTEMPTS = 3  # Ivy keeps what it has got, so the next attempt goes on from there
_MODULE = """\
<ivy-module version="2.0">
  <info organisation="kafka-harness" module="jars"/>
  <dependencies>
{dependencies}
  </dependencies>
</ivy-module>
"""
_DEPENDENCY = '    <dependency org="{0}" name="{1}" rev="{2}" conf="default->{conf}"/>'
_WITH_NEEDS, _ALONE = "runtime,master", "master"
_SETTINGS = """\
<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true"{root}/></resolvers>
</ivysettings>
"""
_COMPLAINT = re.compile(r"UNRESOLVED|FAILED|unresolved|Server access|not found|Exception")


class IvyError(Exception):
    """Ivy is missing, or could not get everything; the reason in a few words."""


def retrieve(  # noqa: PLR0913  what Ivy is told
    modules: list[tuple[str, str, str]],
    *,
    into: Path,
    scratch: Path,
    cache: Path,
    java: Path,
    say: Callable[[str], object],
    alone: bool = False,
) -> None:
    """Copy the jars of `modules` (organisation, name, version) and of all their dependencies to
    `into`; `alone`: without dependencies.

    `scratch` is an empty folder for Ivy's own files; `cache` keeps what Ivy has fetched, for one
    Ivy at a time. $KAFKA_HARNESS_MAVEN names a mirror of Maven Central; $https_proxy applies.
    Raises IvyError.
    """
    mirror = os.environ.get("KAFKA_HARNESS_MAVEN")
    settings, module = scratch / "settings.xml", scratch / "ivy.xml"
    settings.write_text(_SETTINGS.format(root=f' root="{mirror}"' if mirror else ""))
    conf = _ALONE if alone else _WITH_NEEDS
    wanted = [_DEPENDENCY.format(*wanted, conf=conf) for wanted in modules]
    module.write_text(_MODULE.format(dependencies="\n".join(wanted)))
    command = [
        str(java),
        *proxy_options(urllib.request.getproxies()),
        "-jar",
        str(_ivy_jar()),
        "-settings",
        str(settings),
        "-ivy",
        str(module),
        "-cache",
        str(cache),
        "-confs",
        "default",
        "-types",
        "jar",
        "bundle",
        "-retrieve",
        f"{into}/[artifact]-[revision](-[classifier]).[ext]",
    ]
    for _attempt in range(ATTEMPTS):
        if not (complaints := _ivy(command, scratch, say)):
            return
    raise IvyError(complaints[0])


def proxy_options(proxies: Mapping[str, str]) -> list[str]:
    """Java's spelling of $https_proxy, which it does not read by itself."""
    proxy = urllib.parse.urlsplit(proxies.get("https", ""))
    if not proxy.hostname:
        return []
    return [f"-Dhttps.proxyHost={proxy.hostname}", f"-Dhttps.proxyPort={proxy.port or 80}"]


def _ivy(command: list[str], scratch: Path, say: Callable[[str], object]) -> list[str]:
    """Run Ivy once; returns its complaints, none if it got everything."""
    complaints, downloads = [], 0
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=scratch
    ) as ivy:
        assert ivy.stdout is not None
        for line in ivy.stdout:
            if _COMPLAINT.search(line):
                complaints.append(line.strip(" \t\n:"))
            elif "downloading" in line and ".jar" in line:
                downloads += 1
                if downloads % 10 == 0:
                    say(f"  {downloads} jars so far")
    if ivy.returncode == 0:
        return []
    return complaints or [f"Ivy ended with {ivy.returncode}"]


def _ivy_jar() -> Path:
    """Ivy's jar in PySpark; importing PySpark would take a second."""
    spec = importlib.util.find_spec("pyspark")
    folders = [Path(folder) for folder in (spec.submodule_search_locations or [])] if spec else []
    jars = [jar for folder in folders for jar in sorted(folder.glob("jars/ivy-*.jar"))]
    if not jars:
        raise IvyError("PySpark, which ships Ivy, is not installed")
    return jars[0]
