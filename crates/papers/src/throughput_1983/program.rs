//! The four programs of Kridle & McKusick 1983, appendix A, on a modelled machine: the shortest way
//! to a rate. The experiment proper (crate `experiment`) makes the same requests; a test holds the
//! two together.

use crate::machine::bsd::BsdMachine;
use model::seam::{JobPlacement, Operation, Request, SubjectError, Turn};
use model::workload::EngineKind;
use sim::subject::Machine;

/// One of the programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program {
    /// What it is called.
    pub name: &'static str,
    /// How it opens its file.
    pub opening: Operation,
    /// What it does to it.
    pub operation: Operation,
    /// Bytes of a call.
    pub block_bytes: u32,
}

const fn program(
    name: &'static str,
    opening: Operation,
    operation: Operation,
    block_bytes: u32,
) -> Program {
    Program { name, opening, operation, block_bytes }
}

/// The programs in the order of the tables.
pub const PROGRAMS: [Program; 4] = [
    program("read_8192", Operation::OpenRead, Operation::Read, 8192),
    program("write_4096", Operation::Create, Operation::Write, 4096),
    program("write_8192", Operation::Create, Operation::Write, 8192),
    program("rewrite_8192", Operation::OpenReadWrite, Operation::Write, 8192),
];

/// Bytes of a program's file: "eight Megabytes".
pub const FILE_BYTES: u64 = 8 << 20;

/// What a pass came to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pass {
    /// Bytes moved by all programs.
    pub bytes: u64,
    /// From the first one's beginning to the last one's end, ns.
    pub wall_ns: u64,
    /// Processor time of the programs with the interrupts that hit them, ns.
    pub cpu_ns: u64,
    /// Share of the processor's work that is the driver's.
    pub driver_share: f64,
}

impl Pass {
    /// The rate, as the paper prints it.
    pub fn kib_per_s(&self) -> f64 {
        self.bytes as f64 / 1024.0 / (self.wall_ns.max(1) as f64 / 1e9)
    }

    /// The programs' share of the processor, percent.
    pub fn cpu_percent(&self) -> f64 {
        100.0 * self.cpu_ns as f64 / self.wall_ns.max(1) as f64
    }
}

/// The file's name on each drive.
pub const FILE: &str = "tst2";

/// Removes the files, as the paper's script does between the passes.
pub fn remove(machine: &mut BsdMachine, drives: usize) -> Result<(), SubjectError> {
    calls(machine, drives, &|call| (call == 0).then_some((Operation::Unlink, 0, 0))).map(|_| ())
}

/// Runs a program on each drive.
pub fn run(
    machine: &mut BsdMachine,
    program: &Program,
    drives: usize,
    file_bytes: u64,
) -> Result<Pass, SubjectError> {
    let calls_wanted = file_bytes / u64::from(program.block_bytes);
    let begin_ns = machine.now_ns();
    let (driver_ns, busy_ns) = (machine.driver_ns(), machine.busy_ns());
    let bytes = calls(machine, drives, &|call| match call {
        0 => Some((program.opening, 0, 0)),
        call if call <= calls_wanted => {
            let offset_bytes = (call - 1) * u64::from(program.block_bytes);
            Some((program.operation, offset_bytes, program.block_bytes))
        }
        call if call == calls_wanted + 1 => Some((Operation::Close, 0, 0)),
        _ => None,
    })?;
    let cpu = (0..drives).map(|job| machine.job_cpu(job));
    let cpu_ns = cpu.map(|cpu| cpu.user_ns + cpu.system_ns).sum();
    let (driver_ns, busy_ns) = (machine.driver_ns() - driver_ns, machine.busy_ns() - busy_ns);
    let driver_share = driver_ns / busy_ns.max(1.0);
    Ok(Pass { bytes, wall_ns: machine.now_ns() - begin_ns, cpu_ns, driver_share })
}

type Calls<'a> = &'a dyn Fn(u64) -> Option<(Operation, u64, u32)>;

/// Makes the calls on each drive one after the other; the bytes that they moved.
fn calls(machine: &mut BsdMachine, drives: usize, wanted: Calls) -> Result<u64, SubjectError> {
    let placement = |drive| JobPlacement {
        drive,
        file: FILE.into(),
        engine: EngineKind::Sync,
        file_bytes: FILE_BYTES,
        ..JobPlacement::default()
    };
    let placements: Vec<JobPlacement> = (0..drives).map(placement).collect();
    machine.start(&placements)?;
    let mut made = vec![0; drives];
    let mut is_sent = vec![false; drives];
    let mut bytes = 0;
    while let Some(wake) = machine.next() {
        let job = wake.job;
        if let Some(completion) = wake.completion {
            if completion.result < 0 {
                return Err(SubjectError::Failed(format!("a call failed: {}", completion.result)));
            }
            bytes += completion.result as u64;
            is_sent[job] = false;
            made[job] += 1;
        }
        let turn = match wanted(made[job]) {
            _ if is_sent[job] => Turn::Wait { min: 1, until_ns: u64::MAX },
            None => Turn::Done,
            Some((operation, offset_bytes, length_bytes)) => {
                is_sent[job] = true;
                Turn::Submit(Request { token: 0, operation, offset_bytes, length_bytes })
            }
        };
        machine.take(job, turn);
    }
    Ok(bytes)
}
