//! Fits.
use sim::papers::throughput_1983::{cells, evaluate};
fn main() {
    let csv = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers/throughput-1983.csv")).unwrap();
    let cells = cells(&csv).unwrap();
    let t = std::time::Instant::now();
    let out = evaluate(&cells, 1).unwrap();
    eprintln!("{:?}", t.elapsed());
    for o in &out {
        println!("{:70} {:5.0} {:5.0} {:+5.1}%  cpu {:?} {:.0}", o.cell.name(), o.cell.kib_per_s, o.modelled.kib_per_s, o.error()*100.0, o.cell.cpu_percent, o.modelled.cpu_percent);
    }
}
