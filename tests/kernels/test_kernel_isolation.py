"""What a cell in a container cannot reach: each escape is tried from inside, in one attempt."""

from __future__ import annotations

import asyncio
import json
import os
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reclaim_nb.kernels.box import Box
from reclaim_nb.kernels.kernel import Kernel, KernelConfig
from reclaim_nb.kernels.link import Message

SECRET = "planted-secret-83b1"

PROBES: dict[str, str] = {
    "uid": "import os; result = [os.getuid(), os.geteuid(), os.getgid(), os.getgroups()]",
    "capabilities": """
        lines = open('/proc/self/status').read().splitlines()
        facts = [line.split(':') for line in lines if line.startswith(('Cap', 'NoNewPrivs'))]
        result = {name: value.strip() for name, value in facts}
    """,
    "setuid": "import os; result = tried(lambda: os.setuid(0))",
    "chown": "import os; open('/work/f', 'w').close(); result = tried(lambda: os.chown('/work/f', 0, 0))",
    "mount": """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        result = [libc.mount(b'none', b'/tmp', b'tmpfs', 0, None), ctypes.get_errno()]
    """,
    "unshare": """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        result = [libc.unshare(0x00020000), ctypes.get_errno()]
    """,
    "environment": "import os; result = dict(os.environ)",
    "other environments": """
        import glob
        result = ''
        for name in glob.glob('/proc/*/environ'):
            result += str(tried(lambda: open(name).read()))
    """,
    "root is read-only": """
        result = {}
        for place in ('/', '/etc', '/usr', '/opt', '/root', '/var', '/home', '/boot', '/srv', '/release'):
            result[place] = tried(lambda: open(place + '/planted', 'w').close())
    """,
    "given files": """
        import os, pathlib
        given = pathlib.Path(os.environ['RECLAIM_HEARTBEAT']).parent
        result = {}
        for file in (*given.iterdir(), given / 'new'):
            result[file.name] = [tried(lambda: open(file, 'a').close()), tried(lambda: os.utime(file)),
                                 tried(file.unlink), tried(lambda: file.chmod(0o777))]
    """,
    "box": """
        import os, pathlib
        box = pathlib.Path(os.environ['RECLAIM_HEARTBEAT']).parent.parent
        result = {'inside': sorted(p.name for p in box.iterdir()),
                  'owner': tried(lambda: (box / 'owner.json').read_text()),
                  'kernel': tried(lambda: (box / 'kernel.json').read_text()),
                  'beside': sorted(p.name for p in box.parent.glob('reclaim-*')),
                  'planted': tried(lambda: (box / 'owner.json').write_text('{}'))}
    """,
    "host files": """
        import os
        result = {name: tried(lambda: open(name, 'rb').read(64)) for name in HOST_FILES}
        result |= {name: tried(lambda: os.listdir(name)) for name in HOST_FOLDERS}
    """,
    "engine": """
        import os, glob, socket
        def connect(path):
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(path)
        paths = ('/var/run/docker.sock', '/run/docker.sock', '/run/containerd/containerd.sock',
                 '/run/podman/podman.sock')
        result = {path: tried(lambda: connect(path)) for path in paths}
    """,
    "network": """
        import socket, urllib.request
        result = {}
        hosts = {'1.1.1.1': 53, '8.8.8.8': 443, '172.17.0.1': 22, '169.254.169.254': 80, '10.0.0.1': 80}
        for host, port in hosts.items():
            result[host] = tried(lambda: socket.create_connection((host, port), timeout=3).close())
        result['udp'] = tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('8.8.8.8', 53)))
        result['dns'] = tried(lambda: socket.getaddrinfo('example.org', 80))
        result['raw'] = tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
        result['packet'] = tried(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
        result['http'] = tried(lambda: urllib.request.urlopen('http://example.org', timeout=3).read())
    """,
    "interfaces": "import socket; result = [name for _, name in socket.if_nameindex()]",
    "devices": """
        import glob, os
        devices = filter(os.path.exists, glob.glob('/dev/*'))
        result = {'blocks': [name for name in devices if os.stat(name).st_mode & 0o170000 == 0o060000],
                  'mem': tried(lambda: open('/dev/mem', 'rb').read(1)),
                  'kmsg': tried(lambda: open('/dev/kmsg').read(1)),
                  'mknod': tried(lambda: os.mknod('/work/disk', 0o060666, os.makedev(8, 0)))}
    """,
    "kernel settings": """
        names = ('/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', '/proc/sys/vm/drop_caches',
                 '/sys/kernel/uevent_helper')
        result = {name: tried(lambda: open(name, 'w').write('1')) for name in names}
    """,
    "processes": """
        import os
        pids = [int(name) for name in os.listdir('/proc') if name.isdigit()]
        result = {'pids': pids, 'kill': tried(lambda: os.kill(RUNNER, 0))}
    """,
    "links": """
        import os
        os.symlink('/etc/shadow', '/work/shadow'); os.symlink('/', '/work/root')
        result = [tried(lambda: open('/work/shadow').read()),
                  sorted(os.listdir('/work/root')) == sorted(os.listdir('/'))]
    """,
    "release": """
        import os
        data = '/release/data.txt'
        result = [open(data).read(), tried(lambda: open(data, 'a')), tried(lambda: os.remove(data)),
                  tried(lambda: os.rename(data, '/release/x'))]
    """,
    "own folder": "open('/work/result.txt', 'w').write('84.3'); result = open('/work/result.txt').read()",
    "limits": """
        import os
        def first(*names):
            for name in names:
                try:
                    return open(name).read().strip()
                except OSError:
                    pass
        result = [first('/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes'),
                  first('/sys/fs/cgroup/pids.max', '/sys/fs/cgroup/pids/pids.max')]
    """,
}
PRELUDE = """
def tried(call):
    try:
        return ['done', str(call())[:2000]]
    except BaseException as problem:
        return ['refused', type(problem).__name__]
"""


