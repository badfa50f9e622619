//! How many lines a second of CPU time each format of text is read at, into nowhere.
//!
//! A measurement: `cargo test --release -p trace --test rates -- --ignored --nocapture`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use formats::import::{self, Input};
use model::record::{Commands, Request};
use rustix::time::{ClockId, clock_gettime};
use std::fmt::Write as _;
use trace::intake::{Intake, Rows, RowsError};

const LINES: u64 = 1_000_000;
/// What every format is to reach.
const LINES_PER_S_MIN: f64 = 2e6;

/// Where rows are only counted.
struct Nowhere(u64);

impl Rows for Nowhere {
    fn push(&mut self, _: &Request, _: &Commands) -> Result<(), RowsError> {
        self.0 += 1;
        Ok(())
    }
}

/// A format, a first line if it has one, and its n-th line.
type Source = (&'static str, &'static str, fn(u64) -> String);

/// Fields are as long as those of real traces.
const SOURCES: &[Source] = &[
    ("msr", "", |n| {
        let (time, place) = (128_166_385_295_514_663 + n * 2111, n * 7_919_000 % (1 << 40));
        format!("{time},hm,{},Write,{place},4096,{}", n % 3, 1000 + n % 90_000)
    }),
    ("systor17", "Timestamp,Response,IOType,LUN,Offset,Size\n", |n| {
        let place = n * 7_919_616 % (1 << 42);
        format!(
            "{}.{:06}000,0.00{:04}000,R,{},{place},4096",
            1_455_591_804 + n / 50_000,
            n % 50_000 * 20,
            n % 9999,
            n % 6
        )
    }),
    ("alibaba", "", |n| {
        format!(
            "{},W,{},16384,{}",
            n % 800,
            n * 7_919_616 % (1 << 40),
            1_577_808_000_000_046 + n * 91
        )
    }),
    ("tencent", "", |n| {
        format!("{},{},128,1,{}", 1_538_323_200 + n / 9000, n * 15_468 % (1 << 31), n % 5584)
    }),
    ("spc", "", |n| {
        format!("{},{},8192,W,{}.{:06}", n % 24, n * 15_468 % (1 << 31), n / 9000, n % 9000 * 111)
    }),
    ("fiu", "", |n| {
        let sum = "531e779a5c4d1b2f00112233445566ff";
        format!(
            "{} 4892 syslogd {} 8 W 6 0 {sum}",
            89_955_900_000_000 + n * 39_001,
            n * 15_468 % (1 << 31)
        )
    }),
    (
        "wpa",
        "IO Type;Priority;Process (Name);Init Time (s);Complete Time (s);IO Time (µs);Disk Service \
         Time (µs);\
            Size (B);Min Offset;Max Offset;QD/I;QD/C;Disk;Count\n",
        |n| {
            let (at, part, place) = (n / 50_000, n % 50_000 * 20_000, n * 7_919_616 % (1 << 40));
            format!(
                "Read;Normal;nextcloud.exe;{at},{part:09};{at},{:09};87,200;87,200;16.384;\
                 0x{place:016X};0x{place:016X};0;0;1;1",
                part + 9000
            )
        },
    ),
    ("etw-dumper", "", |n| {
        let place = n * 7_919_616 % (1 << 40);
        format!(
            "          DiskRead, {:10},  server.exe ( 980),       6852, 0xfffffade6b0a{:04x}, \
             0x{place:011x}, \
                0x00010000,         183,        3, 0x000043,         183,       0,  Unknown, \
                0xfffffade72165e40, \"Disk5:\\s71\\s72\"",
            1000 + n * 20,
            n % 50_000
        )
    }),
    ("mqsim", "", |n| {
        format!("{} {} {} 16 {}", 938_513_000 + n * 20_000, n % 16, n * 15_468 % (1 << 31), n % 2)
    }),
    ("disksim-ascii", "", |n| {
        format!(
            "{}.{:06} {} {} 16 {:x}",
            n / 50,
            n % 50 * 20_000,
            n % 16,
            n * 15_468 % (1 << 31),
            n % 4
        )
    }),
    ("disksim-validate", "", |n| {
        format!("R Hit    {:7}  12   {}.00000  64047.00000", n * 15_468 % 9_000_000, 600 + n % 9000)
    }),
    (
        "thesios",
        "filename,file_offset,application,c_time,io_zone,redundancy_type,op_type,service_class,\
            from_flash_cache,cache_hit,request_io_size_bytes,disk_io_size_bytes,\
            response_io_size_bytes,start_time,disk_time,simulated_disk_start_time,\
            simulated_latency\n",
        |n| {
            let (at, part) = (1_700_000_000 + n / 50_000, n % 50_000 * 20);
            format!(
                "{:016x},{},bigtable,1690000000.0,WARM,REPLICATED,READ,OTHER,0,0,1050624,1052672,\
                    1050624,{at}.{part:06},0.0312,{at}.{part:06},0.0412",
                n * 77,
                n * 4096
            )
        },
    ),
];

/// CPU time of this thread.
fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[test]
#[ignore = "a measurement, for a release build"]
fn every_table_is_read_fast_enough() {
    let mut slow = Vec::new();
    for (name, header, line) in SOURCES {
        let mut text = (*header).to_owned();
        (0..LINES).for_each(|n| writeln!(text, "{}", line(n)).unwrap());
        let bytes_per_line = text.len() as f64 / LINES as f64;
        let mut best: f64 = 0.0;
        for _ in 0..5 {
            let mut inputs = [Input::from_bytes(name, text.clone().into_bytes()).unwrap()];
            let mut rows = Nowhere(0);
            let mut intake = Intake::new(&mut rows, "import");
            let began = cpu_s();
            import::read(&mut inputs, Some(import::named(name).unwrap()), &mut intake).unwrap();
            let (provenance, _) = intake.finish().unwrap();
            best = best.max(LINES as f64 / (cpu_s() - began));
            assert_eq!((provenance.counts.rejected, rows.0), (0, LINES), "{name}");
        }
        println!(
            "{name:18} {:5.2} M lines/s {bytes_per_line:4.0} B/line {:5.0} MB/s",
            best / 1e6,
            best * bytes_per_line / 1e6
        );
        if best < LINES_PER_S_MIN {
            slow.push(*name);
        }
    }
    assert!(slow.is_empty(), "below {LINES_PER_S_MIN} lines/s: {slow:?}");
}
