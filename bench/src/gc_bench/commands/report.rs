//! `gc-bench report`: the table of stored measurements, and the page with pictures.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::gc_bench::manifest::Manifest;
use crate::gc_bench::row::{self, ROWS, Row};
use crate::gc_bench::{compare, fault_places, report, table};

/// Print the table of stored measurements, or write a page with pictures
#[derive(Args)]
pub struct Options {
    /// The folder of a run
    folder: PathBuf,
    /// Write report.html, a self-contained page, to the folder, and its pictures as SVG files
    #[arg(long)]
    html: bool,
}

/// Prints the table, and writes the page if that is asked for; always true.
pub fn run(options: &Options, manifest: &Path) -> io::Result<bool> {
    let manifest = Manifest::read(manifest)?;
    let rows = row::read(&options.folder.join(ROWS))?;
    let places = fault_places::render(&rows);
    base::print_part(format_args!("{}{places}", tabulated(&rows, &manifest)));
    if options.html {
        page(&options.folder, &rows, &manifest)?;
    }
    Ok(true)
}

/// Writes the page and its pictures into the folder of a run.
pub fn page(folder: &Path, rows: &[Row], manifest: &Manifest) -> io::Result<()> {
    let path = report::write(folder, rows, manifest)?;
    let pictures = report::write_pictures(folder, rows, manifest)?;
    base::print(format_args!(
        "the report is {}, with its {pictures} pictures in the same folder",
        path.display()
    ));
    Ok(())
}

/// The table of these rows. Peers stand first, the others in the order of their names.
pub fn tabulated(rows: &[Row], manifest: &Manifest) -> String {
    let mut contenders: Vec<String> = rows.iter().map(|row| row.contender.clone()).collect();
    contenders.sort_by_key(|name| (!name.starts_with("hotspot"), name.clone()));
    contenders.dedup();
    let names = manifest.workloads.iter().map(|workload| workload.name.clone());
    let workloads: Vec<String> =
        names.filter(|name| rows.iter().any(|row| row.workload == *name)).collect();
    let mut text = table::render(rows, manifest, &workloads, &contenders);
    let again = compare::again(rows, manifest);
    if !again.is_empty() {
        text += &format!("the same measured twice: {}\n", compare::summary(&again));
    }
    text
}
