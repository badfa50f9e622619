//! Every enum that is text on paper has one name for each value, and is found by it.

use model::doubt::Verdict;
use model::engine::EngineKind;
use model::named::Named;
use model::record::{Cold, Experiment, Interval, Role};
use model::workload::{Access, Account, Arithmetic};
use std::fmt::Debug;

fn check<T: Named + Debug>(least: usize) {
    assert!(T::NAMES.len() >= least, "{:?}", T::NAMES);
    for (position, (value, name)) in T::NAMES.iter().enumerate() {
        assert_eq!((value.name(), T::from_name(name)), (*name, Some(*value)));
        assert!(T::NAMES[..position].iter().all(|(_, earlier)| earlier != name), "{name}");
        assert_eq!(T::from_name(&name.to_uppercase()), None, "{name}");
    }
    assert_eq!((T::from_name(""), T::from_name("colour")), (None, None));
}

#[test]
fn every_value_has_a_name_of_its_own_and_is_found_by_it() {
    check::<Access>(7);
    check::<Account>(4);
    check::<Arithmetic>(5);
    check::<Cold>(3);
    check::<EngineKind>(10);
    check::<Experiment>(2);
    check::<Interval>(5);
    check::<Role>(4);
    check::<Verdict>(3);
    for (kind, name) in EngineKind::NAMES {
        assert_eq!(kind.name(), *name);
    }
}
