"""A reader of symbol indexes written from stall-index(5) alone: it takes the layout from the tables
of that page, so that a test with it also tests the page."""
import os
import re
import struct
import zlib

from paths import TOP

SIZES = {"u8": 1, "u32": 4, "u64": 8, "char[8]": 8, "u8[20]": 20, "char[16]": 16}


class Page:
    """The page's tables, and the numbers in its text."""

    def __init__(self):
        with open(os.path.join(TOP, "man/stall-index.5"), encoding="utf-8") as f:
            self.text = f.read()
        self.rows = [(int(o), k, w) for o, k, w in re.findall(r"^\.It (\d+) Ta (\S+) Ta (.*)$", self.text, re.M)]
        self.tags = re.findall(r"^\.It ([A-Z]{4}) Ta", self.text, re.M)
        self.summed = int(self.said(r"CRC-32 \(that of gzip\) of each (\d+) bytes"))
        self.slack = int(self.said(r"DATA ends with (\d+) bytes that are in no table"))
        self.columns = {table: columns.split(";")
                        for table, columns in re.findall(r"^\.It (node|page|scope|step|address) Ta (.*(?:\n[^.].*)*)$", self.text, re.M)}

    def said(self, pattern):
        return re.search(pattern, self.text, re.S).group(1)

    def bit(self, pattern):
        return int(self.said(pattern), 16)


class Bytes:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def number(self):
        value, shift = 0, 0
        while True:
            b = self.byte()
            value |= (b & 0x7f) << shift
            shift += 7
            if b < 0x80:
                return value

    def signed(self):
        v = self.number()
        return -(v >> 1) - 1 if v & 1 else v >> 1

    def take(self, length):
        self.at += length
        return self.data[self.at - length:self.at]


class Table:
    """Rows of numbers, each as wide as its column."""

    def __init__(self, count, widths):
        self.count, self.widths, self.bits = count, widths, 0

    def take(self, r):
        self.bits = int.from_bytes(r.take((self.count * sum(self.widths) + 7) // 8), "little")

    def row(self, i):
        bits, numbers = self.bits >> i * sum(self.widths), []
        for width in self.widths:
            numbers.append(bits & (1 << width) - 1)
            bits >>= width
        return numbers


class Index:
    def __init__(self, data, page):
        self.page, self.fields, self.gaps, self.bad, at = page, {}, [], [], 0
        for offset, kind, what in page.rows:
            if offset != at:
                self.gaps.append(f"{what} is at {offset}, {at} expected")
            if kind in SIZES:
                raw = data[at:at + SIZES[kind]]
                name = what.split(":")[0].split(",")[0]
                self.fields[name] = int.from_bytes(raw, "little") if kind in ("u8", "u32", "u64") else raw
                at += SIZES[kind]
        self.tags, self.sections, end = [], {}, at
        for i in range(self.fields["number of sections"]):
            tag, zero, offset, size = struct.unpack_from("<4sIQQ", data, at + 24 * i)
            self.tags.append(tag.decode() if not zero and offset % 8 == 0 and offset >= end and offset + size <= len(data) else "?")
            self.sections[tag.decode()] = data[offset:offset + size]
            end = offset + size
        s = self.sections
        sums = [zlib.crc32(s[t][k:k + page.summed]) for t in self.tags[:-1] for k in range(0, len(s[t]), page.summed)]
        packed = struct.pack(f"<{len(sums)}I", *sums)
        self.sound = s["SUMS"] == packed + struct.pack("<I", zlib.crc32(packed))
        self.pieces = struct.unpack(f"<{len(s['ADDR']) // 4}I", s["ADDR"])
        self.records = struct.unpack(f"<{len(s['RECO']) // 4}I", s["RECO"])
        self.files = struct.unpack(f"<{len(s['FILE']) // 4}I", s["FILE"])

    def string(self, at):
        strings = self.sections["STRS"]
        return strings[at:strings.index(b"\0", at)].decode()

    def name(self, number):
        """Linkage name, path and line of the declaration."""
        _, linkage, file, line = struct.unpack_from("<4I", self.sections["NAME"], 16 * number)
        return self.string(linkage), self.string(self.files[file - 1]) if file else "", line

    def frames(self, address):
        """Innermost first: linkage name, path and line of the declaration, path, line and column. [] = nobody's."""
        offset = address - self.fields["origin"]
        at = sum(1 for p in self.pieces if p <= offset) - 1
        if at < 0 or self.records[at] == 0:
            return []
        r, piece = Bytes(self.sections["DATA"], self.records[at]), self.pieces[at] + self.fields["origin"]
        head = r.byte()
        if head & 3 == 2:
            back, record = r.number(), r.number()
            r, piece = Bytes(self.sections["DATA"], record), piece - back
            head = r.byte()
        if head & 3 == 3:
            return []  # a function without a name
        return self.symbol(r, head, piece, address) if head & 3 == 1 else self.function(r, head, piece, address)

    def place(self, file, line, column):
        return (self.string(self.files[file - 1]), line, column) if file else ("", 0, 0)

    def symbol(self, r, head, piece, address):
        back, size, name = r.number(), r.number(), r.number()
        place = (r.number(), r.number(), r.number()) if head & self.page.bit(r"size of the symbol; name; if bit 2\n\.Pq (\w+)") else (0, 0, 0)
        return [(*self.name(name), *self.place(*place))] if address - (piece - back) < size else []

    def function(self, r, head, low, address):
        page = self.page
        size, name = r.number(), r.number()
        if head & page.bit(r"size; name; entry if bit 2\n\.Pq (\w+)"):
            r.signed()
        if head & page.bit(r"DW_AT_low_pc if bit 4\n\.Pq (\w+)"):
            r.signed()
        nodes, width = Table(0, []), {t: len(c) for t, c in page.columns.items()}
        if head & page.bit(r"If bit 5\n\.Pq (\w+)"):
            nodes = Table(r.number(), r.take(width["node"]))
        quantum = 1 if head & page.bit(r"With bit 6\n\.Pq (\w+)") else self.fields["quantum"]
        if address >= low + size:
            return []
        steps, place = r.number(), (0, 0, 0, 0)
        if steps == 0:
            nodes.take(r)
        else:
            scopes, bits = r.number(), r.byte()
            last = (size - 1) // quantum >> bits
            tables = [nodes, Table(last, r.take(width["page"])), Table(scopes, r.take(width["scope"])), Table(steps, r.take(width["step"])),
                      Table(steps, [bits])]
            for table in tables:
                table.take(r)
            place = self.steps(*tables[1:], (address - low) // quantum)
        assert r.at + page.slack <= len(r.data)
        node, file, line, column = place
        frames = []
        while node:
            row = nodes.row(node - 1)
            frames.append((*self.name(row[0]), *self.place(file, line, column)))
            assert row[1] < node
            node, file, line, column = row[1:5]
        return [*frames, (*self.name(name), *self.place(file, line, column))]

    @staticmethod
    def steps(pages, scopes, steps, addresses, quanta):
        """Node, file, line and column."""
        bits, found = addresses.widths[0], 0
        ends = [*(pages.row(i)[0] for i in range(pages.count)), steps.count]
        for page, end in enumerate(ends):
            for i in range(ends[page - 1] if page else 0, end):
                if (page << bits) + addresses.row(i)[0] <= quanta:
                    found = i + 1
        if found == 0:
            return 0, 0, 0, 0
        scope, line, column, _ = steps.row(found - 1)
        node, file, base = scopes.row(scope)
        return node, file, base + line, column
