"""The large debug files that benchmarks and tests use. Each is made or found at first use, in the
build folder. If that is not possible, Missing is raised with the reason."""
import os
import re
import shutil
import subprocess

from measure import tool
from paths import BUILD, REAL, TOP

INNER = "Contents/Resources/DWARF"
LIBC = next((p for p in ("/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6", "/lib64/libc.so.6") if os.path.exists(p)), None)
GO_ENVIRONMENT = {"GOOS": "darwin", "GOARCH": "arm64", "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod", "GO111MODULE": "off"}
GO_SERVER = """package main

import "net/http"

func main() { println(http.ListenAndServe(":8080", http.FileServer(http.Dir(".")))) }
"""


class Missing(Exception):
    pass


def cxx(units):
    """scripts/gen/big's C++ of many units, for arm64."""
    if not tool("dsymutil") or not tool("ld64.lld"):
        raise Missing("dsymutil or ld64.lld is not installed")
    folder = os.path.join(BUILD, f"bench-big{units}")
    subprocess.run([os.path.join(TOP, "scripts/gen/big"), folder, str(units)], check=True)
    return os.path.join(folder, f"Big.dSYM/{INNER}/Big")


def get_large(name):
    """The files that scripts/gen/large makes."""
    folder = os.path.join(BUILD, "large")
    made = subprocess.run([os.path.join(TOP, "scripts/gen/large"), folder], capture_output=True, text=True, check=False)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        raise Missing(made.stderr.strip() or "scripts/gen/large did not make it")
    return path


def sqlite():
    """SQLite's one unit, for arm64."""
    return get_large(f"sqlite3.dSYM/{INNER}/sqlite3")


def sqlite_elf():
    """SQLite as ELF with zlib-compressed sections and no build-id."""
    return get_large("libsqlite3.zlib.so")


def libclrjit():
    path = os.path.join(REAL, "objects/x86_64-cxx-big/libclrjit.dylib.dwarf")
    if not REAL or not os.path.exists(path):
        raise Missing("REAL does not name the folder that has it")
    return path


def libc_debug():
    """The separate debug file of this system's libc: many units, compressed, partial units of dwz."""
    if not LIBC or not shutil.which("readelf"):
        raise Missing("no libc or no readelf")
    notes = subprocess.run(["readelf", "-n", LIBC], capture_output=True, text=True, check=True).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)
    path = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    if not os.path.exists(path):
        raise Missing("libc's debug file is not installed (libc6-dbg)")
    return path


def go_build(source, path, *options):
    """A Mach-O file for arm64 of Go's source; go compiles its library once."""
    if not shutil.which("go"):
        raise Missing("no go")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".go", "w", encoding="utf-8") as f:
        f.write(source)
    cache = os.environ.get("GOCACHE", os.path.join(TOP, "build", "go-cache"))
    made = subprocess.run(["go", "build", *options, "-o", path, path + ".go"], capture_output=True, text=True, check=False,
                          env={**os.environ, "GOCACHE": cache, **GO_ENVIRONMENT})
    if made.returncode != 0:
        raise Missing(made.stderr.strip().splitlines()[0] if made.stderr.strip() else "go build failed")


def go_server():
    """A file server, which has much of Go's library. Not packed: LLVM 14 cannot read what Go packs."""
    path = os.path.join(BUILD, "large", "go-server")
    if not os.path.exists(path):
        go_build(GO_SERVER, path, "-ldflags=-compressdwarf=false")
    return path
