//! Options that may be changed while the VM runs: by `jinfo -flag`, `jcmd PID VM.set_flag` and
//! `HotSpotDiagnosticMXBean.setVMOption`.

use base::options;
use std::path::PathBuf;

options! {
    /// See the module text. Those of the command line are a field of [`Options`](super::Options).
    #[derive(Clone, Debug)]
    pub struct ManageableOptions, "manageable" {
        /// The first OutOfMemoryError of the VM writes a heap dump.
        pub dump_heap_on_out_of_memory: bool as Switch = false, "HeapDumpOnOutOfMemoryError", Product;
        /// File or folder for heap dumps that an OutOfMemoryError causes. Not set: java_pidN.hprof in the working
        /// folder.
        pub heap_dump_path: Option<PathBuf> as File = None, "HeapDumpPath", Product;
        /// How well heap dumps that an OutOfMemoryError causes are compressed. 0: not at all.
        pub heap_dump_gzip_level: u32 as Count = 0, "HeapDumpGzipLevel" in 0..=9, Product;
        /// The thread dump on SIGQUIT lists the ownable synchronizers that threads hold.
        pub prints_synchronizers: bool as Switch = false, "PrintConcurrentLocks", Product;
    }
}