class Found(dict[str, Any]):
    """What each probe found, and the host's side of it."""

    workspace: Path
    release: Path
    box: Path


@pytest.fixture(scope="module")
def found(kernel_image: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Found]:
    folder = tmp_path_factory.mktemp("isolation")
    workspace, release = folder / "workspace", folder / "release"
    workspace.mkdir()
    release.mkdir()
    (release / "data.txt").write_text("released")
    (folder / "host-secret.txt").write_text(SECRET)
    other = Box.create()  # of another attempt on this machine
    with pytest.MonkeyPatch.context() as patch:
        for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "PLANTED"):
            patch.setenv(name, SECRET)
        try:
            yield asyncio.run(_probe(workspace, release, folder, other))
        finally:
            other.remove()


async def _probe(workspace: Path, release: Path, folder: Path, other: Box) -> Found:
    found = Found()
    found.workspace, found.release = workspace, release
    printed: dict[str, list[str]] = {}
    idle: dict[str, asyncio.Event] = {}

    def listen(message: Message) -> None:
        content = message.content or {}
        if message.kind == "stream" and content["name"] == "stdout":
            printed.setdefault(message.parent, []).append(content["text"])
        elif message.kind == "error":
            printed.setdefault(message.parent, []).append(json.dumps({"probe failed": content["evalue"]}))
        elif message.kind == "status" and content["execution_state"] == "idle" and message.parent in idle:
            idle[message.parent].set()

    kernel = await Kernel.start(
        KernelConfig(kind="docker", memory_mib=512, pids=100),
        listen,
        workspace=workspace,
        release=release,
        attempt_id="isolation-test",
        batch="test",
    )
    box = kernel.writable[0].parent
    found.box = box
    files = [str(folder / "host-secret.txt"), str(Path(__file__)), str(other.path / "owner.json"), "/etc/shadow"]
    folders = [
        str(folder),
        str(Path.home() / ".docker"),
        str(other.path),
        str(Path(__file__).parents[2]),
        "/proc/1/root/etc/ssl/private",
    ]
    facts = f"HOST_FILES = {files!r}\nHOST_FOLDERS = {folders!r}\nRUNNER = {os.getpid()}\n"
    try:
        for name, source in PROBES.items():
            code = PRELUDE + facts + textwrap.dedent(source) + "\nimport json; print(json.dumps(result))"
            request = kernel.link.execute(code)
            done = idle[request] = asyncio.Event()
            await asyncio.wait_for(done.wait(), 60)
            found[name] = json.loads("".join(printed[request]))
    finally:
        await kernel.stop()
    return found


def refused(value: Any) -> bool:
    return isinstance(value, list) and value[0] == "refused"


