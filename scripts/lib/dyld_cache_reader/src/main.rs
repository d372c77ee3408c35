//! Lists the images of a dyld shared cache, and the symbols of their code, as the crate `object` reads them: a line
//! "image PATH UUID", then for each symbol "symbol OFFSET NAME" and for each export "export OFFSET NAME", with tabs; OFFSET counts from the
//! image's header.

use object::read::macho::DyldCache;
use object::{Endianness, ExportTarget, NameOrOrdinal, Object, ObjectSection, ObjectSegment, ObjectSymbol, SectionKind};
use std::{env, error::Error, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("usage: dyld-cache-list CACHE")?;
    let main = fs::read(&path)?;
    let suffixes = DyldCache::<Endianness>::subcache_suffixes(&*main)?;
    let files = suffixes.iter().map(|suffix| fs::read(format!("{path}{suffix}"))).collect::<Result<Vec<_>, _>>()?;
    let parts: Vec<&[u8]> = files.iter().map(|file| &**file).collect();
    let cache = DyldCache::<Endianness>::parse(&*main, &parts)?;
    let mut seen = std::collections::HashSet::new();
    for image in cache.images() {
        let object = image.parse_object()?;
        let uuid = object.mach_uuid()?.ok_or("an image without a UUID")?;
        let hex: String = uuid.iter().map(|byte| format!("{byte:02X}")).collect();
        if !seen.insert(hex.clone()) {
            continue; // another name for one image
        }
        println!("image\t{}\t{hex}", image.path()?);
        let base = object.segments().find(|s| s.name() == Ok(Some("__TEXT"))).ok_or("no __TEXT")?.address();
        for symbol in object.symbols() {
            let code = symbol.section_index().and_then(|index| object.section_by_index(index).ok());
            if code.is_some_and(|section| section.kind() == SectionKind::Text) {
                println!("symbol\t{:x}\t{}", symbol.address() - base, symbol.name()?);
            }
        }
        for export in object.exports()? {
            let export = export?;
            if let (ExportTarget::Address { address }, NameOrOrdinal::Name(name)) = (export.target(), export.name()) {
                println!("export\t{:x}\t{}", address - base, String::from_utf8_lossy(name));
            }
        }
    }
    Ok(())
}
