//! Traces in a few lines whose requests are known by counting: how other programs shape the formats
//! that we read, and what they put around the requests.

#![allow(clippy::unwrap_used, reason = "a test")]

use formats::import::{self, Input};
use model::record::requests::Provenance;
use model::record::{Op, Request, device_number};
use trace::intake::Intake;

/// The rows of a trace, of whatever format it is taken for.
fn imported(bytes: &[u8]) -> (Vec<Request>, Provenance) {
    let mut inputs = [Input::from_bytes("trace", bytes.to_vec()).unwrap()];
    let mut rows: Vec<Request> = Vec::new();
    let mut intake = Intake::new(&mut rows, "import");
    import::read(&mut inputs, None, &mut intake).unwrap();
    let (provenance, _) = intake.finish().unwrap();
    (rows, provenance)
}

/// The rows of several files of one trace.
fn together(files: &[String]) -> (Vec<Request>, Provenance) {
    let input = |text: &String| Input::from_bytes("trace", text.clone().into_bytes()).unwrap();
    let mut inputs: Vec<Input> = files.iter().map(input).collect();
    let mut rows: Vec<Request> = Vec::new();
    let mut intake = Intake::new(&mut rows, "import");
    import::read(&mut inputs, None, &mut intake).unwrap();
    let (provenance, _) = intake.finish().unwrap();
    (rows, provenance)
}

fn took_us(rows: &[Request]) -> Vec<i64> {
    let begun = |row: &Request| row.arrival_ns().unwrap();
    rows.iter().map(|row| (row.completed_ns.unwrap() - begun(row)) / 1000).collect()
}

#[test]
fn bpftraces_biosnoop_names_a_disk_by_two_numbers() {
    let (rows, provenance) = imported(
        b"Attached 4 probes\n\
        TIME(ms)     DISK ID        COMM             PID    LAT(ms)\n\
        \x20            MAJOR MINOR\n\
        500          259   0        sh               70         5\n\
        520          259   4        sh               70         7\n\
        530          8     16       kworker/0:1 H    77        11\n",
    );
    let numbers = [(259, 0), (259, 4), (8, 16)];
    let numbers = numbers.map(|(major, minor)| device_number(major, minor).unwrap());
    assert_eq!(rows.iter().map(|row| row.device).collect::<Vec<_>>(), numbers);
    assert_eq!((took_us(&rows), provenance.counts.rejected), (vec![5000, 7000, 11000], 0));
}

#[test]
fn text_of_windows_has_marks_and_ends_of_its_own() {
    let text = "128166372003061629,hm,0,Write,7014912,4096,26\r\n\
        128166372016382155,hm,0,Read,1074696192,4096,113736\r\n";
    let units = |of: fn(u16) -> [u8; 2], mark: &str| {
        format!("{mark}{text}").encode_utf16().flat_map(of).collect::<Vec<u8>>()
    };
    let (wanted, _) = imported(text.as_bytes());
    assert_eq!(wanted.len(), 2);
    for bytes in [
        format!("\u{feff}{text}").into_bytes(),
        units(u16::to_le_bytes, "\u{feff}"),
        units(u16::to_be_bytes, "\u{feff}"),
        units(u16::to_le_bytes, ""),
        units(u16::to_be_bytes, ""),
    ] {
        let (rows, provenance) = imported(&bytes);
        assert_eq!((rows, provenance.counts.rejected), (wanted.clone(), 0));
    }
}

#[test]
fn blkparse_may_have_one_format_for_all_events() {
    let (rows, provenance) = imported(
        b"8,0    1        1     0.000000000 21279  Q  RA 1000 + 8 [cat]\n\
        8,0    1        2     0.000002000 21279  D  RA 1000 + 8 [cat]\n\
        8,0    1        3     0.000052000     0  C  RA 1000 + 8 [swapper/1]\n\
        8,0    1        4     0.000060000 21279  Q  RA 2000 + 8 [cat]\n\
        8,0    1        5     0.000160000     0  C  RA 2000 + 8 [swapper/1]\n",
    );
    assert_eq!((took_us(&rows), provenance.counts.rejected), (vec![52, 100], 0));
    assert!(provenance.notes["unknown"].starts_with("errors"), "{:?}", provenance.notes);
}

/// Without the events of requeues, which a filter may have left out, a request is issued again and
/// again.
#[test]
fn what_is_issued_again_is_one_request() {
    let (rows, provenance) = imported(
        b"  8,16   3        1     0.000000000   226  D  WS 1000 + 8 [kworker/3:1H]\n\
        8,16   3        2     0.000041000   226  D  WS 1000 + 8 [kworker/3:1H]\n\
        8,16   3        3     0.000082000   226  D  WS 1000 + 8 [kworker/3:1H]\n\
        8,16   3        4     0.001000000     0  C  WS 1000 + 8 [0]\n\
        8,16   3        5     0.002000000   226  D   W 2000 + 16 [kworker/3:1H]\n\
        8,16   3        6     0.002500000     0  C   W 2000 + 16 [0]\n",
    );
    let counts = provenance.counts;
    assert_eq!(took_us(&rows), [1000, 500]);
    assert_eq!(rows.iter().map(|row| row.length_bytes).sum::<u32>(), 12288);
    assert_eq!((counts.requeued, counts.unanswered, counts.ambiguous), (2, 0, 0));
}

