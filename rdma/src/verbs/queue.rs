//! A reliable connection: a queue pair, and its completion queues.

use std::io;
use std::mem;
use std::os::fd::RawFd;
use std::ptr;
use std::sync::Arc;

use rdma_sys::{
    ibv_access_flags, ibv_comp_channel, ibv_cq, ibv_poll_cq, ibv_post_recv, ibv_post_send, ibv_qp,
    ibv_qp_attr, ibv_qp_attr_mask, ibv_qp_init_attr, ibv_qp_state, ibv_qp_type, ibv_recv_wr,
    ibv_req_notify_cq, ibv_send_wr, ibv_sge, ibv_wc, ibv_wc_status,
};

use crate::RdmaError;
use crate::verbs::device::Device;
use crate::wire::opening::QueueAddress;
use crate::wire::token::random;

/// One end. Destroyed when dropped: no transfer touches memory of ours afterwards, and the other end can change
/// nothing in this process any more.
pub struct QueuePair {
    /// Dropped before the values that it uses, which stand below.
    pair: *mut ibv_qp,
    sent: Completions,
    received: Completions,
    device: Arc<Device>,
    /// Number of the first packet that we send.
    first_packet: u32,
}

/// The capabilities of a queue pair.
#[derive(Clone, Copy)]
pub struct QueueOptions {
    /// Requests in flight at a time.
    pub sends: u32,
    /// Buffers for incoming messages.
    pub receives: u32,
    /// Whether the other end may READ and WRITE registered memory.
    pub is_served: bool,
}

/// A request that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The number that it was given.
    pub id: u64,
    /// The length of a received message.
    pub bytes: usize,
}

/// A request, or the whole connection, failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// As in `enum ibv_wc_status`; 0 if posting or polling failed.
    pub status: u32,
}

// SAFETY: the library's objects may be used from any thread; the pointers stay valid until the value is dropped.
unsafe impl Send for QueuePair {}
// SAFETY: as above.
unsafe impl Sync for QueuePair {}

impl QueuePair {
    /// Makes one that can receive nothing yet but buffers. Not for signal handlers.
    pub fn new(device: &Arc<Device>, options: QueueOptions) -> Result<QueuePair, RdmaError> {
        let sent = Completions::new(device, options.sends, false)?;
        let received = Completions::new(device, options.receives.max(1), options.receives > 0)?;
        // SAFETY: plain numbers and pointers, for which zero is a value.
        let mut wish = unsafe { mem::zeroed::<ibv_qp_init_attr>() };
        (wish.send_cq, wish.recv_cq) = (sent.queue, received.queue);
        wish.qp_type = ibv_qp_type::IBV_QPT_RC;
        (wish.cap.max_send_wr, wish.cap.max_recv_wr) = (options.sends, options.receives.max(1));
        (wish.cap.max_send_sge, wish.cap.max_recv_sge) = (1, 1);
        // SAFETY: the domain lives as long as the device; the library reads and writes the struct.
        let pair = unsafe { (device.library.create_qp)(device.domain, &mut wish) };
        if pair.is_null() {
            return Err(RdmaError::last_os("making a queue pair"));
        }
        let [a, b, c]: [u8; 3] = random()?;
        let first_packet = u32::from_le_bytes([a, b, c, 0]);
        let made = QueuePair { pair, sent, received, device: device.clone(), first_packet };
        let mut state = attributes(ibv_qp_state::IBV_QPS_INIT);
        state.port_num = device.address.port;
        if options.is_served {
            state.qp_access_flags = ibv_access_flags::IBV_ACCESS_REMOTE_READ.0
                | ibv_access_flags::IBV_ACCESS_REMOTE_WRITE.0;
        }
        let given = ibv_qp_attr_mask::IBV_QP_PKEY_INDEX.0
            | ibv_qp_attr_mask::IBV_QP_PORT.0
            | ibv_qp_attr_mask::IBV_QP_ACCESS_FLAGS.0;
        made.modify(&mut state, given)?;
        Ok(made)
    }

    /// The address that the other end has to know.
    pub fn address(&self) -> QueueAddress {
        let address = self.device.address;
        QueueAddress {
            // SAFETY: the pair lives as long as self, and its number does not change.
            number: unsafe { (*self.pair).qp_num },
            first_packet: self.first_packet,
            lid: address.lid,
            mtu: address.mtu,
            reads: self.device.reads_answered,
            gid: address.gid,
        }
    }

