//! Storms in virtual time: which remedies and pairs are tried, when that ends, and windows of a
//! load that is not ours.

use experiment::storm::{Load, Plan, Stream, Surroundings, Tried, Window, run_system};
use experiment::throughput::{Observer, PassStart};
use model::doubt::Doubt;
use model::record::subject::{StormStream, Subject as About};
use model::record::{Sample, Verdict};
use model::seam::{
    Accounting, Clock, Counters, Job, JobCpu, JobPlacement, Operation, PreparedTarget, Subject,
    SubjectError, TimedCompletion, Turn,
};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

#[derive(Clone, Default)]
struct Virtual(Rc<Cell<u64>>);

impl Clock for Virtual {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }

    fn precision_ns(&self) -> f64 {
        1.0
    }
}

/// A disk that serves each job alone, one request after the other.
struct Disk {
    clock: Virtual,
    /// Of each read and write: what the present remedy leaves of it.
    service_ns: Rc<Cell<u64>>,
}

impl Disk {
    fn turn_all<J: Job>(&mut self, job: &mut J) {
        let clock = self.clock.clone();
        let (mut flying, mut free_ns): (Vec<(u64, TimedCompletion)>, u64) = (vec![], 0);
        let mut event = None;
        loop {
            match job.turn(&clock, event.take()) {
                Turn::Submit(request) => {
                    let moves = matches!(request.operation, Operation::Read | Operation::Write);
                    let took_ns = if moves { self.service_ns.get() } else { 0 };
                    free_ns = clock.now_ns().max(free_ns) + took_ns;
                    let result = i64::from(request.length_bytes);
                    let token = u64::from(request.token);
                    flying.push((free_ns, TimedCompletion { token, result, found_ns: free_ns }));
                }
                Turn::Wait { until_ns, .. } => match flying.first().copied() {
                    Some((done_ns, completion)) if done_ns <= until_ns => {
                        flying.remove(0);
                        clock.0.set(clock.now_ns().max(done_ns));
                        event = Some(completion);
                    }
                    _ => clock.0.set(clock.now_ns().max(until_ns)),
                },
                Turn::Done => return,
                other => panic!("{other:?}"),
            }
        }
    }
}

impl Subject for Disk {
    fn prepare(&mut self) -> Result<PreparedTarget, SubjectError> {
        Ok(PreparedTarget { drives: 1, ..PreparedTarget::default() })
    }

    fn run<J: Job>(
        &mut self,
        jobs: Vec<(JobPlacement, J)>,
    ) -> Result<Vec<(J, JobCpu)>, SubjectError> {
        let turned = jobs.into_iter().map(|(_, mut job)| {
            self.turn_all(&mut job);
            (job, JobCpu::default())
        });
        Ok(turned.collect())
    }

    fn make_cold(&mut self, _: &[(usize, String)]) -> Result<(), SubjectError> {
        Ok(())
    }

    fn counters(&mut self, _: Accounting) -> Result<Counters, SubjectError> {
        Ok(Counters { at_ns: self.clock.now_ns(), ..Counters::default() })
    }

    fn clean_up(&mut self) -> Result<(), SubjectError> {
        Ok(())
    }
}

/// A machine whose remedies leave known shares of each request's time.
struct Machine {
    service_ns: Rc<Cell<u64>>,
    shares: Vec<(&'static str, f64)>,
    half: Option<f64>,
    load: Option<Windows>,
}

/// A load whose windows are as the present remedy leaves them, and that ends after some.
struct Windows {
    clock: Virtual,
    service_ns: Rc<Cell<u64>>,
    left: u32,
}

impl Load for Windows {
    fn watch(&mut self, for_ns: u64) -> Result<Window, SubjectError> {
        self.left = self.left.checked_sub(1).ok_or(SubjectError::Failed("it ended".into()))?;
        self.clock.0.set(self.clock.now_ns() + for_ns);
        let mut window = Window { wall_ns: for_ns, ..Window::default() };
        for histogram in [&mut window.reads, &mut window.between] {
            (0..200).for_each(|_| histogram.record(self.service_ns.get()));
        }
        Ok(window)
    }
}

impl Surroundings for Machine {
    fn laid_out(&mut self, _: &PreparedTarget) -> Result<(), String> {
        Ok(())
    }

    fn begin(&mut self, _: &Plan) {}

    fn change(&mut self, remedy: &str) -> Result<(), String> {
        let share = |name: &str| self.shares.iter().find(|(known, _)| *known == name);
        let parts = remedy.split('+').filter(|name| *name != "none");
        let shares: Option<Vec<f64>> = parts.map(|name| share(name).map(|of| of.1)).collect();
        let shares = shares.ok_or("this machine has none")?;
        self.service_ns.set((1e6 * shares.iter().product::<f64>()) as u64);
        Ok(())
    }

    fn half_of(&self, _: &[f64], _: usize) -> Option<f64> {
        self.half
    }

    fn load(&mut self) -> Option<&mut dyn Load> {
        self.load.as_mut().map(|load| load as &mut dyn Load)
    }

