//! `JVM_GetManagement`: the table of functions behind `java.lang.management`.
//!
//! The JDK's libmanagement and libmanagement_ext ask for it once and call through it. Layout and numbers are
//! those of the JDK's `jmm.h`, version 3.

mod attributes;
mod beans;
mod commands;
mod flags;
mod low_memory;
mod notifications;
mod threads;

use crate::ffi::types::jint;
use crate::threads::blocking;
use libc::c_void;

pub use beans::Beans;

/// `struct jmmInterface_1_`: a function pointer each.
#[repr(C)]
struct Interface {
    reserved1: *const c_void,
    reserved2: *const c_void,
    get_version: *const c_void,
    get_optional_support: *const c_void,
    get_thread_info: *const c_void,
    get_memory_pools: *const c_void,
    get_memory_managers: *const c_void,
    get_memory_pool_usage: *const c_void,
    get_peak_memory_pool_usage: *const c_void,
    get_one_thread_allocated_memory: *const c_void,
    get_thread_allocated_memory: *const c_void,
    get_memory_usage: *const c_void,
    get_long_attribute: *const c_void,
    get_bool_attribute: *const c_void,
    set_bool_attribute: *const c_void,
    get_long_attributes: *const c_void,
    find_circular_blocked_threads: *const c_void,
    get_thread_cpu_time: *const c_void,
    get_vm_global_names: *const c_void,
    get_vm_globals: *const c_void,
    get_internal_thread_times: *const c_void,
    reset_statistic: *const c_void,
    set_pool_sensor: *const c_void,
    set_pool_threshold: *const c_void,
    get_pool_collection_usage: *const c_void,
    get_gc_ext_attribute_info: *const c_void,
    get_last_gc_stat: *const c_void,
    get_thread_cpu_time_with_kind: *const c_void,
    get_thread_cpu_times_with_kind: *const c_void,
    dump_heap: *const c_void,
    find_deadlocks: *const c_void,
    set_vm_global: *const c_void,
    get_total_thread_allocated_memory: *const c_void,
    dump_threads: *const c_void,
    set_gc_notification_enabled: *const c_void,
    get_diagnostic_commands: *const c_void,
    get_diagnostic_command_info: *const c_void,
    get_diagnostic_command_arguments_info: *const c_void,
    execute_diagnostic_command: *const c_void,
    set_diagnostic_framework_notification_enabled: *const c_void,
}

// SAFETY: function addresses, which any thread may call.
unsafe impl Sync for Interface {}

static INTERFACE: Interface = Interface {
    reserved1: std::ptr::null(),
    reserved2: std::ptr::null(),
    get_version: attributes::version as *const c_void,
    get_optional_support: attributes::optional_support as *const c_void,
    get_thread_info: threads::thread_info as *const c_void,
    get_memory_pools: beans::memory_pools as *const c_void,
    get_memory_managers: beans::memory_managers as *const c_void,
    get_memory_pool_usage: beans::pool_usage as *const c_void,
    get_peak_memory_pool_usage: beans::peak_pool_usage as *const c_void,
    get_one_thread_allocated_memory: threads::allocated_memory as *const c_void,
    get_thread_allocated_memory: threads::allocated_memories as *const c_void,
    get_memory_usage: beans::memory_usage as *const c_void,
    get_long_attribute: attributes::long_attribute as *const c_void,
    get_bool_attribute: attributes::bool_attribute as *const c_void,
    set_bool_attribute: attributes::set_bool_attribute as *const c_void,
    get_long_attributes: attributes::long_attributes as *const c_void,
    find_circular_blocked_threads: blocking::circular as *const c_void,
    get_thread_cpu_time: threads::cpu_time as *const c_void,
    get_vm_global_names: flags::names as *const c_void,
    get_vm_globals: flags::values as *const c_void,
    get_internal_thread_times: attributes::internal_thread_times as *const c_void,
    reset_statistic: beans::reset_statistic as *const c_void,
    set_pool_sensor: beans::set_pool_sensor as *const c_void,
    set_pool_threshold: beans::set_pool_threshold as *const c_void,
    get_pool_collection_usage: beans::collection_usage as *const c_void,
    get_gc_ext_attribute_info: beans::gc_attribute_info as *const c_void,
    get_last_gc_stat: beans::last_gc as *const c_void,
    get_thread_cpu_time_with_kind: threads::cpu_time_of_kind as *const c_void,
    get_thread_cpu_times_with_kind: threads::cpu_times_of_kind as *const c_void,
    dump_heap: attributes::dump_heap as *const c_void,
    find_deadlocks: blocking::deadlocks as *const c_void,
    set_vm_global: flags::set as *const c_void,
    get_total_thread_allocated_memory: threads::total_allocated_memory as *const c_void,
    dump_threads: threads::dump as *const c_void,
    set_gc_notification_enabled: beans::set_notification as *const c_void,
    get_diagnostic_commands: commands::names as *const c_void,
    get_diagnostic_command_info: commands::infos as *const c_void,
    get_diagnostic_command_arguments_info: commands::parameters as *const c_void,
    execute_diagnostic_command: commands::execute as *const c_void,
    set_diagnostic_framework_notification_enabled: attributes::ignore as *const c_void,
};

#[unsafe(no_mangle)]
extern "C" fn JVM_GetManagement(version: jint) -> *const c_void {
    match version {
        VERSION_3 => std::ptr::from_ref(&INTERFACE).cast(),
        _ => std::ptr::null(),
    }
}

const VERSION_3: jint = 0x2003_0000;

const _: () = assert!(std::mem::offset_of!(Interface, get_version) == 0x10);
const _: () = assert!(std::mem::offset_of!(Interface, get_total_thread_allocated_memory) == 0x100);
