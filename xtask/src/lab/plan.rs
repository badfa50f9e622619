//! What is run in one guest: the cases of its stacks, and the scripts that the guest's driver finds
//! in its shared folder.

use super::table::{Guest, Kernel, Kind, Pattern, Stack, Table};
use std::path::{Path, PathBuf};

/// A command on a stack, on a kernel.
#[derive(Debug, Default)]
pub(super) struct Case<'a> {
    pub(super) kernel: &'a str,
    pub(super) stack: String,
    pub(super) name: String,
    /// Its place below the plan and the output: `stack/case`.
    pub(super) place: PathBuf,
    pub(super) run: String,
    pub(super) limit: u32,
    pub(super) exit: u8,
    pub(super) holds: Vec<Kind>,
    pub(super) says: &'a [Pattern],
    pub(super) silent: &'a [Pattern],
    pub(super) delay_ms: Option<f64>,
    /// What must be said, because the kernel lacks something.
    pub(super) lacks: Option<&'a Pattern>,
    /// Whether all else must hold for all that.
    pub(super) is_rest_held: bool,
    /// Why less is held.
    pub(super) why: Vec<&'a str>,
}

/// The stacks of a guest, with their scripts and cases.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) guest: &'a Guest,
    pub(super) stacks: Vec<Part<'a>>,
}

/// A stack of a guest.
#[derive(Debug)]
pub(super) struct Part<'a> {
    place: String,
    setup: String,
    teardown: String,
    pub(super) cases: Vec<Case<'a>>,
}

/// What is chosen of the table. Each list may be empty: then all are.
#[derive(Debug, Clone, Default)]
pub(super) struct Choice {
    pub(super) is_short: bool,
    pub(super) kernels: Vec<String>,
    /// Parts of names, as the next.
    pub(super) stacks: Vec<String>,
    pub(super) cases: Vec<String>,
}

impl Choice {
    fn has(list: &[String], is_chosen: impl Fn(&str) -> bool) -> bool {
        list.is_empty() || list.iter().any(|one| is_chosen(one))
    }

    fn has_kernel(&self, kernel: &Kernel) -> bool {
        (kernel.short || !self.is_short) && Self::has(&self.kernels, |name| name == kernel.name)
    }

    fn has_stack(&self, name: &str, stack: &Stack, each: &str) -> bool {
        let is_in = !self.is_short || stack.short.iter().any(|word| word == each);
        is_in && Self::has(&self.stacks, |part| name.contains(part))
    }

    fn has_case(&self, name: &str, is_short: bool) -> bool {
        (is_short || !self.is_short) && Self::has(&self.cases, |part| name.contains(part))
    }
}

/// One plan for each guest of each chosen kernel that has anything to do.
/// Errors: a command that is not there.
pub(super) fn plans<'a>(table: &'a Table, choice: &Choice) -> anyhow::Result<Vec<Plan<'a>>> {
    let mut plans = vec![];
    for guest in &table.guest {
        for kernel in table.kernel.iter().filter(|kernel| choice.has_kernel(kernel)) {
            // All are numbered, so that a place is the same whatever is chosen.
            let all = table.stack.iter().filter(|stack| stack.guest == guest.name);
            let all = all.flat_map(|stack| stack.all().into_iter().map(move |one| (stack, one)));
            let mut stacks = vec![];
            for (number, (stack, (name, each))) in all.enumerate() {
                let place = format!("{number:02}-{}", slug(&name));
                let cases = cases(table, choice, kernel, stack, (&name, &place))?;
                if choice.has_stack(&name, stack, each) && !cases.is_empty() {
                    let (setup, teardown) = (setup(stack, each), teardown(stack));
                    stacks.push(Part { place, setup, teardown, cases });
                }
            }
            if !stacks.is_empty() {
                plans.push(Plan { kernel, guest, stacks });
            }
        }
    }
    Ok(plans)
}