class TestRights:
    def test_not_root(self, found: Found) -> None:
        uid, effective, gid, groups = found["uid"]
        assert uid != 0 and effective == uid and gid != 0 and 0 not in groups

    def test_no_capability_and_no_way_to_one(self, found: Found) -> None:
        facts = found["capabilities"]
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert int(facts[name], 16) == 0, name
        assert facts["NoNewPrivs"] == "1"

    @pytest.mark.parametrize("probe", ["setuid", "chown"])
    def test_no_other_user(self, found: Found, probe: str) -> None:
        assert refused(found[probe])

    @pytest.mark.parametrize("probe", ["mount", "unshare"])
    def test_no_mount_and_no_namespace(self, found: Found, probe: str) -> None:
        assert found[probe][0] == -1

    def test_limits_are_set(self, found: Found) -> None:
        memory, pids = found["limits"]
        assert int(memory) == 512 * 1024 * 1024
        assert int(pids) == 100

    def test_no_device_of_the_host(self, found: Found) -> None:
        devices = found["devices"]
        assert devices["blocks"] == []
        assert all(refused(devices[name]) for name in ("mem", "kmsg", "mknod"))

    def test_no_setting_of_the_host(self, found: Found) -> None:
        assert all(refused(value) for value in found["kernel settings"].values())


class TestFiles:
    def test_the_root_is_read_only(self, found: Found) -> None:
        assert {place: value for place, value in found["root is read-only"].items() if not refused(value)} == {}

    def test_no_host_file(self, found: Found) -> None:
        assert {name: value for name, value in found["host files"].items() if not refused(value)} == {}

    def test_a_link_leads_to_the_containers_own_files(self, found: Found) -> None:
        shadow, own = found["links"]
        assert refused(shadow)
        assert own is True

    def test_what_the_host_gives_is_read_only(self, found: Found) -> None:
        assert {"connection.json", "heartbeat", "launcher.py", "new"} <= set(found["given files"])
        for name, attempts in found["given files"].items():
            assert all(refused(value) for value in attempts), name

    def test_the_hosts_part_of_the_box_and_other_boxes_are_not_there(self, found: Found) -> None:
        box = found["box"]
        assert box["inside"] == ["h", "s"]
        assert refused(box["owner"]) and refused(box["kernel"]) and refused(box["planted"])
        assert box["beside"] == [found.box.name]

    def test_the_release_is_read_only(self, found: Found) -> None:
        text, *attempts = found["release"]
        assert text == "released"
        assert all(refused(value) for value in attempts)
        assert (found.release / "data.txt").read_text() == "released"

    def test_its_own_folder_is_its_own(self, found: Found) -> None:
        assert found["own folder"] == "84.3"
        assert (found.workspace / "result.txt").read_text() == "84.3"


class TestSecrets:
    def test_no_secret_of_the_host_in_any_environment(self, found: Found) -> None:
        assert os.environ["PLANTED"] == SECRET, "the runner has it"
        assert SECRET not in json.dumps(found)
        assert not any("KEY" in name or "TOKEN" in name for name in found["environment"])


class TestNetwork:
    def test_nothing_answers(self, found: Found) -> None:
        assert {host: value for host, value in found["network"].items() if not refused(value)} == {}

    def test_only_the_loop(self, found: Found) -> None:
        assert found["interfaces"] == ["lo"]

    def test_no_engine(self, found: Found) -> None:
        assert all(refused(value) for value in found["engine"].values())

    def test_no_process_of_the_host(self, found: Found) -> None:
        assert refused(found["processes"]["kill"]) or os.getpid() in found["processes"]["pids"]
        assert len(found["processes"]["pids"]) < 20


def test_a_local_kernel_gets_no_secret_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    printed: list[str] = []
    asked = ""

    async def look() -> None:
        nonlocal asked
        done = asyncio.Event()

        def listen(message: Message) -> None:
            if message.kind == "stream" and message.content:
                printed.append(message.content["text"])
            elif message.parent == asked and (message.content or {}).get("execution_state") == "idle":
                done.set()

        kernel = await Kernel.start(
            KernelConfig(kind="local"), listen, workspace=tmp_path, release=None, attempt_id="x", batch="x"
        )
        try:
            asked = kernel.link.execute("import os; print(dict(os.environ), flush=True)")
            await asyncio.wait_for(done.wait(), 60)
        finally:
            await kernel.stop()

    asyncio.run(look())
    assert "RECLAIM_HEARTBEAT" in "".join(printed)
    assert SECRET not in "".join(printed)
