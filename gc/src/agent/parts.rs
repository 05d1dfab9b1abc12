//! Messages of any length, over channels that carry [`rdma::MESSAGE_BYTES_MAX`] bytes at a time.
//!
//! Nearly all messages fit and travel as they are. The request to evacuate a group grows with the heap, since it names
//! regions and tablets, and so does the answer. Such a message travels in parts, each a message of its own, in order:
//!
//! ```text
//! FIRST bytes   MORE bytes ...   LAST bytes
//! ```
//!
//! Requests and notices begin with their kind, which is none of these three. A sender may be replaced in the middle of
//! a message; the first part from its successor begins anew.

use super::wire::Malformed;
use std::borrow::Cow;

/// The parts in which a message travels: the message itself if it is short enough.
pub fn split(message: &[u8]) -> impl Iterator<Item = Cow<'_, [u8]>> {
    let is_whole = message.len() <= rdma::MESSAGE_BYTES_MAX;
    let chunk = if is_whole { message.len().max(1) } else { rdma::MESSAGE_BYTES_MAX - 1 };
    let count = message.len().div_ceil(chunk);
    message.chunks(chunk).enumerate().map(move |(n, bytes)| {
        let kind = match n {
            _ if is_whole => return Cow::Borrowed(bytes),
            0 => FIRST,
            _ if n + 1 == count => LAST,
            _ => MORE,
        };
        let mut part = Vec::with_capacity(1 + bytes.len());
        part.push(kind);
        part.extend_from_slice(bytes);
        Cow::Owned(part)
    })
}

/// The received parts of a message from one sender.
#[derive(Default)]
pub struct Assembly {
    /// Of [`split`] without the kinds of parts; `None` between messages.
    bytes: Option<Vec<u8>>,
}

impl Assembly {
    /// Takes a part that has arrived from the sender. Returns the message if it is complete.
    pub fn take<'a>(&mut self, part: &'a [u8]) -> Result<Option<Cow<'a, [u8]>>, Malformed> {
        let begun = self.bytes.take();
        let (kind, rest) = match part.split_first() {
            Some((&kind @ (FIRST | MORE | LAST), rest)) => (kind, rest),
            _ => return Ok(Some(Cow::Borrowed(part))),
        };
        let mut bytes = match (kind, begun) {
            (FIRST, _) => Vec::new(),
            (_, Some(begun)) => begun,
            (_, None) => return Err(Malformed("it has no beginning")),
        };
        if bytes.len() + rest.len() > BYTES_MAX {
            return Err(Malformed("it does not end"));
        }
        bytes.extend_from_slice(rest);
        match kind {
            LAST => Ok(Some(Cow::Owned(bytes))),
            _ => {
                self.bytes = Some(bytes);
                Ok(None)
            }
        }
    }
}

/// The longest message. No geometry makes a longer one.
pub const BYTES_MAX: usize = 64 << 20;

const FIRST: u8 = 253;
const MORE: u8 = 254;
const LAST: u8 = 255;

#[cfg(test)]
mod tests {
    use super::super::protocol::{
        DISCOVERED_MAX, Discovered, ENTRIES_MAX, Evacuation, LAYOUTS_BYTES, LAYOUTS_MAX, Mesh,
        MoveOrder, Notice, Relayed, Reply, Request, layout_bytes,
    };
    use super::super::region_map::RegionMap;
    use super::super::tables::{Table, TableBytes};
    use super::*;
    use crate::hit::{EntryIndex, EntryWidth, HitGeometry, TabletId};
    use crate::object::geometry::RegionId;
    use crate::object::layout::{HolderId, KlassLayout, ReferenceKind};
    use rdma::MESSAGE_BYTES_MAX;

    /// The message as the receiver assembles it.
    fn sent(message: &[u8]) -> Vec<u8> {
        let mut assembly = Assembly::default();
        let mut parts = split(message).peekable();
        while let Some(part) = parts.next() {
            assert!(part.len() <= MESSAGE_BYTES_MAX, "a part of {} bytes", part.len());
            let taken = assembly.take(&part).unwrap();
            assert_eq!(taken.is_some(), parts.peek().is_none());
            if let Some(whole) = taken {
                return whole.into_owned();
            }
        }
        panic!("nothing was sent");
    }

    #[test]
    fn long_messages_come_whole() {
        for bytes in [
            1,
            MESSAGE_BYTES_MAX - 1,
            MESSAGE_BYTES_MAX,
            MESSAGE_BYTES_MAX + 1,
            2 * MESSAGE_BYTES_MAX - 2,
            2 * MESSAGE_BYTES_MAX - 1,
            3 * MESSAGE_BYTES_MAX,
        ] {
            let message: Vec<u8> = (0..bytes).map(|n| (n % 251) as u8).collect();
            assert!(sent(&message) == message, "{bytes} bytes");
        }
    }