fn cases<'a>(
    table: &'a Table,
    choice: &Choice,
    kernel: &'a Kernel,
    stack: &'a Stack,
    (name, place): (&str, &str),
) -> anyhow::Result<Vec<Case<'a>>> {
    let plain = stack.commands.iter().map(|command| (command, None));
    let all = plain.chain(stack.on.iter().map(|on| (&on.command, Some(on))));
    let cases = all.enumerate().map(|(number, (command, on))| {
        let place = format!("{place}/{number:02}");
        case(table, kernel, stack, (name, &place), (command, on))
    });
    let mut cases = cases.collect::<anyhow::Result<Vec<_>>>()?;
    cases.retain(|(case, is_short)| choice.has_case(&case.name, *is_short));
    Ok(cases.into_iter().map(|(case, _)| case).collect())
}

/// The case, and whether the short lab has it.
fn case<'a>(
    table: &'a Table,
    kernel: &'a Kernel,
    stack: &'a Stack,
    (name, place): (&str, &str),
    (command, on): (&str, Option<&super::table::On>),
) -> anyhow::Result<(Case<'a>, bool)> {
    let command = table.command(command)?;
    let named = match on {
        Some(on) => format!("{}: {}", command.name, on.name),
        None => command.name.clone(),
    };
    let exceptions = table.exception.iter();
    let of: Vec<_> = exceptions.filter(|one| one.is_of(&kernel.name, name, &named)).collect();
    let is_held = |kind: &&Kind| !of.iter().any(|one| one.without.contains(kind));
    let device = on.map(|on| format!("device={}\ncounted=\n", on.device)).unwrap_or_default();
    let case = Case {
        kernel: &kernel.name,
        stack: name.to_owned(),
        place: format!("{place}-{}", slug(&named)).into(),
        name: named,
        run: format!("{device}{}", command.run),
        limit: command.limit,
        exit: command.exit,
        holds: command.holds.iter().filter(is_held).copied().collect(),
        says: &command.says,
        silent: &command.silent,
        delay_ms: stack.delay_ms,
        lacks: of.iter().find_map(|one| one.lacks.as_ref()),
        is_rest_held: of.iter().all(|one| one.lacks.is_none() || !one.without.is_empty()),
        why: of.iter().map(|one| one.why.as_str()).collect(),
    };
    Ok((case, command.short))
}

const PRELUDE: &str = ". /lab/prelude.sh\n";

/// The variables that a setup leaves are those in lower case, without those of the driver.
const KEEP: &str = "\nexport -p | grep -E '^declare -x [a-z_0-9]+=' | \
                    grep -vE ' (lab|out|run)=' >/run/stack\n";

fn setup(stack: &Stack, each: &str) -> String {
    let modules = stack.modules.join(" ");
    let (name, body) = (&stack.name, &stack.setup);
    format!(
        "# {name}\nrm -f /run/stack\n{PRELUDE}set -e\neach={each}\nmodules {modules}\n{body}{KEEP}"
    )
}

fn teardown(stack: &Stack) -> String {
    format!("{PRELUDE}{}", stack.teardown)
}

/// A name as that of a file.
fn slug(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-").to_lowercase()
}

