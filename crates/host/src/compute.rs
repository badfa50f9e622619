//! The arithmetic of compute-and-test loops: a fixed piece of work, over and over, whose time per
//! loop is measured and not assumed. Source: Bucher & Hayes (1980), section 2 and appendix A
//! (`CALL COMPUTE(NCOMP)`); they multiplied subscripted variables, and found the overhead of I/O
//! higher beside vector loops than beside scalar ones.
//!
//! Non-goals: being fast, or the same on two machines.

use model::workload::Arithmetic;
use std::hint::black_box;
use std::sync::OnceLock;

/// Multiplications of one loop in registers or of single elements.
const STEPS: usize = 64;
/// Elements of the array that fits the first-level cache: 4 KiB.
const SCALAR_LENGTH: usize = 512;
/// Elements of each of three arrays that fit the second-level cache together: 64 KiB each.
const VECTOR_LENGTH: usize = 8192;
/// Elements that one vector loop multiplies.
const VECTOR_STEPS: usize = 256;
/// Elements of each of two arrays that fit no cache: 64 MiB each.
const STREAM_LENGTH: usize = 8 << 20;
/// Elements of a page, which one loop copies.
const PAGE_STEPS: usize = 512;

/// Two factors whose product is nearly 1, so that nothing overflows or becomes denormal.
const FACTORS: [f64; 2] = [1.000_000_1, 0.999_999_9];

/// What is copied from, made once: 64 MiB take longer to write than a pass lasts.
fn large() -> &'static [f64] {
    static LARGE: OnceLock<Vec<f64>> = OnceLock::new();
    LARGE.get_or_init(|| factors(STREAM_LENGTH))
}

fn factors(length: usize) -> Vec<f64> {
    (0..length).map(|i| FACTORS[i % 2]).collect()
}

/// A piece of arithmetic with its operands.
pub(crate) struct Computer {
    arithmetic: Arithmetic,
    value: f64,
    source: Vec<f64>,
    factor: Vec<f64>,
    target: Vec<f64>,
    large: &'static [f64],
    position: usize,
}

impl Computer {
    pub(crate) fn new(arithmetic: Arithmetic) -> Self {
        let (length, target_length) = match arithmetic {
            Arithmetic::Register => (0, 0),
            Arithmetic::Scalar => (SCALAR_LENGTH, SCALAR_LENGTH),
            Arithmetic::Vector => (VECTOR_LENGTH, VECTOR_LENGTH),
            Arithmetic::Stream => (0, STREAM_LENGTH),
            Arithmetic::Pages => (0, PAGE_STEPS),
        };
        let is_large = matches!(arithmetic, Arithmetic::Stream | Arithmetic::Pages);
        Self {
            arithmetic,
            value: 1.0,
            source: factors(length),
            factor: factors(if arithmetic == Arithmetic::Vector { length } else { 0 }),
            // Written, so that every page is there before the first loop.
            target: vec![1.5; target_length],
            large: if is_large { large() } else { &[] },
            position: 0,
        }
    }

    #[inline(never)]
    pub(crate) fn run(&mut self, loops: u32) {
        match self.arithmetic {
            Arithmetic::Register => (0..loops).for_each(|_| self.register()),
            Arithmetic::Scalar => (0..loops).for_each(|_| self.scalar()),
            Arithmetic::Vector => (0..loops).for_each(|_| self.vector()),
            Arithmetic::Stream => (0..loops).for_each(|_| self.stream()),
            Arithmetic::Pages => (0..loops).for_each(|_| self.pages()),
        }
    }

    /// Each multiplication waits for the one before it.
    #[inline(always)]
    fn register(&mut self) {
        let [up, down] = black_box(FACTORS);
        let mut value = self.value;
        for _ in 0..STEPS / 2 {
            value = value * up * down;
        }
        self.value = black_box(value);
    }

    /// A running product over an array, each element loaded and stored by itself.
    #[inline(always)]
    fn scalar(&mut self) {
        let from = self.advance(SCALAR_LENGTH, STEPS);
        let mut value = self.value;
        let elements = self.source[from..from + STEPS].iter();
        for (target, factor) in self.target[from..from + STEPS].iter_mut().zip(elements) {
            value *= factor;
            *target = value;
        }
        self.value = black_box(value);
    }

    /// Products of two arrays, which the compiler makes vector instructions of.
    #[inline(always)]
    fn vector(&mut self) {
        let from = self.advance(VECTOR_LENGTH, VECTOR_STEPS);
        let piece = from..from + VECTOR_STEPS;
        let operands = self.source[piece.clone()].iter().zip(&self.factor[piece.clone()]);
        for (target, (left, right)) in self.target[piece].iter_mut().zip(operands) {
            *target = left * right;
        }
        black_box(&mut self.target);
    }

    /// A page copied between arrays that no cache holds.
    #[inline(always)]
    fn stream(&mut self) {
        let from = self.advance(STREAM_LENGTH, PAGE_STEPS);
        let piece = from..from + PAGE_STEPS;
        self.target[piece.clone()].copy_from_slice(&self.large[piece]);
        black_box(&mut self.target);
    }

    /// A page from anywhere; the order is Knuth's linear congruential generator's.
    #[inline(always)]
    fn pages(&mut self) {
        let next = (self.position as u64)
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.position = next as usize;
        let from = (next >> 33) as usize % (STREAM_LENGTH / PAGE_STEPS) * PAGE_STEPS;
        self.target.copy_from_slice(&self.large[from..from + PAGE_STEPS]);
        black_box(&mut self.target);
    }

    /// The next piece of arrays of this length, from their start again after their end.
    #[inline(always)]
    fn advance(&mut self, length: usize, steps: usize) -> usize {
        let from = self.position;
        self.position = if from + 2 * steps > length { 0 } else { from + steps };
        from
    }
}

/// What a placement computes with: each kind made before the start.
pub(crate) struct Computers(Vec<Computer>);

impl Computers {
    pub(crate) fn new(arithmetic: &[Arithmetic]) -> Self {
        Self(arithmetic.iter().map(|kind| Computer::new(*kind)).collect())
    }

    /// Runs so many loops; none where the placement does not compute with that.
    #[inline(always)]
    pub(crate) fn run(&mut self, arithmetic: Arithmetic, loops: u32) -> Option<()> {
        let computer = self.0.iter_mut().find(|computer| computer.arithmetic == arithmetic)?;
        computer.run(loops);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_computes_for_longer_than_its_arrays_and_stays_finite() {
        for (arithmetic, name) in Arithmetic::ALL.iter().copied() {
            let mut computer = Computer::new(arithmetic);
            computer.run(20_000);
            assert!(computer.value.is_finite() && computer.value > 0.9, "{name}");
            assert!(computer.target.iter().all(|value| value.is_finite()), "{name}");
        }
        let mut scalar = Computer::new(Arithmetic::Scalar);
        scalar.run((SCALAR_LENGTH / STEPS) as u32);
        assert!(scalar.target.iter().all(|value| *value != 1.5), "all of the array is visited");
        assert_eq!(scalar.position, 0);
    }
}
