"""The stacks of stalls beside those that perf took of the same process at the same time: the share
of perf's frames that stallrec's stacks have, too.

perf sees a thread that runs only, so that stalls that sleep are compared with nothing. Its innermost frame, which changes from sample to
sample, does not count, nor do the kernel's.
"""
import contextlib
import functools
import gzip
import json
import os
import re
import shutil
import signal
import struct
import subprocess

RATE_HZ = 29
SCRIPT_S = 40  # seconds that perf script may take: for large programs it takes longer, and they are then not compared
ENDS_S = 20


class Reference:
    """perf at work beside a program. `walk`: how it walks stacks, "dwarf" or "fp" for code made at run time."""

    def __init__(self, run, pid, walk):
        self.data, self.said = run.path("perf.data"), run.path("perf.said")
        how = "dwarf,16384" if walk == "dwarf" else "fp"
        command = ["perf", "record", "-q", "-o", self.data, "-e", "cpu-clock:u", "-F", str(RATE_HZ), "-k", "CLOCK_MONOTONIC",
                   "--call-graph", how, "-p", str(pid)]
        self.process = run.spawn(command, self.said) if shutil.which("perf") else None

    def end(self):
        if self.process:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                os.kill(self.process.pid, signal.SIGINT)
                self.process.wait(ENDS_S)

    def samples(self):
        """(thread, CLOCK_MONOTONIC ns, addresses without the innermost) of each, as far as perf can tell in time."""
        if not self.process or not os.path.exists(self.data):
            return []
        with contextlib.suppress(subprocess.TimeoutExpired, OSError):
            done = subprocess.run(["perf", "script", "-i", self.data, "-F", "tid,time,ip"], capture_output=True, text=True, timeout=SCRIPT_S, check=False)
            return list(parse(done.stdout))
        return []


def parse(text):
    for part in text.split("\n\n"):
        lines = part.strip("\n").split("\n")
        head = re.match(r"\s*(\d+)\s+(\d+)\.(\d+):", lines[0])
        if head:
            frames = [int(line.split()[0], 16) for line in lines[1:] if line.strip() and "(inlined)" not in line]
            yield int(head[1]), int(head[2]) * 10**9 + int(head[3].ljust(9, "0")), frames[1:]


@functools.lru_cache(None)
def segments(path):
    """(address, place in the file, size) of what an ELF file of 64 bits loads."""
    found = []
    with contextlib.suppress(OSError, struct.error), open(path, "rb") as file:
        head = file.read(64)
        at, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
        file.seek(at)
        table = file.read(size * count)
        for i in range(count):
            kind, _, place, address, _, length = struct.unpack_from("<IIQQQQ", table, i * size)
            if kind == 1:
                found.append((address, place, length))
    return found


def addresses_of(dump, frames):
    """Of frames, as perf may print them: absolute, or as places in the file; return addresses may be one less there."""
    found = set()
    for frame in frames:
        found |= {frame, frame - 1}
        image = next((image for image in dump["images"] if image["load"] <= frame < image["load"] + image["size"]), None)
        loaded = segments(image["path"]) if image else []
        for address, place, size in loaded:
            offset = frame - image["load"] + (loaded[0][0] & ~0xfff) - address
            if 0 <= offset < size:
                found |= {offset + place, offset + place - 1}
    return found


def stacks_of(stall):
    """The thread of a stall and the sets of addresses of its stacks."""
    sets, thread = [], None
    for path in stall.files:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            dump = json.load(file)
        thread = dump["threads"][0]["id"] if dump.get("threads") else None
        sets += [addresses_of(dump, stack["frames"]) for stack in dump.get("samples", {}).get("stacks", [])]
    return thread, sets


def shared(stalls, samples):
    """Over all samples of perf during stalls, the share of their frames, in %, that the most
    similar stack of the stall has; -1: there are no samples."""
    seen = total = 0
    for stall in stalls:
        thread, sets = stacks_of(stall)
        margin = (stall.end - stall.begin) // 10
        for tid, at, frames in samples:
            if tid == thread and stall.begin + margin < at < stall.end - margin and frames and sets:
                total += len(frames)
                seen += max(sum(frame in stack for frame in frames) for stack in sets)
    return seen * 100 // total if total else -1