#[test]
fn waits_of_fios_second_version_are_ms_from_the_start() {
    let (rows, _) = imported(
        b"fio version 2 iolog\n/f add\n/f open\n/f write 0 4096\n/f wait 700 0\n\n\
        /f write 8192 4096\n/f wait 900 0\n/f read 4096 4096\n/f close\n",
    );
    let times: Vec<i64> = rows.iter().map(|row| row.queued_ns.unwrap() / 1_000_000).collect();
    assert_eq!(times, [0, 700, 900]);
}

#[test]
fn what_says_nothing_is_not_counted_as_not_understood() {
    for text in [
        "dd 9 [001] 1.000000: block:block_rq_issue: 8,0 R 4096 () 64 + 8 [dd]\n\
            \t  7fffa5a2dc02 blk_update_request ([kernel.kallsyms])\n\
            \t        db730 write (/lib/libc-2.24.so)\n\
            \t            0 [unknown] ([unknown])\n\n\
            dd 9 [001] 1.001000: block:block_rq_complete: 8,0 R () 64 + 8 [0]\n",
        "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
            128166372003061629,hm,0,Write,7014912,4096,26\n",
        "device_id,opcode,offset,length,timestamp\r\n64,W,126703644672,4096,1577808000000626\r\n",
        "# from the archive\nASU,LBA,Size,Opcode,Timestamp\n0,20941264,8192,W,0.551706\n",
        "Timestamp,Offset,Size,IOType,VolumeID\n1538323200,12910952,128,0,1063\n",
    ] {
        let (rows, provenance) = imported(text.as_bytes());
        let counts = provenance.counts;
        assert_eq!((rows.len(), counts.rejected), (1, 0), "{text} {:?}", provenance.notes);
        assert_ne!(rows[0].op, Op::Other, "{text}");
    }
    // A line that is damaged is, wherever it stands.
    let text = "128166372003061629,hm,0,Write,7014912,4096,26\nwhat,ever,this,line,may,have,been\n";
    assert_eq!(imported(text.as_bytes()).1.counts.rejected, 1);
}

/// Of one archive each volume has a file, and all are of the same week: more than can be sorted in
/// memory lies between the first lines of two files.
#[test]
fn files_of_the_same_time_are_merged() {
    const LINES: u64 = 40_000;
    type Line = fn(u64, u64) -> String;
    let lines: [Line; 5] = [
        |n, file| format!("{},web,{file},Read,0,512,1\n", 128_166_372_003_000_000 + n * 9),
        |n, file| {
            let end = if n % 2 == 0 { "Q R 8 + 8 [dd]" } else { "C R 8 + 8 [0]" };
            format!("8,{file} 0 1 {}.{:06} 1 {end}\n", n / 1_000_000, n % 1_000_000)
        },
        |n, file| match n {
            0 => "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n".to_owned(),
            _ => format!("{}.{:06} dd {file} sda R 8 4096 0.001\n", n / 1_000_000, n % 1_000_000),
        },
        |n, file| match n {
            0 => "fio version 3 iolog\n".to_owned(),
            _ => format!("{n} /f{file} read 0 4096\n"),
        },
        |n, file| format!("{}.{:06} {file} 8 8 1\n", n / 1_000_000, n % 1_000_000),
    ];
    for line in lines {
        let file = |file| (0..LINES).map(|n| line(n, file)).collect::<String>();
        let (rows, provenance) = together(&[file(1), file(0), String::new()]);
        let counts = provenance.counts;
        let of_file = |text: String| imported(text.as_bytes()).0.len();
        assert_eq!(rows.len(), of_file(file(0)) + of_file(file(1)), "{}", line(1, 0));
        let disorder = (counts.unsorted, counts.out_of_order, counts.rejected, counts.orphaned);
        assert_eq!(disorder, (0, 0, 0, 0), "{}", line(1, 0));
        assert!(rows.is_sorted_by_key(Request::arrival_ns));
    }
}

/// The disks of a host have a file each.
#[test]
fn binary_files_of_the_same_time_are_merged() {
    let record = |n: u64| {
        let words = [n as u32, 4096, 1].map(u32::to_le_bytes).concat();
        let halves = [0x28, 0x0100].map(u16::to_le_bytes).concat();
        [words, halves, [8 * n, 50 * n].map(u64::to_le_bytes).concat()].concat()
    };
    let bytes: Vec<u8> = (0..40_000).flat_map(record).collect();
    let mut inputs = ["a", "b"].map(|name| Input::from_bytes(name, bytes.clone()).unwrap());
    let mut rows: Vec<Request> = Vec::new();
    let mut intake = Intake::new(&mut rows, "import");
    import::read(&mut inputs, None, &mut intake).unwrap();
    let (provenance, _) = intake.finish().unwrap();
    assert_eq!((rows.len(), provenance.counts.unsorted), (80_000, 0));
    assert_eq!((rows[1].device, rows[79_999].queued_ns), (1, Some(50_000 * 39_999)));
}

/// An export of arrivals alone comes back as one.
#[test]
fn what_tells_no_completions_lost_none() {
    let text = "8,0 1 1 0.1 9 Q R 8 + 8 [dd]\n8,0 1 2 0.2 9 Q R 80 + 8 [dd]\n";
    let (rows, provenance) = imported(text.as_bytes());
    assert_eq!((rows.len(), provenance.counts.unanswered), (2, 0));
    let ended = format!("{text}8,0 1 2 0.3 0 C R 8 + 8 [0]\n");
    assert_eq!(imported(ended.as_bytes()).1.counts.unanswered, 1);
}
