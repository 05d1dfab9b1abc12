//! `gc-bench explain`: all that is known of one workload.

use std::io;
use std::path::Path;

use clap::Args;

use crate::gc_bench::class_path::Libraries;
use crate::gc_bench::manifest::Manifest;

/// Show the description and the sizes of a workload
#[derive(Args)]
pub struct Options {
    workload: String,
}

/// Prints what the manifest says of the workload; always true.
pub fn run(options: &Options, manifest: &Path) -> io::Result<bool> {
    let manifest = Manifest::read(manifest)?;
    let name = &options.workload;
    let workload = manifest.find(name)?;
    base::print(format_args!("{name}: {}", workload.about));
    for source in &workload.sources {
        base::print(format_args!("  source      {}", manifest.folder.join(source).display()));
    }
    base::print(format_args!("  main class  {}", workload.main));
    base::print(format_args!("  threads     {}", workload.threads));
    base::print(format_args!("  phases      {}", workload.phases.join(" ")));
    base::print(format_args!("  compared by {}", workload.metric));
    if !workload.packages.is_empty() {
        base::print(format_args!("  packages    {}", workload.packages.join(" ")));
    }
    match Libraries::find()?.class_path(workload) {
        Ok(files) => files
            .iter()
            .for_each(|file| base::print(format_args!("  library     {}", file.display()))),
        Err(error) => base::print(format_args!("  library     {error}")),
    }
    for (size, sizing) in &workload.sizes {
        base::print(format_args!(
            "  {size:10}  heap {}, live {}, arguments {}, result {}",
            sizing.heap,
            sizing.live,
            sizing.arguments,
            sizing.output.as_deref().unwrap_or("(a peer's)")
        ));
    }
    base::print(format_args!("  options     {}", workload.options.join(" ")));
    Ok(true)
}
