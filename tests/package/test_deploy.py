"""The files in `deploy/`: each is read by its own tool, and its commands are commands of ours."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from headrace.cli.parser import build_parser

DEPLOY = Path(__file__).parents[2] / "deploy"
_PATHS = "/usr/sbin:/usr/local/sbin:/opt/homebrew/bin:/usr/bin"
NGINX = shutil.which("nginx", path=_PATHS)
SYSTEMD = shutil.which("systemd-analyze", path=_PATHS)


def _find_commands() -> list[list[str]]:
    """Return the arguments of every `headrace` command in the folder."""
    compose = (DEPLOY / "compose.yaml").read_text("utf-8")
    folded = re.findall(r"command: >-\n((?:    \s*.*\n)+?)  \w", compose)
    unit = re.findall(
        r"^ExecStart=\S*/headrace (.*)$", (DEPLOY / "headrace.service").read_text(), re.M
    )
    container = re.findall(r"^CMD \[(.*)\]$", (DEPLOY / "Containerfile").read_text(), re.M)
    run = re.findall(r"run --rm one (.*)$", compose, re.M)
    words = [shlex.split(one) for one in (*folded, *unit, *run)]
    return [*words, *([word.strip('" ') for word in one.split(",")] for one in container)]


def test_every_command_is_one_of_ours() -> None:
    commands = _find_commands()
    assert sorted(one[0] for one in commands) == ["serve", "serve", "serve", "token"]
    for one in commands:
        assert build_parser().parse_args(one).command == one[0]


def test_the_compose_file_names_only_what_is_there() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    services = compose["services"]
    assert set(services) == {"one", "two", "postgres", "valkey", "nginx"}
    upstream = re.findall(r"server (\w+):8700;", (DEPLOY / "nginx.conf").read_text("utf-8"))
    assert sorted(upstream) == ["one", "two"]
    for service in services.values():
        assert set(service.get("depends_on", ())) <= set(services)
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert source in compose["volumes"] or (DEPLOY / source).is_file()
    build = services["one"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_nginx_reads_its_site(tmp_path: Path) -> None:
    site = (DEPLOY / "nginx.conf").read_text("utf-8")
    # The names of the servers are known in the network of the containers only.
    site = re.sub(r"server (one|two):8700;", "server 127.0.0.1:8700;", site)
    config = tmp_path / "nginx.conf"
    config.write_text(f"pid {tmp_path}/pid; events {{}} http {{ {site} }}")
    assert NGINX is not None
    done = subprocess.run(
        [NGINX, "-t", "-c", str(config), "-p", str(tmp_path), "-e", str(tmp_path / "error")],
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(SYSTEMD is None, reason="systemd is not installed")
def test_systemd_reads_its_unit(tmp_path: Path) -> None:
    unit = (DEPLOY / "headrace.service").read_text("utf-8")
    path = tmp_path / "headrace.service"
    path.write_text(unit.replace("/opt/headrace/bin/headrace", "/bin/true"))
    assert SYSTEMD is not None
    done = subprocess.run(
        [SYSTEMD, "verify", "--man=no", str(path)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    ours = [line for line in done.stderr.splitlines() if "headrace.service" in line]
    assert ours == []
    assert done.returncode == 0, done.stderr
