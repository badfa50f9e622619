//! What a machine keeps a capture from, as sentences.
//!
//! Non-goals: what that is (`trace::kernel`).

/// What a machine keeps a capture from.
#[derive(Debug, Default)]
pub struct Limits {
    /// Why it is not by BPF, where that was requested.
    pub why_not_bpf: Option<String>,
    /// What was asked for and cannot be told, as sentences.
    pub untold: Vec<String>,
}

impl Limits {
    /// All of it, as sentences.
    pub fn sentences(self) -> impl Iterator<Item = String> {
        let by_perf = self.why_not_bpf.map(|why| {
            format!(
                "captured by perf, which pairs completions with requests by sector (inexact). BPF \
                 is exact, but failed to {why}"
            )
        });
        by_perf.into_iter().chain(self.untold)
    }
}
