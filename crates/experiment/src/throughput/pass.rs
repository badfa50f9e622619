//! What one pass came to: from the reports of its jobs to the columns of its sample.

use super::job::Stream;
use crate::bench::Done;
use crate::on_file::OnFile;
use crate::seconds::Seconds;
use model::histogram::Histogram;
use model::record::Sample;

/// Bytes, time and latencies of all jobs.
pub(crate) fn add_work(sample: &mut Sample, done: &Done<OnFile<Stream>>) {
    let reports = || done.jobs.iter().map(|(stream, _)| stream.work.report());
    let [mut latency, mut service, mut sync] = [(); 3].map(|()| Histogram::default());
    let mut seconds = Seconds::default();
    for report in reports() {
        seconds.merge(&report.seconds);
        latency.merge(&report.latency);
        service.merge(report.service());
        report.sync.iter().for_each(|one| sync.merge(one));
    }
    let started_ns = reports().map(|r| r.started_ns).min().unwrap_or(0);
    let ended_ns = reports().map(|r| r.ended_ns).max().unwrap_or(0);
    sample.started_ns = i64::try_from(started_ns).unwrap_or(i64::MAX);
    sample.wall_ns = ended_ns.saturating_sub(started_ns);
    sample.bytes = reports().map(|r| r.bytes_read + r.bytes_written).sum();
    sample.operations = reports().map(|r| r.operations).sum();
    (sample.span_ns, sample.span_bytes, sample.span_operations) = seconds.columns(sample.wall_ns);
    sample.sync_ns = reports().map(|r| r.sync_ns).sum();
    sample.depth_achieved =
        (sample.wall_ns > 0).then(|| service.sum_ns() as f64 / sample.wall_ns as f64);
    sample.set_latency(&latency);
    sample.set_service(&service, sample.rate_requested_iops.is_some());
    sample.set_sync_latency(&sync);
}
