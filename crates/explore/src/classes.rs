//! Who requested what of whom, as one number: device, operation, role and file. A trace has few of
//! these together, so a selection by any of them is a table with a bit for each class.
//!
//! Non-goals: what a role is (`verdict::role`).

use hashbrown::HashMap;
use indexmap::IndexSet;
use model::record::{Commands, Context, Op, Request};
use serde::{Deserialize, Serialize};
use verdict::Actors;
use verdict::names::{Called, FileNames};

/// The operations, in the order of their numbers.
pub const OPERATIONS: [Op; 5] = [Op::Read, Op::Write, Op::Flush, Op::Discard, Op::Other];

/// The class of rows that are nobody's request: lbolt's own, and parts of others.
pub(super) const LEFT_OUT: u16 = u16::MAX;
/// More classes than this are put together by leaving their files out.
const MOST: usize = 60_000;
/// Files that are told apart; the first ones are.
const MOST_FILES: usize = 20_000;
/// Files whose number is remembered; those beyond are looked up by their name each time.
const CALLED_MOST: usize = 1 << 20;

/// What the file is called of requests of which none is known, and of those that came too late to
/// be told apart.
const NO_FILE: &str = "no file known";
const OTHER_FILES: &str = "other files";
/// The number of these.
const OTHERS: u16 = 1;

/// What requests of a class have in common, as numbers of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Class {
    pub(super) device: u16,
    pub(super) op: u8,
    pub(super) role: u16,
    pub(super) file: u16,
}

/// The classes of a trace, and the names that they are of.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Classes {
    pub(super) all: Vec<Class>,
    /// Devices by their numbers.
    pub(super) devices: Vec<u32>,
    pub(super) roles: Vec<String>,
    pub(super) files: Vec<String>,
}

/// What files are called.
pub struct Files<'a> {
    names: FileNames,
    device_name: &'a dyn Fn(u32) -> String,
}

impl<'a> Files<'a> {
    /// By the names that a run keeps, and by the names of its devices.
    pub fn new(context: &Context, device_name: &'a dyn Fn(u32) -> String) -> Self {
        Self { names: FileNames::new(&context.files), device_name }
    }

    fn text(&self, called: Called) -> String {
        self.names.text(called, self.device_name)
    }
}

/// Gives rows their classes.
pub(super) struct Classifier<'a> {
    actors: Actors,
    of_files: Files<'a>,
    all: IndexSet<Class>,
    devices: IndexSet<u32>,
    files: IndexSet<String>,
    of_called: HashMap<Called, u16>,
    /// The last file that was looked up: they come in runs.
    last: Option<(Called, u16)>,
}

impl<'a> Classifier<'a> {
    pub(super) fn new(context: &Context, of_files: Files<'a>) -> Self {
        Self {
            actors: Actors::new(context, None),
            of_files,
            all: IndexSet::new(),
            devices: IndexSet::new(),
            files: [NO_FILE, OTHER_FILES].map(str::to_owned).into(),
            of_called: HashMap::new(),
            last: None,
        }
    }

    /// The class of a row that somebody requested; [`LEFT_OUT`] where there are too many of them.
    pub(super) fn class(&mut self, row: &Request, commands: &Commands) -> u16 {
        let op = OPERATIONS.iter().position(|op| *op == row.op).unwrap_or(OPERATIONS.len() - 1);
        let class = Class {
            device: self.devices.insert_full(row.device).0 as u16,
            op: op as u8,
            role: self.actors.of_request(row, commands).0,
            file: self.of_files.names.of_request(row).map_or(0, |called| self.file(called)),
        };
        self.number(class)
    }

    fn number(&mut self, class: Class) -> u16 {
        match self.all.get_index_of(&class) {
            Some(number) => number as u16,
            None if self.all.len() >= MOST && class.file != OTHERS => {
                self.number(Class { file: OTHERS, ..class })
            }
            None if self.all.len() >= usize::from(LEFT_OUT) => LEFT_OUT,
            None => self.all.insert_full(class).0 as u16,
        }
    }

    fn file(&mut self, called: Called) -> u16 {
        match self.last {
            Some((last, number)) if last == called => return number,
            _ => {}
        }
        let number = match self.of_called.get(&called) {
            Some(number) => *number,
            None => {
                let number = self.number_file(self.of_files.text(called));
                if self.of_called.len() < CALLED_MOST {
                    self.of_called.insert(called, number);
                }
                number
            }
        };
        self.last = Some((called, number));
        number
    }

    fn number_file(&mut self, name: String) -> u16 {
        match self.files.contains(&name) || self.files.len() < MOST_FILES {
            true => self.files.insert_full(name).0 as u16,
            false => OTHERS,
        }
    }

    pub(super) fn finish(self) -> Classes {
        Classes {
            all: self.all.into_iter().collect(),
            devices: self.devices.into_iter().collect(),
            roles: self.actors.names().cloned().collect(),
            files: self.files.into_iter().collect(),
        }
    }
}
