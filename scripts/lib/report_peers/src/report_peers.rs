//! What other readers make of a text report: "crash FILE" prints "THREAD ADDRESS" for each frame and "image ADDRESS UUID" for each image,
//! "sample FILE" and "perf FILE" print folded stacks.
use inferno::collapse::{perf, sample, Collapse};
use std::error::Error;
use std::io::{stdout, Write};

fn crash(path: &str) -> Result<(), Box<dyn Error>> {
    let text = std::fs::read(path)?;
    let report: apple_crash_report_parser::AppleCrashReport = String::from_utf8_lossy(&text).parse()?;
    let mut out = stdout().lock();
    for thread in &report.threads {
        for frame in &thread.frames {
            writeln!(out, "{} {}", thread.id, frame.instruction_addr.0)?;
        }
    }
    for image in &report.binary_images {
        writeln!(out, "image {} {}", image.addr.0, image.uuid)?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let path = args.get(2).map_or("", String::as_str);
    match args.get(1).map_or("", String::as_str) {
        "crash" => crash(path),
        "sample" => Ok(sample::Folder::default().collapse_file(Some(path), stdout())?),
        "perf" => Ok(perf::Folder::default().collapse_file(Some(path), stdout())?),
        _ => Err("usage: report_peers crash|sample|perf FILE".into()),
    }
}