    /// Connects to the other end, which does the same. Then it receives, and may send.
    pub fn connect(&self, peer: &QueueAddress) -> Result<(), RdmaError> {
        let mut state = attributes(ibv_qp_state::IBV_QPS_RTR);
        state.path_mtu = u32::from(self.device.address.mtu.min(peer.mtu));
        (state.dest_qp_num, state.rq_psn) = (peer.number, peer.first_packet);
        state.max_dest_rd_atomic = self.device.reads_answered;
        state.min_rnr_timer = NOT_READY_TIMER;
        state.ah_attr.is_global = 1;
        state.ah_attr.grh.dgid.raw = peer.gid;
        state.ah_attr.grh.sgid_index = self.device.address.gid_index;
        state.ah_attr.grh.hop_limit = HOPS_MAX;
        (state.ah_attr.dlid, state.ah_attr.port_num) = (peer.lid, self.device.address.port);
        let given = ibv_qp_attr_mask::IBV_QP_AV.0
            | ibv_qp_attr_mask::IBV_QP_PATH_MTU.0
            | ibv_qp_attr_mask::IBV_QP_DEST_QPN.0
            | ibv_qp_attr_mask::IBV_QP_RQ_PSN.0
            | ibv_qp_attr_mask::IBV_QP_MAX_DEST_RD_ATOMIC.0
            | ibv_qp_attr_mask::IBV_QP_MIN_RNR_TIMER.0;
        self.modify(&mut state, given)?;

        let mut state = attributes(ibv_qp_state::IBV_QPS_RTS);
        (state.timeout, state.retry_cnt) = (ACKNOWLEDGE_TIMER, RETRIES);
        (state.rnr_retry, state.sq_psn) = (NOT_READY_FOREVER, self.first_packet);
        state.max_rd_atomic = self.device.reads_asked.min(peer.reads);
        let given = ibv_qp_attr_mask::IBV_QP_TIMEOUT.0
            | ibv_qp_attr_mask::IBV_QP_RETRY_CNT.0
            | ibv_qp_attr_mask::IBV_QP_RNR_RETRY.0
            | ibv_qp_attr_mask::IBV_QP_SQ_PSN.0
            | ibv_qp_attr_mask::IBV_QP_MAX_QP_RD_ATOMIC.0;
        self.modify(&mut state, given)
    }

    /// Begins a list of requests, in their order. Async-signal-safe: the provider takes a spin lock of this pair,
    /// and some one of the device for the moment of ringing its bell; no thread is interrupted by a fault within,
    /// since providers do not touch far memory.
    ///
    /// # Safety
    /// The list and the memory that it names are valid; memory that is to be read or written stays so until
    /// the request is done, or this pair is dropped.
    pub unsafe fn post(&self, first: *mut ibv_send_wr) -> Result<(), Failed> {
        let mut bad = ptr::null_mut();
        // SAFETY: the caller vouches for the list, and the pair lives as long as self.
        let rc = unsafe { ibv_post_send(self.pair, first, &mut bad) };
        if rc == 0 { Ok(()) } else { Err(Failed { status: 0 }) }
    }

    /// Posts a buffer for an incoming message.
    ///
    /// # Safety
    /// The memory that the element names is registered, and used by no other thread until a message came into
    /// it or this pair is dropped.
    pub unsafe fn post_receive(&self, id: u64, mut element: ibv_sge) -> Result<(), Failed> {
        let next = ptr::null_mut();
        let mut request = ibv_recv_wr { wr_id: id, next, sg_list: &raw mut element, num_sge: 1 };
        let mut bad = ptr::null_mut();
        // SAFETY: the provider copies request and element; the caller vouches for the memory.
        let rc = unsafe { ibv_post_recv(self.pair, &mut request, &mut bad) };
        if rc == 0 { Ok(()) } else { Err(Failed { status: 0 }) }
    }

    /// The next request that is done, if there is one. Async-signal-safe like [`post`](Self::post).
    pub fn poll_sent(&self) -> Result<Option<Done>, Failed> {
        self.sent.poll()
    }

    /// The next message that came in, if there is one.
    pub fn poll_received(&self) -> Result<Option<Done>, Failed> {
        self.received.poll()
    }

    /// Becomes readable when something comes in after [`arm`](Self::arm).
    pub fn event_fd(&self) -> RawFd {
        // SAFETY: a pair with receives has a channel, which lives as long as self.
        unsafe { (*self.received.events).fd }
    }

