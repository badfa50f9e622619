//! Where the units lie when a replay begins, without a table of them: a unit's place and a place's
//! unit are computed. So a large drive takes memory for what a replay moves alone.
//!
//! *Filled*: programs go to the dies in turn, as one pass of writes would leave them. *Steady*:
//! units are scattered over the closed blocks at random (a permutation), and the blocks' valid
//! shares are those of a drive that is written at random for long: a block loses its units evenly,
//! so their logarithms are spread evenly from 0 to that of the share at which blocks are collected
//! (the mean field of greedy collection: Desnoyers 2012, "Analytic modeling of SSD write
//! performance").

use super::parameters::{History, Parameters, Shape};

/// The beginning.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Start {
    shape: Shape,
    /// Units below that number in the order of the layout are there.
    filled: u32,
    layout: Layout,
}

#[derive(Debug, Clone, PartialEq)]
enum Layout {
    Striped,
    /// The first unit (in the permutation's order) of each block, and the end.
    Scattered {
        first: Vec<u32>,
        order: Permutation,
    },
}

impl Start {
    pub(super) fn new(parameters: &Parameters) -> Self {
        let (shape, filled) = (parameters.shape, parameters.filled_units);
        match parameters.history {
            History::Fresh => Self { shape, filled: 0, layout: Layout::Striped },
            History::Filled => Self { shape, filled, layout: Layout::Striped },
            History::Steady => {
                let (first, order) = (steady(&shape, filled), Permutation::new(shape.units));
                Self { shape, filled, layout: Layout::Scattered { first, order } }
            }
        }
    }

    /// Where a unit is; none where it was never written.
    pub(super) fn slot(&self, unit: u32) -> Option<u32> {
        let shape = &self.shape;
        match &self.layout {
            Layout::Striped => {
                let (program, within) = (unit / shape.program_units, unit % shape.program_units);
                let (die, of_die) = (program % shape.dies, program / shape.dies);
                let first = die * shape.die_blocks * shape.block_units;
                (unit < self.filled).then_some(first + of_die * shape.program_units + within)
            }
            Layout::Scattered { first, order } => {
                let place = Some(order.place(unit)).filter(|place| *place < self.filled)?;
                let block = first.partition_point(|first| *first <= place) as u32 - 1;
                let begin = first[block as usize];
                let valid = first[block as usize + 1] - begin;
                let within = u64::from(place - begin) * u64::from(shape.block_units);
                Some(block * shape.block_units + (within / u64::from(valid)) as u32)
            }
        }
    }

    /// Units that a block has.
    pub(super) fn valid(&self, block: u32) -> u32 {
        match &self.layout {
            Layout::Striped => self.striped(block),
            Layout::Scattered { first, .. } => first[block as usize + 1] - first[block as usize],
        }
    }

    /// Units that a block has which was written in turn with the other dies'.
    fn striped(&self, block: u32) -> u32 {
        let shape = &self.shape;
        let (die, of_die) = (block / shape.die_blocks, block % shape.die_blocks);
        let (whole, rest) = (self.filled / shape.program_units, self.filled % shape.program_units);
        let whole_of_die = whole.saturating_sub(die).div_ceil(shape.dies);
        let block_programs = shape.block_units / shape.program_units;
        let first = of_die * block_programs;
        let rest = match whole % shape.dies == die && whole_of_die / block_programs == of_die {
            true => rest,
            false => 0,
        };
        whole_of_die.saturating_sub(first).min(block_programs) * shape.program_units + rest
    }