    fn doubts(&mut self) -> Vec<Doubt> {
        vec![]
    }
}

#[derive(Default)]
struct Notes(RefCell<Vec<Sample>>);

impl Observer for Notes {
    fn pass_starts(&mut self, _: &PassStart<'_>) {}

    fn pass_done(&mut self, sample: Sample) {
        self.0.borrow_mut().push(sample);
    }

    fn cell_done(&mut self) {}
}

const SHARES: [(&str, f64); 6] =
    [("a", 0.5), ("b", 0.6), ("c", 0.8), ("d", 1.1), ("e", 1.2), ("f", 1.3)];

/// A storm of remedies that each change something else, but for `a` and `b`.
fn plan(time_s: u64) -> Plan {
    let stream = |rate: f64| Stream {
        rate: Some(rate),
        block_bytes: 4096,
        file_bytes: 4 << 20,
        ..Stream::default()
    };
    let kind = |name: &str| if name == "b" { "a".to_owned() } else { name.to_owned() };
    let names = ["none", "missing"].into_iter().chain(SHARES.map(|(name, _)| name));
    let tried = |name: &str| Tried { name: name.into(), kind: kind(name), ..Tried::default() };
    Plan {
        read: stream(100.0),
        commit: stream(0.0),
        write: stream(0.0),
        period_ns: 1_000_000_000,
        periods: 1,
        rounds: 2,
        time_ns: time_s * 1_000_000_000,
        remedies: names.map(tried).collect(),
        ..Plan::default()
    }
}

type Ran = (Vec<Sample>, Result<Vec<SubjectError>, SubjectError>);

fn run(plan: &Plan, half: Option<f64>, windows: Option<u32>) -> Ran {
    let (clock, service_ns) = (Virtual::default(), Rc::new(Cell::new(1_000_000)));
    let load =
        windows.map(|left| Windows { clock: clock.clone(), service_ns: service_ns.clone(), left });
    let mut machine =
        Machine { service_ns: service_ns.clone(), shares: SHARES.to_vec(), half, load };
    let mut disk = Disk { clock: clock.clone(), service_ns };
    let mut notes = Notes::default();
    let ran = run_system(&mut disk, "virtual", plan, (&clock, &mut machine), &mut notes);
    (notes.0.into_inner(), ran)
}

fn passes(samples: &[Sample], remedy: &str) -> usize {
    let is_it = |sample: &&Sample| match &sample.subject {
        About::Storm(storm) => storm.remedy == remedy && storm.stream == StormStream::Read,
        _ => false,
    };
    samples.iter().filter(is_it).count()
}

fn names(samples: &[Sample]) -> BTreeSet<&str> {
    samples.iter().map(|sample| sample.program.as_str()).collect()
}

#[test]
fn the_best_are_tried_together_unless_they_change_the_same() {
    let (samples, ran) = run(&plan(120), None, None);
    assert_eq!(ran.unwrap().len(), 1, "what is missing is refused once");
    let pairs: BTreeSet<&str> =
        names(&samples).into_iter().filter(|name| name.contains('+')).collect();
    assert_eq!(pairs, BTreeSet::from(["a+c", "b+c"]));
    // The best goes on to the end, what does harm ends with the first halving.
    assert!(passes(&samples, "a+c") > 5 * passes(&samples, "f"), "{}", passes(&samples, "a+c"));
    assert_eq!((passes(&samples, "f"), passes(&samples, "missing")), (2, 1));
    let of_pair = samples.iter().find(|sample| sample.program == "a+c").unwrap();
    let median_ns = of_pair.latency().unwrap().quantile_ns(0.5).unwrap() as f64;
    assert!((median_ns / 0.4e6 - 1.0).abs() < 0.2, "{median_ns}: both shares of 1 ms");
    // Without time nothing is tried beyond the rounds that were requested.
    let (samples, _) = run(&plan(0), None, None);
    assert!(names(&samples).iter().all(|name| !name.contains('+')));
    assert_eq!(passes(&samples, "a"), 2);
}

#[test]
fn rounds_end_when_enough_is_known() {
    let (until_time, _) = run(&plan(600), Some(0.5), None);
    let (until_narrow, _) = run(&plan(600), Some(0.09), None);
    let (at_once, _) = run(&plan(600), Some(0.01), None);
    let rounds = [&until_time, &until_narrow, &at_once].map(|samples| passes(samples, "none"));
    assert!(rounds[0] > 4 * rounds[1] && rounds[1] > rounds[2], "{rounds:?}");
    assert!(names(&at_once).contains("a+c"), "not before the pairs were tried");
}

#[test]
fn windows_of_a_load_are_ranked_as_passes_are_and_its_end_is_an_error() {
    let plan = Plan { command: vec!["load".into()], ..plan(60) };
    let (samples, ran) = run(&plan, None, Some(1000));
    assert!(ran.is_ok() && names(&samples).contains("a+c"));
    assert!(samples.iter().all(|s| s.jobs == 0 || s.verdict == Verdict::NotMeasured));
    let (samples, ran) = run(&plan, None, Some(3));
    assert_eq!(ran, Err(SubjectError::Failed("it ended".into())));
    assert_eq!(names(&samples).len(), 4, "three windows, and what is missing");
}