    #[test]
    fn parts_out_of_order_and_messages_without_end_are_refused() {
        let mut assembly = Assembly::default();
        assert!(assembly.take(&[MORE, 1]).is_err() && assembly.take(&[LAST]).is_err());
        // The sender was replaced: by one with a short message, and by one with a long one.
        assert_eq!(assembly.take(&[FIRST, 1]), Ok(None));
        assert_eq!(assembly.take(&[3, 1]).unwrap().as_deref(), Some(&[3, 1][..]));
        assert_eq!(assembly.take(&[FIRST, 1]), Ok(None));
        assert_eq!(assembly.take(&[FIRST, 2]), Ok(None));
        assert_eq!(assembly.take(&[LAST, 3]).unwrap().as_deref(), Some(&[2, 3][..]));
        let part = [&[MORE][..], &[0; MESSAGE_BYTES_MAX - 1]].concat();
        assert_eq!(assembly.take(&[FIRST]), Ok(None));
        let taken = (0..BYTES_MAX).find_map(|_| assembly.take(&part).err());
        assert_eq!(taken, Some(Malformed("it does not end")));
    }

    /// The length of a message is limited by the sizes of the heap, and longer messages can be sent.
    #[test]
    fn the_largest_heap_makes_no_message_that_cannot_be_sent() {
        use EntryWidth::{Narrow, Wide};
        let geometries = [
            (2048, 24, 1, Narrow),
            (1 << 19, 16, 1, Narrow),
            (1 << 19, 16, 1024, Narrow),
            (32, 30, 3, Narrow),
            (1 << 22, 24, 1, Wide),
            (1 << 22, 24, 1024, Wide),
            (1 << 16, 30, 3, Wide),
        ];
        for (regions, shift, servers, width) in geometries {
            let g = HitGeometry::new(regions, shift, servers, width).unwrap();
            let tablets: Vec<_> = (0..g.tablets_per_server() as u32).map(TabletId).collect();
            let from = (0..g.regions_per_server() as u32).map(RegionId).collect();
            let to = RegionId(u32::MAX);
            let (start, end) = (0, g.heap_bytes());
            let job = Evacuation { group: 1, from, to, start, end, tablets: tablets.clone() };
            for request in [Request::CopyAhead(job.clone()), Request::Evacuate(job)] {
                let bytes = request.encode();
                assert!(bytes.len() <= BYTES_MAX, "{regions} regions: {} bytes", bytes.len());
                assert_eq!(Request::decode(&sent(&bytes)), Ok(request));
            }
            let notice = Notice::Evacuated { group: 1, top: end, objects: u32::MAX, tablets };
            let bytes = notice.encode();
            assert!(bytes.len() <= BYTES_MAX, "{regions} regions: {} bytes", bytes.len());
            assert_eq!(Notice::decode(&sent(&bytes)), Ok(notice));
        }
        // These are never sent in parts.
        let whole = |what: &str, bytes: Vec<u8>| {
            assert!(bytes.len() <= MESSAGE_BYTES_MAX, "{what}: {} bytes", bytes.len());
        };
        let entries = vec![EntryIndex(u32::MAX); ENTRIES_MAX];
        whole("strings", Notice::Strings(entries.clone()).encode());
        let message = Mesh::Ghosts { cycle: 1, entries };
        whole("ghosts", Relayed { from: 0, message: message.clone() }.encode());
        whole("relay", Notice::Relay { to: 0, message }.encode());
        let (reference, referent) = (EntryIndex(1), EntryIndex(2));
        let d = Discovered { reference, referent, kind: ReferenceKind::Weak };
        let discovered = Reply::Discovered { references: vec![d; DISCOVERED_MAX], more: true };
        whole("discovered", discovered.encode());
        let mut tables = TableBytes::default();
        Table::ALL.into_iter().for_each(|table| tables.add(table, u64::MAX));
        whole("finished", Reply::Finished(tables).encode());
        whole("failed", Reply::Failed("é".repeat(1 << 20)).encode());
        whole("failed", Notice::Failed("é".repeat(1 << 20)).encode());
        let sizes = [16, 1 << 16, 1024, 4];
        whole("map", Request::ConfigureRegions(RegionMap::from_parts(8, sizes).unwrap()).encode());
        let by_vm = (0..1024).collect();
        let order = MoveOrder::Address;
        whole("begin", Request::BeginTracing { cycle: 1, by_vm, ghost_buffer: 1, order }.encode());
        whole("objects", Request::TraceObjects(vec![u64::MAX; ENTRIES_MAX]).encode());
        whole(
            "regions",
            Request::TraceRegions { regions: vec![RegionId(1)], tops: vec![1] }.encode(),
        );
        let instance = |refs: u32| KlassLayout::Instance {
            bytes: 8 * refs,
            refs: (0..refs).map(|n| 8 * n).collect(),
            kind: ReferenceKind::Strong,
        };
        let permanent = |layout| (HolderId::PERMANENT, layout);
        // As many as make half of a message, and one more.
        let layout = instance((LAYOUTS_BYTES / LAYOUTS_MAX / 4) as u32);
        let count = (LAYOUTS_BYTES / layout_bytes(&layout)).min(LAYOUTS_MAX - 1) + 1;
        whole(
            "layouts",
            Request::Layouts { first: 1, layouts: vec![permanent(layout); count] }.encode(),
        );
        // A class has up to 65,535 fields of its own, and those of its superclasses.
        let layouts = vec![permanent(instance(16 * 65_535))];
        let request = Request::Layouts { first: 1, layouts };
        assert_eq!(Request::decode(&sent(&request.encode())), Ok(request));
    }
}