    /// Tells of each unit of a block, with its slot, in the order of the slots.
    pub(super) fn each_of(&self, block: u32, mut each: impl FnMut(u32, u32)) {
        let shape = &self.shape;
        let slot = block * shape.block_units;
        match &self.layout {
            Layout::Striped => {
                let (die, of_die) = (block / shape.die_blocks, block % shape.die_blocks);
                for within in 0..shape.block_units {
                    let place = of_die * shape.block_units + within;
                    let program = u64::from(place / shape.program_units) * u64::from(shape.dies);
                    let program = program + u64::from(die);
                    let unit = program * u64::from(shape.program_units)
                        + u64::from(place % shape.program_units);
                    if unit < u64::from(self.filled) {
                        each(unit as u32, slot + within);
                    }
                }
            }
            Layout::Scattered { first, order } => {
                let (begin, end) = (first[block as usize], first[block as usize + 1]);
                for place in begin..end {
                    let within = u64::from(place - begin) * u64::from(shape.block_units);
                    let within = (within / u64::from(end - begin)) as u32;
                    each(order.unit(place), slot + within);
                }
            }
        }
    }
}

/// The first unit of each block where collection is steady.
fn steady(shape: &Shape, filled: u32) -> Vec<u32> {
    let closed = shape.die_blocks - shape.free_blocks;
    let slots = f64::from(shape.dies) * f64::from(closed) * f64::from(shape.block_units);
    let collected = collected_at(f64::from(filled) / slots);
    let share = |block: u32| match block < closed {
        true => collected.powf((f64::from(block) + 0.5) / f64::from(closed)),
        false => 0.0,
    };
    let of_die: f64 = (0..shape.die_blocks).map(share).sum();
    let scale = f64::from(filled) / (of_die * f64::from(shape.dies)).max(1e-9);
    let (mut first, mut sum) = (vec![0], 0.0);
    for _ in 0..shape.dies {
        for block in 0..shape.die_blocks {
            sum += share(block) * scale;
            first.push((sum.round() as u32).min(filled));
        }
    }
    first.last_mut().into_iter().for_each(|last| *last = filled);
    first
}

/// The valid share at which blocks are collected, where the closed blocks' mean is this:
/// `mean = (1 - x) / -ln x`.
pub(super) fn collected_at(mean: f64) -> f64 {
    let (mut low, mut high) = (1e-12, 1.0 - 1e-12);
    for _ in 0..100 {
        let x: f64 = 0.5 * (low + high);
        if (1.0 - x) / -x.ln() < mean { low = x } else { high = x }
    }
    0.5 * (low + high)
}

/// Numbers below a count in another order, and back: odd multiplications and shifts are one-to-one
/// on numbers of so many bits; what they make too large goes through them again.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Permutation {
    count: u32,
    bits: u32,
}

/// An odd number, and its inverse modulo 2^32.
const FACTOR: u32 = 0x9e37_79b1;
const INVERSE: u32 = inverse(FACTOR);

/// By Newton's method, each step of which doubles the bits that are right.
const fn inverse(odd: u32) -> u32 {
    let (mut inverse, mut step) = (odd, 0);
    while step < 5 {
        inverse = inverse.wrapping_mul(2u32.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

const ROUNDS: u32 = 3;

impl Permutation {
    fn new(count: u32) -> Self {
        Self { count, bits: (32 - count.saturating_sub(1).leading_zeros()).max(2) }
    }

    fn mask(&self) -> u32 {
        u32::MAX >> (32 - self.bits)
    }

    /// Where a unit stands in the order.
    fn place(&self, unit: u32) -> u32 {
        let half = self.bits.div_ceil(2);
        let mut number = unit;
        loop {
            for _ in 0..ROUNDS {
                number = number.wrapping_add(1).wrapping_mul(FACTOR) & self.mask();
                number ^= number >> half;
            }
            if number < self.count {
                return number;
            }
        }
    }

    /// The unit that stands there.
    fn unit(&self, place: u32) -> u32 {
        let half = self.bits.div_ceil(2);
        let mut number = place;
        loop {
            for _ in 0..ROUNDS {
                number ^= number >> half;
                number = number.wrapping_mul(INVERSE).wrapping_sub(1) & self.mask();
            }
            if number < self.count {
                return number;
            }
        }
    }
}
