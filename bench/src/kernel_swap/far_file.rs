//! A file system with one file, whose bytes are far: a segment behind an injected network.
//!
//! The code that a page waits for is thus the same as in our VM. Requests are served by the threads that receive
//! them, with buffers that are allocated at the beginning.

use std::ffi::OsStr;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyWrite, Request, WriteFlags,
};
use rdma::{PeerId, Segment, ShmSegment, SlowWire, Throttled};

use crate::kernel_swap::network::Network;

pub struct FarFile {
    memory: Throttled,
    bytes: u64,
    /// As many as there are threads.
    buffers: Mutex<Vec<Buffer>>,
}

/// The buffer of a request on its way between the kernel and the segment.
struct Buffer {
    words: Vec<u64>,
    bytes: Vec<u8>,
}

impl FarFile {
    /// A file of zeroes, `bytes` long (a multiple of 4096), for `threads` threads.
    pub fn new(bytes: u64, network: Network, threads: usize) -> Result<FarFile, String> {
        let memory = ShmSegment::create(PeerId::Server(0), bytes).map_err(|e| e.to_string())?;
        let wire = SlowWire::new(network.latency, network.bandwidth);
        let buffer = || Buffer {
            words: vec![0; TRANSFER_BYTES_MAX / WORD],
            bytes: vec![0; TRANSFER_BYTES_MAX],
        };
        Ok(FarFile {
            memory: Throttled::new(Arc::new(memory), wire),
            bytes,
            buffers: Mutex::new(std::iter::repeat_with(buffer).take(threads).collect()),
        })
    }

    /// Calls `what` with a buffer that no other thread has meanwhile.
    fn with_buffer<T>(&self, what: impl FnOnce(&mut Buffer) -> T) -> T {
        let lock = || self.buffers.lock().expect("no thread panics with it");
        let mut buffer = lock().pop().expect("there is one for each thread");
        let result = what(&mut buffer);
        lock().push(buffer);
        result
    }

    /// Whether a transfer is one that is served: whole words inside of the file, and not too many.
    fn is_served(&self, offset: u64, bytes: usize) -> bool {
        offset.is_multiple_of(WORD as u64)
            && bytes.is_multiple_of(WORD)
            && bytes <= TRANSFER_BYTES_MAX
            && offset.checked_add(bytes as u64).is_some_and(|end| end <= self.bytes)
    }

    /// Reads into the buffer's bytes.
    fn fetch(&self, offset: u64, bytes: usize, buffer: &mut Buffer) -> Result<(), Errno> {
        let words = &mut buffer.words[..bytes / WORD];
        self.memory.read(offset, words).map_err(|_| Errno::EIO)?;
        for (word, into) in words.iter().zip(buffer.bytes.chunks_exact_mut(WORD)) {
            into.copy_from_slice(&word.to_ne_bytes());
        }
        Ok(())
    }

    fn store(&self, offset: u64, data: &[u8], buffer: &mut Buffer) -> Result<(), Errno> {
        let words = &mut buffer.words[..data.len() / WORD];
        for (word, from) in words.iter_mut().zip(data.chunks_exact(WORD)) {
            *word = u64::from_ne_bytes(from.try_into().expect("chunks are words"));
        }
        self.memory.write(offset, words).map_err(|_| Errno::EIO)
    }

    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let is_root = inode == INodeNo::ROOT;
        FileAttr {
            ino: inode,
            size: if is_root { 0 } else { self.bytes },
            blocks: if is_root { 0 } else { self.bytes / 512 },
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_root { FileType::Directory } else { FileType::RegularFile },
            perm: if is_root { 0o700 } else { 0o600 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

impl Filesystem for FarFile {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // The kernel takes the nearest values that it supports; lower ones cost time only.
        let _ = config.set_max_write(TRANSFER_BYTES_MAX as u32);
        let _ = config.set_max_background(REQUESTS_MAX);
        let _ = config.set_congestion_threshold(REQUESTS_MAX);
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match parent == INodeNo::ROOT && name == NAME {
            true => reply.entry(&FOR_EVER, &self.attributes(FILE), Generation(0)),
            false => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match inode == INodeNo::ROOT || inode == FILE {
            true => reply.attr(&FOR_EVER, &self.attributes(inode)),
            false => reply.error(Errno::ENOENT),
        }
    }

    /// Nothing of it goes through the page cache: a page that was swapped out would be resident again.
    fn open(&self, _request: &Request, _inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let flags = FopenFlags::FOPEN_DIRECT_IO
            | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
            | FopenFlags::FOPEN_NOFLUSH;
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        // Behind the end there is nothing to read.
        let size = u64::from(size).min(self.bytes.saturating_sub(offset)) as usize;
        if inode != FILE || !self.is_served(offset, size) {
            return reply.error(Errno::EINVAL);
        }
        self.with_buffer(|buffer| match self.fetch(offset, size, buffer) {
            Ok(()) => reply.data(&buffer.bytes[..size]),
            Err(error) => reply.error(error),
        });
    }

    fn write(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if inode != FILE || !self.is_served(offset, data.len()) {
            return reply.error(Errno::EINVAL);
        }
        match self.with_buffer(|buffer| self.store(offset, data, buffer)) {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(error),
        }
    }

    /// Written data needs no flush.
    fn fsync(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        _data_only: bool,
        reply: ReplyEmpty,
    ) {
        reply.ok();
    }
}

/// The file's name in its folder.
pub const NAME: &str = "swap";

const FILE: INodeNo = INodeNo(2);

/// Only the kernel changes anything.
const FOR_EVER: Duration = Duration::from_secs(1 << 30);

/// The most that a request carries: the kernel's limit unless it was changed.
const TRANSFER_BYTES_MAX: usize = 1 << 20;

/// Reads and writes that may be under way, so that the file system is no narrower than the network.
const REQUESTS_MAX: u16 = 256;

const WORD: usize = size_of::<u64>();

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn file(network: Network) -> FarFile {
        FarFile::new(1 << 21, network, 1).unwrap()
    }

    #[test]
    fn what_was_stored_is_fetched_and_takes_its_time() {
        let network = Network { latency: Duration::from_millis(2), bandwidth: 0 };
        let file = file(network);
        let data: Vec<u8> = (0..8192).map(|i| (i % 251) as u8).collect();
        let start = Instant::now();
        file.with_buffer(|buffer| file.store(4096, &data, buffer)).unwrap();
        assert!(start.elapsed() >= network.latency);
        let start = Instant::now();
        let found = file.with_buffer(|buffer| {
            file.fetch(4088, 8208, buffer).unwrap();
            buffer.bytes[..8208].to_vec()
        });
        assert!(start.elapsed() >= network.latency);
        assert_eq!(found, [&[0; 8], &data[..], &[0; 8]].concat());
    }

    #[test]
    fn a_transfer_is_whole_words_inside_of_the_file() {
        let file = file(Network::default());
        assert!(file.is_served(0, TRANSFER_BYTES_MAX));
        assert!(file.is_served((1 << 21) - 4096, 4096));
        assert!(!file.is_served((1 << 21) - 4096, 8192));
        assert!(!file.is_served(4, 4096));
        assert!(!file.is_served(0, 4095));
        assert!(!file.is_served(0, TRANSFER_BYTES_MAX + 8));
        assert!(!file.is_served(u64::MAX - 7, 16));
    }
}
