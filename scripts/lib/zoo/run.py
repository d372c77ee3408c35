"""One run of a program under stallrec in one mode, and its score: the stalls that the driver caused, by the driver's own clock, against the dumps.

A driver is `drive(run)`: it calls `run.start`, then `run.ready`, causes its stalls in `with run.stall():` or reads them from what the program itself
logged, and calls `run.end`.
"""
import contextlib
import ctypes
import dataclasses
import datetime
import fnmatch
import gzip
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from paths import BIN, SYM  # pylint: disable=wrong-import-position
from zoo import frames  # pylint: disable=wrong-import-position

MODES = ("inject", "attach", "pid", "samples")
BESIDE = ("pid", "samples")  # the modes in which a recorder is started beside the program
THRESHOLD_MS = 300
MARGIN_MS = 50  # a stall may be missed if it exceeds the threshold by less than this, because the two clocks are read at different moments
TOLERANCE_MS = 20  # largest difference of the lengths of a stall, in the other modes
SAMPLED_MS = 75  # tolerance in mode samples, where ends of stalls are sampled: one period of 50 ms, and a delay on a loaded machine
LIMIT_S = 75  # limit in seconds of one run
ATTACH_S = 1.5  # until a recorder that was started beside a program has found its loop
PR_SET_CHILD_SUBREAPER = 36
PATIENCE_S = 20


class Skip(Exception):
    """Raised if the program is not installed, or cannot run in the mode."""


@dataclasses.dataclass
class Known:
    """A stall that the driver caused: CLOCK_MONOTONIC, in ns."""
    begin: int
    end: int

    @property
    def ms(self):
        return (self.end - self.begin) / 1e6


@dataclasses.dataclass
class Recorded:
    """A stall that stallrec reported: CLOCK_MONOTONIC in ns, and the dumps' files."""
    begin: int
    ms: int
    files: list
    thread: str
    whole: bool  # the heaviest stack goes to the thread's first frame

    @property
    def end(self):
        return self.begin + self.ms * 10**6


@dataclasses.dataclass
class Score:
    known: int = 0
    found: int = 0
    false: int = 0
    early: int = 0  # stalls that began before the driver knew that the program was ready, so that it cannot judge them
    off_ms: float = 0.0  # the largest error of a length
    watched: int = -1  # % of the time; -1: not said
    named: int = 0  # found stalls in whose dump the function that the driver called has its name
    whole: int = 0  # found stalls whose stack goes to the thread's first frame
    frames: int = -1  # % of the frames that perf saw during stalls; -1: it saw none
    complaints: list = dataclasses.field(default_factory=list)


def monotonic_of_wall():
    """The difference between CLOCK_MONOTONIC and CLOCK_REALTIME, in ns."""
    return time.monotonic_ns() - time.time_ns()


