"""Files and folders of attempts under many hands: nothing half written, made twice, or held by the dead."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from reclaim_nb.errors import AttemptError, AttemptExists, RecordError
from reclaim_nb.record.files import folder_bytes, remove_parts, write_atomic
from reclaim_nb.record.folder import AttemptFolder, Lock, create_folder, is_held, open_folder, write_new

SAVER = """
import sys
from pathlib import Path
from reclaim_nb.record.files import write_atomic
path = Path(sys.argv[1])
for n in range(10**9):
    write_atomic(path, (str(n) * 50_000).encode())
    if n == 3: print("saving", flush=True)
"""
HOLDER = """
import sys, time
from pathlib import Path
from reclaim_nb.record.folder import AttemptFolder, Lock
Lock(AttemptFolder(Path(sys.argv[1]))).take()
print("held", flush=True)
time.sleep(600)
"""
MAKER = """
import sys
from pathlib import Path
from reclaim_nb.record.folder import create_folder
sys.stdin.readline()
for _ in range(int(sys.argv[2])):
    print(create_folder(Path(sys.argv[1]), "b", "small", "toy", "replay", None).path, flush=True)
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


@pytest.mark.parametrize("delay", [0.0, 0.003, 0.011, 0.05])
def test_a_writer_killed_at_any_moment_leaves_a_whole_file(tmp_path: Path, delay: float) -> None:
    path = tmp_path / "attempt.ipynb"
    writer = start(SAVER, path)
    assert line(writer) == "saving"
    time.sleep(delay)
    end(writer)
    text = path.read_text()
    assert len(text) % 50_000 == 0
    assert text == text[: len(text) // 50_000] * 50_000
    remove_parts(tmp_path)
    assert os.listdir(tmp_path) == ["attempt.ipynb"]


def test_a_write_that_fails_keeps_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "verdict.json"
    write_atomic(path, b"old")
    with pytest.raises(TypeError):
        write_atomic(path, "no bytes")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["verdict.json"]


def test_a_full_disk_keeps_the_old_file(tmp_path: Path) -> None:
    """The limit on the size of a file stands for the disk: both refuse the write in its middle."""
    code = (
        "import resource, signal, sys\nfrom pathlib import Path\n"
        "from reclaim_nb.record.files import write_atomic\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try: write_atomic(Path(sys.argv[1]), b'x' * 100_000)\n"
        "except OSError as problem: print(problem.strerror)\n"
    )
    path = tmp_path / "attempt.ipynb"
    write_atomic(path, b"old")
    writer = start(code, path)
    assert writer.communicate()[0].strip() == "File too large"
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["attempt.ipynb"]


def test_many_runners_at_once_make_different_repeats(tmp_path: Path) -> None:
    makers = [start(MAKER, tmp_path, 5) for _ in range(4)]
    for maker in makers:
        assert maker.stdin is not None
        maker.stdin.write("go\n")
        maker.stdin.flush()
    paths = [path for maker in makers for path in maker.communicate()[0].split()]
    assert Counter(Path(path).name for path in paths) == Counter(f"{n:02d}" for n in range(1, 21))
    assert all(Path(path, "workspace").is_dir() for path in paths)


def test_a_repeat_that_was_asked_for_is_made_once(tmp_path: Path) -> None:
    made = create_folder(tmp_path, "b", "small", "toy", "replay", 2)
    assert made.path == tmp_path / "b/small/toy/replay/02"
    with pytest.raises(AttemptExists, match="repeat 2 was started before"):
        create_folder(tmp_path, "b", "small", "toy", "replay", 2)
    assert create_folder(tmp_path, "b", "small", "toy", "replay", 2, again=2).path.name == "02-2"


def test_names_from_outside_make_no_way_out(tmp_path: Path) -> None:
    made = create_folder(tmp_path / "runs", "../../up", "a/b", "..", "", 1)
    assert made.path == tmp_path / "runs/up/a-b/unnamed/unnamed/01"


def test_a_held_attempt_is_refused_and_a_dead_holder_holds_nothing(tmp_path: Path) -> None:
    folder = AttemptFolder(tmp_path)
    assert not is_held(folder)
    holder = start(HOLDER, tmp_path)
    assert line(holder) == "held"
    assert is_held(folder)
    with pytest.raises(AttemptError, match=f"a runner is at work on this attempt .pid {holder.pid} on "):
        Lock(folder).take()
    end(holder)
    assert not is_held(folder)
    lock = Lock(folder)
    lock.take()
    assert is_held(folder)
    lock.release()
    assert not is_held(folder)


def test_looking_at_a_lock_never_costs_a_runner_its_attempt(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom reclaim_nb.record.folder import AttemptFolder, is_held\n"
        "print('looking', flush=True)\nwhile True: is_held(AttemptFolder(Path(sys.argv[1])))\n"
    )
    (tmp_path / ".lock").touch()
    onlooker = start(code, tmp_path)
    assert line(onlooker) == "looking"
    taken = 0
    for _ in range(200):
        lock = Lock(AttemptFolder(tmp_path))
        lock.take()
        taken += 1
        lock.release()
    end(onlooker)
    assert taken == 200


def test_one_who_looks_for_long_is_waited_for_and_a_runner_is_not(tmp_path: Path) -> None:
    folder = AttemptFolder(tmp_path)
    (tmp_path / ".lock").touch()
    onlooker = os.open(tmp_path / ".lock", os.O_RDWR)
    fcntl.flock(onlooker, fcntl.LOCK_SH)  # as `is_held` does, on a machine that then has it stand there
    leaves = threading.Timer(0.5, os.close, [onlooker])
    leaves.start()
    lock = Lock(folder)
    lock.take()
    leaves.join()
    with pytest.raises(AttemptError, match=f"pid {os.getpid()} on "):
        Lock(folder).take()
    lock.release()


def test_what_is_no_attempt_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"holds no stream\.jsonl"):
        open_folder(tmp_path)
    (tmp_path / "stream.jsonl").touch()
    for path in (tmp_path, tmp_path / "stream.jsonl", tmp_path / "attempt.ipynb"):
        assert open_folder(path).path == tmp_path


def test_a_record_file_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "verdict.rules.json"
    write_new(path, {"b": 1, "a": 2})
    assert list(json.loads(path.read_text())) == ["a", "b"]
    with pytest.raises(RecordError, match="never replaced"):
        write_new(path, {})


def test_a_folder_is_as_large_as_what_it_holds_on_disk(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "full").write_bytes(os.urandom(1_000_000))
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(10**12)
    (tmp_path / "loop").symlink_to(tmp_path)
    assert 1_000_000 <= folder_bytes(tmp_path) < 1_100_000
    assert folder_bytes(tmp_path / "nowhere") == 0
