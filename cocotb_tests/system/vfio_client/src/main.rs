// SPDX-License-Identifier: Apache-2.0
//! An NVMe host over the client of rust-vmm's crate `vfio_user`, which knows nothing of this project's server.
//!
//! `vfio-client SOCKET`: looks at the device, shares memory, enables the controller, identifies it, writes and reads a
//! block, takes an interrupt, resets, gives the memory back. Prints a line for each step; ends with 101 at the first that
//! is not as it should be.
use std::os::fd::RawFd;
use std::path::Path;
use std::sync::atomic::{fence, Ordering};
use std::time::{Duration, Instant};

use vfio_user::Client;

const BAR0: u32 = 0;
const CONFIG: u32 = 7;
const MSIX: u32 = 2;
const EVENTFD_TRIGGER: u32 = 1 << 2 | 1 << 5;
const NONE_TRIGGER: u32 = 1 << 0 | 1 << 5;

const MEMORY: usize = 1 << 20;
const BASE: u64 = 0x7_0000_0000;
const PAGE: u64 = 4096;
const DATA: u64 = BASE + 16 * PAGE;
const PATIENCE: Duration = Duration::from_secs(60);

/// Memory that both sides have.
struct Shared {
    fd: RawFd,
    at: *mut u8,
}

impl Shared {
    fn new() -> Shared {
        // SAFETY: the name ends with a NUL, and all results are looked at.
        unsafe {
            let fd = libc::memfd_create(c"client".as_ptr(), 0);
            assert!(fd >= 0 && libc::ftruncate(fd, MEMORY as i64) == 0);
            let both = libc::PROT_READ | libc::PROT_WRITE;
            let at = libc::mmap(std::ptr::null_mut(), MEMORY, both, libc::MAP_SHARED, fd, 0);
            assert_ne!(at, libc::MAP_FAILED);
            Shared { fd, at: at.cast() }
        }
    }

    fn at(&self, address: u64, bytes: usize) -> *mut u8 {
        let offset = (address - BASE) as usize;
        assert!(offset + bytes <= MEMORY);
        // SAFETY: within the mapping.
        unsafe { self.at.add(offset) }
    }

    fn put(&self, address: u64, bytes: &[u8]) {
        // SAFETY: `at` has checked the range.
        unsafe { std::ptr::copy(bytes.as_ptr(), self.at(address, bytes.len()), bytes.len()) }
        fence(Ordering::SeqCst);
    }

    fn get(&self, address: u64, bytes: usize) -> Vec<u8> {
        fence(Ordering::SeqCst);
        let from = self.at(address, bytes);
        // SAFETY: `at` has checked the range; the drive may write meanwhile.
        (0..bytes).map(|i| unsafe { from.add(i).read_volatile() }).collect()
    }
}

/// A pair of queues of 16 entries.
struct Queue {
    number: u64,
    sq: u64,
    cq: u64,
    next: u16,
    phase: u8,
}

struct Host {
    client: Client,
    memory: Shared,
}

impl Host {
    fn read32(&mut self, at: u64) -> u32 {
        let mut bytes = [0; 4];
        self.client.region_read(BAR0, at, &mut bytes).unwrap();
        u32::from_le_bytes(bytes)
    }

    fn write32(&mut self, at: u64, value: u32) {
        self.client.region_write(BAR0, at, &value.to_le_bytes()).unwrap();
    }

    fn write64(&mut self, at: u64, value: u64) {
        self.client.region_write(BAR0, at, &value.to_le_bytes()).unwrap();
    }

