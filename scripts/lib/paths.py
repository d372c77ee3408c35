"""Absolute paths: the top of the tree, the build folder (O) with the commands, the fixtures,
third-party samples (REAL, or empty)."""
import os

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, os.environ.get("O", "build"))
BIN = os.path.join(BUILD, "bin")
ADDR, SYM, CLASSIFY, FLAME = (os.path.join(BIN, name) for name in ("stalladdr", "stallsym", "stallclassify", "stallflame"))
OBJECTS = os.path.join(TOP, "testdata", "objects")
DUMPS = os.path.join(TOP, "testdata", "dumps")
REAL = os.environ.get("REAL", "")
