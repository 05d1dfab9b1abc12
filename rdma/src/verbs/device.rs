//! One port of an RDMA device, opened.

use std::ffi::{CStr, c_int};
use std::fs;
use std::io;
use std::mem;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use rdma_sys::{
    ibv_access_flags, ibv_context, ibv_device, ibv_device_attr, ibv_gid, ibv_mr, ibv_pd,
    ibv_port_attr, ibv_port_state,
};

use crate::RdmaError;
use crate::verbs::library::Library;
use crate::verbs::registered_blocks::raise_lock_limit;

/// A device in use, and which of its ports and addresses. Every session opens its own: memory that one
/// registers no other can reach, since keys count within one protection domain only.
pub struct Device {
    pub library: &'static Library,
    pub context: *mut ibv_context,
    pub domain: *mut ibv_pd,
    pub address: PortAddress,
    /// READs of the other side that a queue pair answers at a time.
    pub reads_answered: u8,
    /// READs of ours that may be in flight at a time.
    pub reads_asked: u8,
}

/// Where a device is in its network.
#[derive(Clone, Copy, Debug)]
pub struct PortAddress {
    pub port: u8,
    pub gid: [u8; 16],
    pub gid_index: u8,
    /// 0 on Ethernet.
    pub lid: u16,
    /// As verbs encode it: 1 for 256 bytes to 5 for 4096.
    pub mtu: u8,
}

// SAFETY: the library's objects may be used from any thread (its manual says so of all of them); the pointers stay
// valid until the value is dropped.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

impl Device {
    /// Opens the device that has the address `near`. On InfiniBand, whose addresses are no IP addresses, and for a
    /// loopback address, the first port that is up. Asks the system; may block for as long as that.
    pub fn open(near: IpAddr) -> Result<Arc<Device>, RdmaError> {
        let library = Library::load()?;
        // Buffers alone need more than the usual soft limit where there are many servers.
        raise_lock_limit();
        let list = DeviceList::new(library)?;
        let mut fallback = None;
        for &device in list.devices() {
            // SAFETY: an entry of the list, which lives until the end of this function.
            let Some(opened) = (unsafe { OpenDevice::open(library, device) }) else { continue };
            for (address, is_ip) in opened.addresses() {
                if is_ip && address.gid == gid_of(near) {
                    return opened.finish(address);
                }
                if near.is_loopback() || !is_ip {
                    fallback.get_or_insert((device, address));
                }
            }
        }
        let Some((device, address)) = fallback else {
            let missing = match list.devices().len() {
                0 => "this machine has no RDMA device (ibv_devices lists them)".into(),
                _ => format!("no RDMA device of this machine is up and has the address {near}"),
            };
            return Err(RdmaError::NoVerbs(missing));
        };
        // SAFETY: as above.
        let opened = unsafe { OpenDevice::open(library, device) };
        opened.ok_or_else(|| RdmaError::last_os("opening an RDMA device"))?.finish(address)
    }

    /// Registers `bytes` of memory from `start` on, which the other side, if it may, names by addresses from `iova`
    /// on. Pins the memory.
    ///
    /// # Safety
    /// The memory is mapped, readable and writable, until the registration is dropped; any other use of it is by
    /// atomic accesses, or while no transfer is known to be in flight.
    pub unsafe fn register(
        self: &Arc<Device>,
        start: *mut u8,
        bytes: usize,
        iova: u64,
        for_peer: bool,
    ) -> Result<Registration, RdmaError> {
        let mut access = ibv_access_flags::IBV_ACCESS_LOCAL_WRITE.0;
        if for_peer {
            access |= ibv_access_flags::IBV_ACCESS_REMOTE_READ.0;
            access |= ibv_access_flags::IBV_ACCESS_REMOTE_WRITE.0;
        }
        // SAFETY: the caller vouches for the memory; the domain lives as long as self.
        let region = unsafe {
            (self.library.reg_mr_iova)(self.domain, start.cast(), bytes, iova, access as c_int)
        };
        if region.is_null() {
            return Err(RdmaError::last_os("registering memory (is `ulimit -l` too low?)"));
        }
        Ok(Registration { device: self.clone(), region })
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: everything that was made from them held a reference to this value, so it has been dropped.
        unsafe {
            (self.library.dealloc_pd)(self.domain);
            (self.library.close_device)(self.context);
        }
    }
}