def be_reaper():
    """Makes processes that lose their parent children of this process, so that none is left
    behind."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children_of(pid):
    """Returns the ids of the children of all threads of the process."""
    found = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as text:
                found += [int(word) for word in text.read().split()]
    return found


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as text:
            return text.read().decode(errors="replace").replace("\0", " ")
    except OSError:
        return ""


def processor_ticks(pid):
    """What it has used of the processor."""
    with contextlib.suppress(OSError, IndexError):
        with open(f"/proc/{pid}/stat", encoding="utf-8") as text:
            return sum(int(word) for word in text.read().rsplit(")", 1)[1].split()[11:13])
    return 0


def descendants_of(pid):
    found = children_of(pid)
    for child in found:
        found.extend(other for other in children_of(child) if other not in found)
    return found


def tool(*names):
    """The first of these commands that is installed."""
    for name in names:
        path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/games")
        if path:
            return path
    raise Skip(f"{names[0]} is not installed")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Run:
    """A program in a mode. `folder` is the run's own; the program logs to `log` and begins when the file `go` exists."""

    def __init__(self, mode, folder, thread=None, follow=False, walk="dwarf"):
        self.walk, self.reference = walk, None  # how perf walks this program's stacks
        self.mode, self.folder, self.thread, self.follow = mode, folder, thread, follow
        self.log, self.go = os.path.join(folder, "log"), os.path.join(folder, "go")
        self.dumps, self.said = os.path.join(folder, "dumps"), os.path.join(folder, "said")
        self.known, self.sees = [], None
        self.first = self.recorder = None
        self.began = 0  # CLOCK_MONOTONIC ns at which the driver knew the program to be ready
        self.helpers = []

    def path(self, name, text=None):
        at = os.path.join(self.folder, name)
        if text is not None:
            with open(at, "w", encoding="utf-8") as file:
                file.write(text)
        return at

    def recording(self, *arguments):
        options = ["-t", str(THRESHOLD_MS), "-o", self.dumps] + (["--thread=" + self.thread] if self.thread else [])
        return [os.path.join(BIN, "stallrec"), *options, *arguments]

    def less_rights(self):
        """The words to put before stallrec, so that it may not use perf events."""
        if self.mode != "samples":
            return []
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as text:
            if int(text.read()) < 0:
                raise Skip("everybody may use perf events here")
        return ["setpriv", "--bounding-set=-perfmon,-sys_admin"] if os.geteuid() == 0 else []

    def spawn(self, command, output, stdin=subprocess.DEVNULL, **more):
        with open(output, "ab") as file:
            process = subprocess.Popen(command, **{"stdin": stdin, "stdout": file, "stderr": file, "start_new_session": True, **more})
        self.helpers.append(process)
        return process

    def start(self, command, **more):
        """Starts the program in this mode. Its own first process is `target()`."""
        prefix = []
        if self.mode == "inject":
            prefix = self.recording(*(["--follow"] if self.follow else []), "--")
        elif self.mode == "attach":
            prefix = self.recording(*(["--follow"] if self.follow else []), "--attach", "--")
        self.first = self.spawn(prefix + command, self.said, cwd=self.folder, **more)
        if prefix:
            self.recorder = self.first

    def target(self):
        """The process that was started; in the modes that run it under stallrec that is stallrec's child."""
        if self.mode in BESIDE:
            return self.first.pid
        self.until(lambda: children_of(self.first.pid), "stallrec starts the program")
        return children_of(self.first.pid)[0]

    def until(self, condition, what):
        """Waits for it; the last value of the condition."""
        limit = time.monotonic() + PATIENCE_S
        while time.monotonic() < limit:
            value = condition()
            if value:
                return value
            if self.first and self.first.poll() is not None:
                raise RuntimeError(f"the program ended before: {what}")
            time.sleep(0.02)
        raise RuntimeError(f"not within {PATIENCE_S} s: {what}")

    def until_port(self, port):
        def answers():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return True
            return False
        self.until(answers, f"port {port} answers")

    def ready(self, pid=None):
        """Called when the program is in its loop: a recorder that runs beside it is started now.
        `pid`: the process to record, if it is not the first."""
        if self.mode in BESIDE:
            self.recorder = self.spawn([*self.less_rights(), *self.recording("-p", str(pid or self.target()))], self.said)
        if not self.follow or pid:
            self.reference = frames.Reference(self, pid or self.target(), self.walk)
        time.sleep(ATTACH_S)
        self.began = time.monotonic_ns()
        self.path("go", "")

    @contextlib.contextmanager
    def stall(self):
        """A context for one stall of the program: the stall lasts from its begin to its end."""
        begin = time.monotonic_ns()
        yield
        self.known.append(Known(begin, time.monotonic_ns()))
        time.sleep(0.4)

    def until_logged(self, count, wall=False):
        """Waits for as many lines `BEGIN END` (ns; CLOCK_MONOTONIC, or CLOCK_REALTIME with `wall`) in the program's log: its stalls."""
        def lines():
            with contextlib.suppress(OSError), open(self.log, encoding="ascii") as text:
                rows = [row.split() for row in text if row.endswith("\n")]
                return rows if len(rows) >= count else None
            return None
        add = monotonic_of_wall() if wall else 0
        self.known += [Known(int(row[0]) + add, int(row[1]) + add) for row in self.until(lines, f"{count} stalls in the program's log")]
        time.sleep(0.4)

    def end(self, sent=signal.SIGTERM):
        """Ends the recording: the one beside a program first, else the program, and then stallrec by itself."""
        if self.mode in BESIDE:
            os.kill(self.recorder.pid, signal.SIGINT)
        else:
            with contextlib.suppress(OSError, RuntimeError):  # the process may have ended with its terminal
                os.kill(self.target(), sent)
        try:
            self.recorder.wait(PATIENCE_S)
        except subprocess.TimeoutExpired as error:
            raise RuntimeError("stallrec did not end") from error
        finally:
            if self.reference:
                self.reference.end()

    def close(self):
        """Kills the processes that are left: the group, and orphans, whose parent this process has
        become."""
        for process in self.helpers:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
        for _ in range(100):
            for pid in children_of(os.getpid()):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(OSError):
                    os.waitpid(pid, os.WNOHANG)
            if not children_of(os.getpid()):
                return
            time.sleep(0.02)

    def score(self):
        stalls, watched = read_dumps(self.dumps)
        score = match(self.known, stalls, self.began, SAMPLED_MS if self.mode == "samples" else TOLERANCE_MS)
        score.watched = watched
        score.whole = sum(stall.whole for stall in stalls if any(overlap(known, stall) for known in self.known if known.ms >= THRESHOLD_MS + MARGIN_MS))
        if self.reference:
            true = [stall for stall in stalls if any(overlap(known, stall) for known in self.known)]
            score.frames = frames.shared(true, self.reference.samples())
        return self.look_for_names(score, stalls)

    def look_for_names(self, score, stalls):
        for stall in stalls:
            if self.sees and any(overlap(known, stall) for known in self.known):
                text = subprocess.run([SYM, "--host-images", *stall.files], capture_output=True, text=True, timeout=60, check=False).stdout
                score.named += bool(re.search(self.sees, text))
        return score