    /// Asks for an event for messages that come in from now on; earlier ones must be polled once more. One thread
    /// only.
    pub fn arm(&self) -> Result<(), RdmaError> {
        self.received.forget_events();
        // SAFETY: the queue lives as long as self.
        if unsafe { ibv_req_notify_cq(self.received.queue, 0) } != 0 {
            return Err(RdmaError::last_os("asking for completion events"));
        }
        Ok(())
    }

    fn modify(&self, state: &mut ibv_qp_attr, given: u32) -> Result<(), RdmaError> {
        let given = given | ibv_qp_attr_mask::IBV_QP_STATE.0;
        // SAFETY: the library reads the struct; the pair lives as long as self.
        let rc = unsafe { (self.device.library.modify_qp)(self.pair, state, given as i32) };
        if rc == 0 {
            return Ok(());
        }
        let source = io::Error::from_raw_os_error(rc);
        Err(RdmaError::Os { what: "changing the state of a queue pair", source })
    }
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        // SAFETY: made by the library, and dropped once; its queues are dropped after this.
        unsafe { (self.device.library.destroy_qp)(self.pair) };
    }
}

/// A completion queue, maybe with events.
struct Completions {
    queue: *mut ibv_cq,
    /// Null without events.
    events: *mut ibv_comp_channel,
    device: Arc<Device>,
}

impl Completions {
    fn new(device: &Arc<Device>, entries: u32, has_events: bool) -> Result<Completions, RdmaError> {
        let mut events = ptr::null_mut();
        if has_events {
            // SAFETY: the device is open.
            events = unsafe { (device.library.create_comp_channel)(device.context) };
            if events.is_null() {
                return Err(RdmaError::last_os("making a completion channel"));
            }
            // SAFETY: the library just made it; no memory is involved.
            unsafe { libc::fcntl((*events).fd, libc::F_SETFL, libc::O_NONBLOCK) };
        }
        let none = ptr::null_mut();
        // SAFETY: the device is open, and the channel lives as long as the queue.
        let queue =
            unsafe { (device.library.create_cq)(device.context, entries as i32, none, events, 0) };
        let made = Completions { queue, events, device: device.clone() };
        if queue.is_null() {
            return Err(RdmaError::last_os("making a completion queue"));
        }
        Ok(made)
    }

    fn poll(&self) -> Result<Option<Done>, Failed> {
        // SAFETY: plain numbers, for which zero is a value.
        let mut done = unsafe { mem::zeroed::<ibv_wc>() };
        // SAFETY: the provider writes at most one entry; the queue lives as long as self.
        match unsafe { ibv_poll_cq(self.queue, 1, &mut done) } {
            0 => Ok(None),
            1 if done.status == ibv_wc_status::IBV_WC_SUCCESS => {
                Ok(Some(Done { id: done.wr_id, bytes: done.byte_len as usize }))
            }
            1 => Err(Failed { status: done.status }),
            _ => Err(Failed { status: 0 }),
        }
    }

    /// Takes the events that came.
    fn forget_events(&self) {
        let (mut queue, mut context) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the channel lives as long as self; it does not block.
        while unsafe { (self.device.library.get_cq_event)(self.events, &mut queue, &mut context) }
            == 0
        {
            // SAFETY: the only queue of the channel.
            unsafe { (self.device.library.ack_cq_events)(self.queue, 1) };
        }
    }
}

impl Drop for Completions {
    fn drop(&mut self) {
        // SAFETY: made by the library, and dropped once, after the pair that used it; all its events are
        // acknowledged.
        unsafe {
            if !self.queue.is_null() {
                (self.device.library.destroy_cq)(self.queue);
            }
            if !self.events.is_null() {
                (self.device.library.destroy_comp_channel)(self.events);
            }
        }
    }
}

fn attributes(state: u32) -> ibv_qp_attr {
    // SAFETY: plain numbers, for which zero is a value.
    let mut attributes = unsafe { mem::zeroed::<ibv_qp_attr>() };
    attributes.qp_state = state;
    attributes
}

/// 4.096 us times 2 to the 16th, 0.27 s: how long a packet waits for its acknowledgement.
const ACKNOWLEDGE_TIMER: u8 = 16;
/// So a connection breaks 2 s after the other end has gone silent, on devices that take a multiple of that at
/// most 8 s.
const RETRIES: u8 = 7;
/// 0.64 ms until a sender that found no buffer retries.
const NOT_READY_TIMER: u8 = 12;
/// It retries without limit; its own deadline ends that.
const NOT_READY_FOREVER: u8 = 7;
const HOPS_MAX: u8 = 64;
