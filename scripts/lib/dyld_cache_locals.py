#!/usr/bin/env python3
"""Lists the local symbols of a dyld shared cache as the package dyldextractor reads them: for scripts/test/dyld-cache, under a python3 that has
it.

usage: dyld_cache_locals.py CACHE    prints for each image "image UUID", then for each symbol "local OFFSET NAME", with tabs
"""
import logging
import pathlib
import sys

import progressbar
from DyldExtractor.converter.linkedit_optimizer import _LinkeditOptimizer
from DyldExtractor.dyld.dyld_context import DyldContext
from DyldExtractor.dyld.dyld_structs import dyld_cache_local_symbols_info
from DyldExtractor.extraction_context import ExtractionContext
from DyldExtractor.macho.macho_context import MachOContext
from DyldExtractor.macho.macho_structs import LoadCommands, nlist_64


def list_image(cache, address):
    offset, context = cache.convertAddr(address)
    image = MachOContext(context.fileObject, offset)
    if cache.hasSubCaches():
        image.addSubfiles(next(m for m, c in cache.mappings if c == context), cache.mappings)
    uuid = next(command.uuid for command in image.loadCommands if command.cmd == LoadCommands.LC_UUID)
    print("image\t%s" % bytes(uuid).hex().upper())
    symbols = cache.getSymbolsCache()
    if not symbols.header.localSymbolsOffset:
        return
    info = dyld_cache_local_symbols_info(symbols.file, symbols.header.localSymbolsOffset)
    reader = _LinkeditOptimizer(ExtractionContext(cache, image, progressbar.NullBar(), logging.getLogger()))
    entry = reader.getLocalSymsEntry(symbols, info)
    for i in range(entry.nlistStartIndex, entry.nlistStartIndex + entry.nlistCount) if entry else []:
        symbol = nlist_64(symbols.file, info._fileOff_ + info.nlistOffset + i * nlist_64.SIZE)
        name = bytes(symbols.readString(info._fileOff_ + info.stringsOffset + symbol.n_strx)).rstrip(b"\0")
        print("local\t%x\t%s" % (symbol.n_value - address, name.decode()))


def main():
    path = pathlib.Path(sys.argv[1])
    with open(path, "rb") as file:
        cache = DyldContext(file)
        cache.addSubCaches(path)
        for address in dict.fromkeys(image.address for image in cache.images):
            list_image(cache, address)


main()