def read_dumps(folder):
    """The hangs in it, by their begin, and the share of the time in % that the process with the most known stalls was watched."""
    add, stalls, watched = monotonic_of_wall(), {}, []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        path = os.path.join(folder, name)
        if fnmatch.fnmatch(name, "session-*.json"):
            with open(path, encoding="utf-8") as file:
                session = json.load(file)
            if session.get("wall_ms"):
                watched.append((sum(t["stalls"] for t in session["tiers"].values()), session["watched_ms"] * 100 // session["wall_ms"]))
        elif fnmatch.fnmatch(name, "stall-*.json.gz"):
            with gzip.open(path, "rt", encoding="utf-8") as file:
                dump = json.load(file)
            if dump["stall"]["kind"] == "hang":
                stalls.setdefault(dump["stall"]["id"], []).append((dump["stall"]["seq"], path, dump))
    found = []
    for parts in stalls.values():
        parts.sort(key=lambda part: part[0])
        first, last = parts[0][2], parts[-1][2]["stall"]
        at = datetime.datetime.fromisoformat(first["time"].replace("Z", "+00:00")).timestamp() * 1e9
        begin = int(at) + add - first["stall"]["at_ms"] * 10**6
        found.append(Recorded(begin, last["duration_ms"], [part[1] for part in parts], last.get("thread", {}).get("name", "main"), is_whole(first)))
    return sorted(found, key=lambda stall: stall.begin), max(watched)[1] if watched else -1


def is_whole(dump):
    """Whether the most frequent stack of the dump goes to the thread's first frame."""
    stacks = dump.get("samples", {}).get("stacks", [])
    return bool(stacks) and not max(stacks, key=lambda stack: stack.get("count", 1)).get("incomplete", False)


def overlap(known, stall):
    """Whether they share the greater part of the shorter one."""
    shared = min(known.end, stall.end) - max(known.begin, stall.begin)
    return shared > 0.5 * min(known.end - known.begin, stall.end - stall.begin)


def match(known, stalls, began, tolerance_ms):
    """Returns the score: each known stall must be found once, by a recorded stall of the same
    length."""
    score, left = Score(), list(stalls)
    for one in known:
        told = [stall for stall in left if overlap(one, stall)]
        for stall in told:
            left.remove(stall)
        if one.ms < THRESHOLD_MS + MARGIN_MS:
            continue
        score.known += 1
        at = f"{(one.begin - began) / 1e9:.2f} s, {one.ms:.0f} ms"
        if not told:
            score.complaints.append(f"missed: the stall at {at}")
            continue
        score.found += 1
        score.false += len(told) - 1
        if len(told) > 1:
            score.complaints.append(f"told as {len(told)}: the stall at {at}: " + ", ".join(f"{stall.ms} ms" for stall in told))
            continue
        off = told[0].ms - one.ms
        score.off_ms = max(score.off_ms, off, key=abs)
        if abs(off) > tolerance_ms:
            score.complaints.append(f"{off:+.0f} ms: the stall at {at}, told as {told[0].ms} ms")
    for stall in left:
        if stall.begin < began:
            score.early += 1
            continue
        score.false += 1
        score.complaints.append(f"false: a stall of {stall.ms} ms at {(stall.begin - began) / 1e9:.2f} s, thread {stall.thread}")
    return score
