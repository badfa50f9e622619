//! The experiments, over the seams of `model`.