impl<'a> Plan<'a> {
    /// What it is called: `6.12 disks`.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.kernel.name, self.guest.name)
    }

    pub(super) fn cases(&self) -> impl Iterator<Item = &Case<'a>> {
        self.stacks.iter().flat_map(|part| &part.cases)
    }

    /// Writes the scripts of the cases that are still to be run.
    /// Errors: a refusal of the file system.
    pub(super) fn write(
        &self,
        at: &Path,
        is_wanted: &dyn Fn(&Case) -> bool,
    ) -> std::io::Result<()> {
        for part in &self.stacks {
            let wanted: Vec<_> = part.cases.iter().filter(|case| is_wanted(case)).collect();
            if wanted.is_empty() {
                continue;
            }
            let place = at.join(&part.place);
            std::fs::create_dir_all(&place)?;
            std::fs::write(place.join("setup.sh"), &part.setup)?;
            std::fs::write(place.join("teardown.sh"), &part.teardown)?;
            for case in wanted {
                let path = at.join(&case.place);
                std::fs::write(path.with_added_extension("limit"), case.limit.to_string())?;
                let text = format!("{PRELUDE}{}\n", case.run);
                std::fs::write(path.with_added_extension("case.sh"), text)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn chosen<'a>(table: &'a Table, choice: &Choice) -> Vec<(String, String, String)> {
        let plans = plans(table, choice).unwrap();
        let of = |plan: &Plan<'a>| {
            let name = plan.name();
            let cases =
                plan.cases().map(|case| (name.clone(), case.stack.clone(), case.name.clone()));
            cases.collect::<Vec<_>>()
        };
        plans.iter().flat_map(of).collect()
    }

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn the_short_lab_is_one_kernel_with_sata_and_ext4() {
        let table = Table::read().unwrap();
        let all = chosen(&table, &Choice { is_short: true, ..Choice::default() });
        let stacks: BTreeSet<_> =
            all.iter().map(|(guest, stack, _)| (&**guest, &**stack)).collect();
        assert_eq!(stacks, [("6.12 disks", "sata mq-deadline"), ("6.12 files", "ext4")].into());
        assert!(all.iter().any(|(_, _, case)| case == "file writes, fsync"), "{all:?}");
        // Without udev, LVM and the like, and in minutes.
        assert!((4..10).contains(&all.len()), "{all:?}");
    }

    #[test]
    fn every_transport_has_every_scheduler_and_every_kernel_every_stack() {
        let table = Table::read().unwrap();
        let all = chosen(&table, &Choice::default());
        for transport in ["nvme", "virtio-blk", "virtio-scsi", "sata"] {
            for scheduler in ["none", "mq-deadline", "bfq", "kyber"] {
                let name = format!("{transport} {scheduler}");
                let kernels = table.kernel.iter().map(|kernel| format!("{} disks", kernel.name));
                for guest in kernels {
                    let is_it = |one: &&(String, String, String)| one.0 == guest && one.1 == name;
                    assert!(all.iter().filter(is_it).count() >= 2, "{guest}: {name}");
                }
            }
        }
    }

    #[test]
    fn a_place_is_of_one_case_and_the_same_whatever_is_chosen() {
        let table = Table::read().unwrap();
        let places = |choice: &Choice| -> Vec<(String, PathBuf)> {
            let plans = plans(&table, choice).unwrap();
            let of = |plan: &Plan| {
                plan.cases().map(|case| (plan.name(), case.place.clone())).collect::<Vec<_>>()
            };
            plans.iter().flat_map(of).collect()
        };
        let all = places(&Choice::default());
        let once: BTreeSet<_> = all.iter().cloned().collect();
        assert_eq!(once.len(), all.len());
        let some =
            Choice { stacks: words(&["zram"]), cases: words(&["fsync"]), ..Choice::default() };
        let some = places(&some);
        assert!(!some.is_empty() && some.len() < all.len());
        assert!(some.iter().all(|place| once.contains(place)), "{some:?}");
    }

    #[test]
    fn an_exception_takes_assertions_from_its_cases_alone() {
        let table = Table::read().unwrap();
        let plans = plans(&table, &Choice::default()).unwrap();
        let crypt = |case: &&Case| case.stack == "dm crypt";
        let mut held = plans.iter().flat_map(Plan::cases).filter(crypt);
        assert!(held.all(|case| !case.holds.contains(&Kind::Counts) && !case.why.is_empty()));
        let mut linear =
            plans.iter().flat_map(Plan::cases).filter(|case| case.stack == "dm linear");
        assert!(linear.all(|case| case.holds.contains(&Kind::Counts) && case.why.is_empty()));
    }

    #[test]
    fn what_is_written_is_what_is_wanted() {
        let table = Table::read().unwrap();
        let choice =
            Choice { kernels: words(&["6.1"]), stacks: words(&["nvme none"]), ..Choice::default() };
        let plans = plans(&table, &choice).unwrap();
        let at = tempfile::tempdir().unwrap();
        plans[0].write(at.path(), &|case| case.name == "reads").unwrap();
        let stack = at.path().join("00-nvme-none");
        let mut names: Vec<_> = std::fs::read_dir(&stack)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["00-reads.case.sh", "00-reads.limit", "setup.sh", "teardown.sh"]);
        let setup = std::fs::read_to_string(stack.join("setup.sh")).unwrap();
        assert!(setup.contains("\neach=none\nmodules nvme\n"), "{setup}");
        let case = std::fs::read_to_string(stack.join("00-reads.case.sh")).unwrap();
        assert!(case.starts_with(PRELUDE) && case.contains("recorded load"), "{case}");
    }
}
