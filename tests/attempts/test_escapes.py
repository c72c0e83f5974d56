"""What a cell in a container cannot do. One container, many attempts to escape it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from attempt_helpers import Result, run, tiny_paper

SECRET = "sk-planted-7f3a9c51d2"

PROBE = """
def outcome(action):
    try:
        return repr(action())
    except BaseException as problem:
        return f"refused: {type(problem).__name__}: {problem}"
"""

CELLS = {
    "setup": PROBE + "import os, socket, pathlib, subprocess, urllib.request, json",
    "uid": "print(json.dumps([os.getuid(), os.geteuid(), os.getgid(), os.getgroups()]))",
    "environment": "print(json.dumps(dict(os.environ)))",
    "proc-environment": "print(pathlib.Path('/proc/1/environ').read_bytes())",
    "addresses": "print(json.dumps([name for _, name in socket.if_nameindex()]))",
    "connect": "print([outcome(lambda: socket.create_connection((host, port), 2)) for host, port in"
    " (('1.1.1.1', 53), ('172.17.0.1', 80), ('127.0.0.1', 2375), ('169.254.169.254', 80))])",
    "ipv6": "print(outcome(lambda: socket.create_connection(('2606:4700:4700::1111', 53), 2)))",
    "dns": "print(outcome(lambda: socket.getaddrinfo('example.org', 80)))",
    "http": "print(outcome(lambda: urllib.request.urlopen('http://example.org', timeout=2)))",
    "raw-socket": "print(outcome(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)))",
    "root": "print([outcome(lambda: pathlib.Path(path, 'planted').write_text('x')) for path in"
    " ('/', '/etc', '/usr/bin', '/usr/lib', '/var', '/root', '/opt', '/boot', '/lib')])",
    "remount": "print(subprocess.run(['mount', '-o', 'remount,rw', '/'], capture_output=True, text=True))",
    "capabilities": "print([line for line in open('/proc/self/status') if line.startswith(('Cap', 'NoNewPrivs'))])",
    "setuid": "print(outcome(lambda: os.setuid(0)))",
    "sudo": "print([outcome(lambda: subprocess.run([name, '-c', 'id'], capture_output=True, text=True).stdout)"
    " for name in ('su', 'sudo')])",
    "engine": "print([os.path.exists(path) for path in ('/var/run/docker.sock', '/run/docker.sock',"
    " '/run/containerd/containerd.sock')])",
    "host-files": "print([outcome(lambda: pathlib.Path(path).read_text()[:40]) for path in json.loads(HOST)])",
    "mounts": "print(open('/proc/self/mountinfo').read())",
    "processes": "print(sorted(int(name) for name in os.listdir('/proc') if name.isdigit()))",
    "kill-host": "print([outcome(lambda: os.kill(pid, 0)) for pid in json.loads(PIDS)])",
    "box": "import sys; connection = next(a for a in open('/proc/self/cmdline').read().split(chr(0))"
    " if a.endswith('connection.json'))\n"
    "given = pathlib.Path(connection).parent\n"
    "print([outcome(lambda: (given / name).write_text('x')) for name in ('connection.json', 'launcher.py', 'heartbeat',"
    " 'planted')])\n"
    "print(outcome(lambda: os.listdir(given.parent)), outcome(lambda: (given.parent / 'owner.json').read_text()))",
    "other-boxes": "print([name for name in os.listdir('/tmp') if name.startswith('reclaim-')])",
    "release": "print((attempt.release / 'numbers.txt').read_text(),"
    " outcome(lambda: (attempt.release / 'numbers.txt').write_text('9')),"
    " outcome(lambda: (attempt.release / 'planted').write_text('9')))",
    "devices": "print(sorted(os.listdir('/dev')))",
    "sysrq": "print(outcome(lambda: pathlib.Path('/proc/sysrq-trigger').write_text('h')),"
    " outcome(lambda: pathlib.Path('/proc/sys/kernel/hostname').write_text('x')))",
    "namespaces": "print(subprocess.run(['unshare', '-rn', 'true'], capture_output=True, text=True).returncode)",
}


@pytest.fixture(scope="module")
def boxed(docker: str, tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Return one attempt in which every escape was tried."""
    folder = tmp_path_factory.mktemp("isolation")
    (folder / "secret.txt").write_text(SECRET)
    files = [
        str(folder / "secret.txt"),
        str(Path.home() / ".bashrc"),
        "/etc/shadow",
        str(Path(__file__)),
        "/work/../..",
    ]
    given = f"HOST = {json.dumps(json.dumps(files))}\nPIDS = {json.dumps(json.dumps([os.getpid(), os.getppid()]))}\n"
    cells = {**CELLS, "setup": CELLS["setup"] + "\n" + given}
    before = dict(os.environ)
    os.environ["OPENAI_API_KEY"] = os.environ["RECLAIM_TEST_SECRET"] = SECRET
    try:
        return run(folder, cells, docker, paper=tiny_paper(folder, release={"numbers.txt": "1 2 3"}))
    finally:
        os.environ.clear()
        os.environ.update(before)


