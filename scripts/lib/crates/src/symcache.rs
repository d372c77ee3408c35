// Builds a symcache of an object file and looks addresses up in it:
//
//   symcache build OBJECT CACHE
//   symcache look CACHE ROUNDS [names] < ADDRESSES    as offsets from the image's start, in hexadecimal, one a line
//
// Prints the milliseconds that it took to build, or the nanoseconds a look-up and the number of frames. names: functions and lines are asked for,
// and no paths, which symcache puts together at each look-up.
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::Instant;

use symbolic_common::ByteView;
use symbolic_debuginfo::Object;
use symbolic_symcache::{SymCache, SymCacheConverter};

fn build(object: &str, cache: &str) -> Result<(), Box<dyn std::error::Error>> {
    let begin = Instant::now();
    let bytes = ByteView::open(object)?;
    let object = Object::parse(&bytes)?;
    let mut converter = SymCacheConverter::new();
    converter.process_object(&object)?;
    let mut out = std::io::BufWriter::new(std::fs::File::create(cache)?);
    converter.serialize(&mut out)?;
    out.flush()?;
    println!("{:.3} {:x}", begin.elapsed().as_secs_f64() * 1e3, object.load_address());
    Ok(())
}

fn look(cache: &str, rounds: usize, paths: bool) -> Result<(), Box<dyn std::error::Error>> {
    let mut addresses = Vec::new();
    for line in std::io::stdin().lock().lines() {
        addresses.push(u64::from_str_radix(line?.trim(), 16)?);
    }
    let bytes = ByteView::open(cache)?;
    let cache = SymCache::parse(&bytes)?;
    let (begin, mut frames) = (Instant::now(), 0usize);
    for _ in 0..rounds {
        for &address in &addresses {
            for source in cache.lookup(address) {
                let path = if paths { source.file().map(|f| f.full_path()) } else { None };
                black_box((source.function().name(), source.line(), path));
                frames += 1;
            }
        }
    }
    let took = begin.elapsed().as_secs_f64() * 1e9;
    println!("{:.1} {}", took / (rounds * addresses.len()) as f64, frames / rounds);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[1..] {
        ["build", object, cache] => build(object, cache),
        ["look", cache, rounds] => look(cache, rounds.parse()?, true),
        ["look", cache, rounds, "names"] => look(cache, rounds.parse()?, false),
        _ => Err("usage: symcache build OBJECT CACHE | symcache look CACHE ROUNDS [names]".into()),
    }
}