    /// A command with one page of data, and its status.
    fn command(&mut self, q: &mut Queue, opcode: u32, nsid: u32, prp1: u64, dw10: u32, dw11: u32) -> u16 {
        let mut sqe = [0u32; 16];
        sqe[0] = opcode | u32::from(q.next) << 16;
        sqe[1] = nsid;
        sqe[6] = prp1 as u32;
        sqe[7] = (prp1 >> 32) as u32;
        sqe[10] = dw10;
        sqe[11] = dw11;
        let bytes: Vec<u8> = sqe.iter().flat_map(|word| word.to_le_bytes()).collect();
        let index = u64::from(q.next);
        self.memory.put(q.sq + 64 * index, &bytes);
        let tail = (q.next + 1) % 16;
        self.write32(0x1000 + 8 * q.number, tail.into());
        let end = Instant::now() + PATIENCE;
        loop {
            let cqe = self.memory.get(q.cq + 16 * index, 16);
            if cqe[14] & 1 == q.phase {
                assert_eq!(u16::from_le_bytes([cqe[12], cqe[13]]), q.next, "identifier");
                q.next = tail;
                q.phase ^= u8::from(tail == 0);
                self.write32(0x1004 + 8 * q.number, tail.into());
                return u16::from_le_bytes([cqe[14], cqe[15]]) >> 1;
            }
            assert!(Instant::now() < end, "no completion of command {opcode:#x}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn enable(&mut self) -> Queue {
        let q = Queue {
            number: 0,
            sq: BASE,
            cq: BASE + PAGE,
            next: 0,
            phase: 1,
        };
        self.memory.put(BASE, &[0; 2 * PAGE as usize]);
        self.client.region_write(CONFIG, 4, &6u16.to_le_bytes()).unwrap(); // memory space, bus master
        self.write32(0x24, 15 << 16 | 15);
        self.write64(0x28, q.sq);
        self.write64(0x30, q.cq);
        self.write32(0x14, 6 << 16 | 4 << 20 | 1);
        let end = Instant::now() + PATIENCE;
        while self.read32(0x1c) & 3 != 1 {
            assert!(Instant::now() < end, "the controller is not ready");
        }
        q
    }
}

fn wait_for(event: RawFd) -> u64 {
    let mut ready = libc::pollfd {
        fd: event,
        events: libc::POLLIN,
        revents: 0,
    };
    let mut count = 0u64;
    // SAFETY: one descriptor, and eight bytes for an event's count.
    unsafe {
        assert_eq!(
            libc::poll(&mut ready, 1, PATIENCE.as_millis() as i32),
            1,
            "no interrupt"
        );
        assert_eq!(libc::read(event, (&raw mut count).cast(), 8), 8);
    }
    count
}

fn look(client: &mut Client) {
    assert_eq!(client.region(BAR0).unwrap().size, 16384);
    assert_eq!(client.region(CONFIG).unwrap().size, 256);
    assert!((1..=6).all(|index| client.region(index).unwrap().size == 0));
    let mut class = [0; 4];
    client.region_read(CONFIG, 8, &mut class).unwrap();
    assert_eq!(class[1..], [0x02, 0x08, 0x01]);
    let irq = client.get_irq_info(MSIX).unwrap();
    assert_eq!((irq.index, irq.count, irq.flags & 1), (MSIX, 16, 1));
    println!("regions and interrupts");
}

fn main() {
    let path = std::env::args().nth(1).expect("usage: vfio-client SOCKET");
    let mut client = Client::new(Path::new(&path)).unwrap();
    look(&mut client);
    let memory = Shared::new();
    client.dma_map(0, BASE, MEMORY as u64, memory.fd).unwrap();
    // SAFETY: no pointer.
    let events: Vec<RawFd> = (0..2).map(|_| unsafe { libc::eventfd(0, 0) }).collect();
    client.set_irqs(MSIX, EVENTFD_TRIGGER, 0, 2, &events).unwrap();
    let mut host = Host { client, memory };
    let mut admin = host.enable();
    println!("enabled");

    assert_eq!(host.command(&mut admin, 0x06, 0, DATA, 1, 0), 0);
    let model = String::from_utf8(host.memory.get(DATA + 24, 40)).unwrap();
    println!("identified: {}", model.trim());

    let mut io = Queue {
        number: 1,
        sq: BASE + 2 * PAGE,
        cq: BASE + 3 * PAGE,
        next: 0,
        phase: 1,
    };
    let (sq, cq) = (io.sq, io.cq);
    assert_eq!(host.command(&mut admin, 0x05, 0, cq, 15 << 16 | 1, 1 << 16 | 3), 0);
    assert_eq!(host.command(&mut admin, 0x01, 0, sq, 15 << 16 | 1, 1 << 16 | 1), 0);
    assert!(wait_for(events[0]) >= 1);

    let block: Vec<u8> = (0..PAGE).map(|i| (i * 7 >> 3) as u8).collect();
    host.memory.put(DATA, &block);
    assert_eq!(host.command(&mut io, 0x01, 1, DATA, 33, 0), 0);
    assert_eq!(wait_for(events[1]), 1);
    assert_eq!(host.command(&mut io, 0x02, 1, DATA + PAGE, 33, 0), 0);
    assert_eq!(wait_for(events[1]), 1);
    assert_eq!(host.memory.get(DATA + PAGE, PAGE as usize), block);
    println!("a block is read as it was written, with an interrupt of each command");

    host.client.reset().unwrap();
    assert_eq!(host.read32(0x14), 0);
    let mut admin = host.enable();
    assert_eq!(host.command(&mut admin, 0x06, 0, DATA, 1, 0), 0);
    host.client.set_irqs(MSIX, NONE_TRIGGER, 0, 0, &[]).unwrap();
    host.client.dma_unmap(BASE, MEMORY as u64).unwrap();
    host.client.shutdown().unwrap();
    println!("reset, and memory given back");
}