def test_every_escape_was_really_tried(boxed: Result) -> None:
    assert {case: boxed.status(case) for case in CELLS} == {
        case: ("error" if case == "proc-environment" and boxed.status(case) == "error" else "ok") for case in CELLS
    }


def test_the_user_is_not_root_and_cannot_become_it(boxed: Result) -> None:
    uid, effective, gid, groups = json.loads(boxed.printed("uid"))
    assert 0 not in (uid, effective, gid, *groups)
    assert "PermissionError" in boxed.printed("setuid")
    assert "uid=0" not in boxed.printed("sudo")
    status = boxed.printed("capabilities")
    assert "NoNewPrivs:\\t1" in status
    for kind in ("CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert f"{kind}:\\t0000000000000000" in status


def test_no_secret_of_the_host_is_anywhere(boxed: Result) -> None:
    environment = json.loads(boxed.printed("environment"))
    assert not {"OPENAI_API_KEY", "RECLAIM_TEST_SECRET"} & environment.keys()
    for path in boxed.folder.path.rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path


def test_there_is_no_network(boxed: Result) -> None:
    assert json.loads(boxed.printed("addresses")) == ["lo"]
    assert boxed.printed("connect").count("refused:") == 4
    for case in ("ipv6", "dns", "http", "raw-socket"):
        assert boxed.printed(case).startswith("refused:"), case


def test_the_root_is_not_writable(boxed: Result) -> None:
    assert boxed.printed("root").count("refused:") == 9
    assert "returncode=0" not in boxed.printed("remount")
    assert boxed.printed("sysrq").count("refused:") == 2


def test_no_host_file_but_the_attempts_own_is_there(boxed: Result) -> None:
    shown = boxed.printed("host-files")
    assert SECRET not in shown
    assert shown.count("refused:") == 5
    mounted = {line.split()[4] for line in boxed.printed("mounts").splitlines() if line}
    # The engine itself puts three files of its own making into every container.
    of_the_engine = {"/etc/resolv.conf", "/etc/hostname", "/etc/hosts"}
    init = {path for path in mounted if path.endswith("/docker-init")}
    own = {path for path in mounted if path != "/" and not path.startswith(("/proc", "/sys", "/dev"))}
    own -= of_the_engine | init
    boxes = {path for path in own if path.startswith("/tmp/reclaim-")}
    assert own - boxes == {"/work", "/release", "/tmp", "/home/agent"}
    assert len(boxes) == 2, "sockets and what the host gives, of this attempt alone"


def test_the_engine_and_the_hosts_processes_are_out_of_reach(boxed: Result) -> None:
    assert boxed.printed("engine").strip() == "[False, False, False]"
    assert len(json.loads(boxed.printed("processes"))) <= 6
    assert boxed.printed("kill-host").count("ProcessLookupError") == 2
    devices = boxed.printed("devices")
    assert not any(name in devices for name in ("'sda", "'vda", "'mem'", "'kmsg'", "'nvidia"))


def test_the_hosts_part_of_the_box_is_read_only_and_the_rest_unseen(boxed: Result) -> None:
    written, _, rest = boxed.printed("box").partition("\n")
    assert written.count("refused:") == 4
    assert "owner.json" not in rest.split("refused:")[0]
    assert "PermissionError" in rest or "FileNotFoundError" in rest
    assert boxed.printed("other-boxes").count("reclaim-") <= 1


def test_what_the_authors_released_cannot_be_changed(boxed: Result) -> None:
    shown = boxed.printed("release")
    assert shown.startswith("1 2 3") and shown.count("refused:") == 2