/// Memory that the device may read and write.
pub struct Registration {
    device: Arc<Device>,
    region: *mut ibv_mr,
}

// SAFETY: as for Device.
unsafe impl Send for Registration {}
// SAFETY: as for Device.
unsafe impl Sync for Registration {}

impl Registration {
    /// The key by which the own side names it.
    pub fn local_key(&self) -> u32 {
        // SAFETY: lives as long as self, and is never written.
        unsafe { (*self.region).lkey }
    }

    /// The key by which the other side names it.
    pub fn remote_key(&self) -> u32 {
        // SAFETY: as above.
        unsafe { (*self.region).rkey }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: made by the library, and dropped once.
        unsafe { (self.device.library.dereg_mr)(self.region) };
    }
}

/// The devices of this machine.
struct DeviceList {
    library: &'static Library,
    list: *mut *mut ibv_device,
    count: usize,
}

impl DeviceList {
    fn new(library: &'static Library) -> Result<DeviceList, RdmaError> {
        let mut count = 0;
        // SAFETY: the library writes one integer.
        let list = unsafe { (library.get_device_list)(&mut count) };
        if list.is_null() {
            let reason = format!("no RDMA devices: {}", io::Error::last_os_error());
            return Err(RdmaError::NoVerbs(reason));
        }
        Ok(DeviceList { library, list, count: usize::try_from(count).unwrap_or(0) })
    }

    fn devices(&self) -> &[*mut ibv_device] {
        // SAFETY: the library made an array of `count` entries, which lives as long as self.
        unsafe { std::slice::from_raw_parts(self.list, self.count) }
    }
}

impl Drop for DeviceList {
    fn drop(&mut self) {
        // SAFETY: made by the library, and dropped once.
        unsafe { (self.library.free_device_list)(self.list) };
    }
}

/// A device that is being looked at.
struct OpenDevice {
    library: &'static Library,
    name: String,
    context: *mut ibv_context,
}

impl OpenDevice {
    /// `None`: it may not be opened.
    ///
    /// # Safety
    /// `device` is an entry of a list that was not freed.
    unsafe fn open(library: &'static Library, device: *mut ibv_device) -> Option<OpenDevice> {
        // SAFETY: the caller vouches for the device; its name is a C string that lives as long.
        let name = unsafe { CStr::from_ptr((library.get_device_name)(device)) };
        let name = name.to_string_lossy().into_owned();
        // SAFETY: the caller vouches for the device.
        let context = unsafe { (library.open_device)(device) };
        (!context.is_null()).then_some(OpenDevice { library, name, context })
    }

    fn attributes(&self) -> Option<ibv_device_attr> {
        // SAFETY: plain numbers, for which zero is a value.
        let mut attributes = unsafe { mem::zeroed::<ibv_device_attr>() };
        // SAFETY: the library fills the struct.
        let rc = unsafe { (self.library.query_device)(self.context, &mut attributes) };
        (rc == 0).then_some(attributes)
    }

