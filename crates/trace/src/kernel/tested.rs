//! The kernels that lbolt was tried on by `make lab`, what held on each, and where another one
//! stands among them.
//!
//! Source: docs/kernels.md, the lab's own table, which is read here as it is: one home for what was
//! tried, and what a user can look up.
//!
//! Non-goals: what a kernel has (`capability`), which is looked up and not concluded from a number.

/// The lab's table.
const PAGE: &str = include_str!("../../../../docs/kernels.md");

/// Major and minor number of the kernel on which lbolt is developed, which `make test` and `make
/// bench` are run on; the lab has others.
const DEVELOPED_ON: (u32, u32) = (6, 18);

/// A kernel of the lab, and on how many stacks of devices what held.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tried {
    /// What the table calls it: `6.12`, `6.12-rt`.
    pub name: String,
    /// Stacks on which all that was tried works.
    pub works: usize,
    /// Stacks on which the kernel lacks something, which lbolt says.
    pub lacks: usize,
    /// Stacks on which something that was tried failed.
    pub fails: usize,
    /// Stacks that were not tried.
    pub untried: usize,
}

/// Where a kernel stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It is one of the lab's.
    Tried(Tried),
    /// It is the one on which lbolt is developed.
    DevelopedOn,
    /// It lies between two that were tried.
    Between((u32, u32), (u32, u32)),
    /// It is newer than all of them.
    Newer,
    /// It is older.
    Older,
}

/// The lab's kernels, in the order of its table.
fn tried() -> Vec<Tried> {
    read(PAGE)
}

/// The oldest kernel that was tried.
pub fn oldest() -> (u32, u32) {
    versions(&tried()).into_iter().min().unwrap_or(DEVELOPED_ON)
}

/// Where the kernel of this release (`6.12.117+deb12-amd64`) stands; none of what is no release.
pub fn standing(release: &str) -> Option<Standing> {
    among(tried(), release)
}

fn among(all: Vec<Tried>, release: &str) -> Option<Standing> {
    let own = version(release)?;
    let is_realtime = |name: &str| name.split('-').any(|part| part == "rt");
    let is_own = |tried: &Tried| {
        version(&tried.name) == Some(own) && is_realtime(&tried.name) == is_realtime(release)
    };
    let mut versions = versions(&all);
    if let Some(own) = all.into_iter().find(is_own) {
        return Some(Standing::Tried(own));
    }
    if own == DEVELOPED_ON {
        return Some(Standing::DevelopedOn);
    }
    versions.sort_unstable();
    let above = versions.iter().position(|version| *version >= own);
    Some(match above {
        Some(0) => Standing::Older,
        Some(place) => Standing::Between(versions[place - 1], versions[place]),
        None => Standing::Newer,
    })
}

fn versions(all: &[Tried]) -> Vec<(u32, u32)> {
    all.iter().filter_map(|tried| version(&tried.name)).chain([DEVELOPED_ON]).collect()
}

/// `6.12.117+deb12-amd64` is 6.12.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The columns of the page's first table whose heads are versions.
fn read(page: &str) -> Vec<Tried> {
    let mut lines = page.lines().filter_map(cells);
    let Some(heads) = lines.next() else { return Vec::new() };
    let mut all: Vec<(usize, Tried)> = heads
        .iter()
        .enumerate()
        .filter(|(_, head)| version(head).is_some())
        .map(|(place, head)| (place, Tried { name: (*head).to_owned(), ..Tried::default() }))
        .collect();
    for row in lines {
        for (place, tried) in &mut all {
            let word = row.get(*place).and_then(|cell| cell.split('(').next()).unwrap_or("").trim();
            match word {
                "works" => tried.works += 1,
                "in part" | "lacks" => tried.lacks += 1,
                "fails" => tried.fails += 1,
                "not tested" => tried.untried += 1,
                _ => {}
            }
        }
    }
    all.into_iter().map(|(_, tried)| tried).collect()
}

/// The cells of a line of a table.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inside = line.strip_prefix('|')?.strip_suffix('|')?;
    Some(inside.split('|').map(str::trim).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# Kernels\n\n- *works*: all\n\n\
        | stack | 5.10 | 6.12 | 6.12-rt |\n| --- | ---: | ---: | ---: |\n\
        | sata | works (3) | works (3) | not tested |\n\
        | md | fails (1 of 3) | in part (2) | lacks (1) |\n\nA note.\n";

    #[test]
    fn the_labs_table_is_read_by_kernel() {
        let of = |name: &str, [works, lacks, fails, untried]: [usize; 4]| Tried {
            name: name.into(),
            works,
            lacks,
            fails,
            untried,
        };
        let expected =
            [of("5.10", [1, 0, 1, 0]), of("6.12", [1, 1, 0, 0]), of("6.12-rt", [0, 1, 0, 1])];
        assert_eq!(read(TABLE), expected);
        assert_eq!(read("no table"), []);
    }

    #[test]
    fn a_kernel_was_tried_or_is_between_two_newer_or_older() {
        let at = |release: &str| among(read(TABLE), release);
        let name = |standing: Option<Standing>| match standing {
            Some(Standing::Tried(tried)) => tried.name,
            other => panic!("{other:?}"),
        };
        assert_eq!(name(at("6.12.117+deb12-rt-amd64")), "6.12-rt");
        assert_eq!(name(at("6.12.117+deb12-amd64")), "6.12");
        assert_eq!(at("6.18.44"), Some(Standing::DevelopedOn));
        assert_eq!(at("5.14.0-503.el9"), Some(Standing::Between((5, 10), (6, 12))));
        assert_eq!(at("4.19.0-27-amd64"), Some(Standing::Older));
        assert_eq!(at("8.0"), Some(Standing::Newer));
        assert_eq!((at(""), at("six.one")), (None, None));
    }

    #[test]
    fn the_page_has_each_of_the_labs_kernels() {
        let all = tried();
        assert!(all.len() >= 5, "{all:?}");
        assert_eq!(oldest(), (5, 10));
        let stacks = |tried: &Tried| tried.works + tried.lacks + tried.fails + tried.untried;
        assert!(all.iter().all(|tried| stacks(tried) == stacks(&all[0])), "{all:?}");
    }
}
