//! Boots a VM in this process: for debugging start-up without a launcher.
fn main() {
    let options = jvm::options::Options {
        java_home: "/usr/lib/jvm/java-17-openjdk-amd64".into(),
        properties: vec![],
        heap: gc::options::HeapOptions { max_bytes: 1 << 30, ..Default::default() },
        stack_bytes: 1 << 20,
        arguments: vec![],
        verify_remote: true,
        verify_boot: false,
        enable_preview: false,
        log_class_load: std::env::var_os("LOG_LOAD").is_some(),
        log_gc: false,
    };
    match jvm::boot::create_vm(options) {
        Ok(t) => println!("booted in {:.3} s", t.vm.uptime_s()),
        Err(e) => println!("failed: {e}"),
    }
}