    /// The addresses of all ports that are up, and whether each is an IP address.
    fn addresses(&self) -> Vec<(PortAddress, bool)> {
        let ports = self.attributes().map_or(0, |attributes| attributes.phys_port_cnt);
        let mut addresses = Vec::new();
        for port in 1..=ports {
            // SAFETY: plain numbers, for which zero is a value. The library fills the beginning of it.
            let mut state = unsafe { mem::zeroed::<ibv_port_attr>() };
            let pointer = (&raw mut state).cast();
            // SAFETY: the library fills a struct that is no longer than this one.
            let rc = unsafe { (self.library.query_port)(self.context, port, pointer) };
            if rc != 0 || state.state != ibv_port_state::IBV_PORT_ACTIVE {
                continue;
            }
            let is_ethernet = state.link_layer == LINK_LAYER_ETHERNET;
            for index in 0..state.gid_tbl_len.clamp(0, GIDS_MAX) {
                let mut gid = ibv_gid { raw: [0; 16] };
                // SAFETY: the library fills 16 bytes.
                let rc = unsafe { (self.library.query_gid)(self.context, port, index, &mut gid) };
                // SAFETY: every pattern of bits is one of bytes.
                let gid = unsafe { gid.raw };
                let is_usable = !is_ethernet || self.is_routable(port, index);
                if rc == 0 && gid != [0; 16] && is_usable {
                    let mtu = state.active_mtu.clamp(1, 5) as u8;
                    let gid_index = index as u8;
                    let address = PortAddress { port, gid, gid_index, lid: state.lid, mtu };
                    addresses.push((address, is_ethernet));
                }
            }
        }
        // An IPv4 address before the link-local ones that every port has.
        addresses.sort_by_key(|(address, _)| !address.gid.starts_with(&V4_PREFIX));
        addresses
    }

    /// Whether it is an address of RoCE's second version, which travels in UDP.
    fn is_routable(&self, port: u8, index: i32) -> bool {
        let path: PathBuf =
            ["/sys/class/infiniband", &self.name, "ports", &port.to_string()].iter().collect();
        let kind = fs::read_to_string(path.join("gid_attrs/types").join(index.to_string()));
        kind.is_ok_and(|kind| kind.trim() == "RoCE v2")
    }

    fn finish(mut self, address: PortAddress) -> Result<Arc<Device>, RdmaError> {
        let attributes = self.attributes();
        let attributes = attributes
            .ok_or_else(|| RdmaError::last_os("querying the limits of an RDMA device"))?;
        // SAFETY: the device is open.
        let domain = unsafe { (self.library.alloc_pd)(self.context) };
        if domain.is_null() {
            return Err(RdmaError::last_os("a protection domain"));
        }
        let (library, context) = (self.library, self.context);
        // From now on the device belongs to the new value.
        drop(mem::take(&mut self.name));
        mem::forget(self);
        let limited = |count: i32| count.clamp(1, READS_MAX) as u8;
        Ok(Arc::new(Device {
            library,
            context,
            domain,
            address,
            reads_answered: limited(attributes.max_qp_rd_atom),
            reads_asked: limited(attributes.max_qp_init_rd_atom),
        }))
    }
}

impl Drop for OpenDevice {
    fn drop(&mut self) {
        // SAFETY: opened by us, and nothing was made from it.
        unsafe { (self.library.close_device)(self.context) };
    }
}

/// The address of a RoCE port that has this IP address.
fn gid_of(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

/// How IPv4 addresses begin that are written as IPv6 addresses.
const V4_PREFIX: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
const LINK_LAYER_ETHERNET: u8 = 2;
/// Addresses of a port that are looked at; their index is one byte.
const GIDS_MAX: i32 = 255;
/// READs in flight at a time, on one queue pair. More gain nothing: one READ moves up to 256 KiB.
const READS_MAX: i32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_roce_does() {
        let gid = gid_of("10.1.2.3".parse().unwrap());
        assert_eq!(gid, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3]);
        assert!(gid.starts_with(&V4_PREFIX));
        assert_eq!(gid_of("::1".parse().unwrap())[15], 1);
    }

    #[test]
    fn an_address_that_no_device_has_is_an_error() {
        let error = Device::open("192.0.2.1".parse().unwrap()).map(drop).unwrap_err();
        assert!(matches!(error, RdmaError::NoVerbs(_)), "{error}");
    }
}
