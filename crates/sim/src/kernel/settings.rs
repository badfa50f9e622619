//! What can be set of the modelled kernel, under the names of sysfs and sysctl.

/// The order in which a queue is served.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scheduler {
    /// As they come.
    #[default]
    Nothing,
    /// Reads before writes, each in the order of places, none for too long.
    MqDeadline,
    /// Reads and writes by turns.
    Kyber,
}

/// What the model does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the model does not support {name} {value}")]
pub struct Unmodelled {
    /// The setting.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// The settings. The defaults are those of a new loop device and of a machine with memory enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `queue/scheduler`.
    pub scheduler: Scheduler,
    /// Requests that the drive's driver takes at once.
    pub hardware_requests: u32,
    /// Requests that a scheduler holds (`queue/nr_requests`).
    pub scheduler_requests: u32,
    /// `queue/wbt_lat_usec`; 0: nothing is throttled.
    pub wbt_latency_ns: u64,
    /// `iosched/writes_starved` of mq-deadline: how often writes are passed over.
    pub writes_starved: u32,
    /// `iosched/fifo_batch` of mq-deadline: requests of one direction in a row.
    pub fifo_batch: u32,
    /// `iosched/read_expire` of mq-deadline: how long a read may be passed over.
    pub read_expire_ns: u64,
    /// `iosched/write_expire` of mq-deadline: and a write.
    pub write_expire_ns: u64,
    /// `vm.dirty_background_bytes`: more dirty bytes are written in the background.
    pub dirty_background_bytes: u64,
    /// `vm.dirty_bytes`: at more a writer waits.
    pub dirty_bytes: u64,
    /// `vm.dirty_expire_centisecs`: what is dirty for so long is written.
    pub dirty_expire_ns: u64,
    /// `vm.dirty_writeback_centisecs`: how often that is looked for.
    pub dirty_writeback_ns: u64,
    /// `mount -o commit=`: a transaction of the journal is committed after so long.
    pub commit_ns: u64,
}

const MS: u64 = 1_000_000;

impl Default for Settings {
    fn default() -> Self {
        Self {
            scheduler: Scheduler::Nothing,
            hardware_requests: 128,
            scheduler_requests: 256,
            wbt_latency_ns: 2 * MS,
            writes_starved: 2,
            fifo_batch: 16,
            read_expire_ns: 500 * MS,
            write_expire_ns: 5000 * MS,
            dirty_background_bytes: u64::MAX,
            dirty_bytes: u64::MAX,
            dirty_expire_ns: 30_000 * MS,
            dirty_writeback_ns: 5000 * MS,
            commit_ns: 5000 * MS,
        }
    }
}

impl Settings {
    /// Writes a value to a setting, by its name: the part of the path behind `queue/` or `vm/`, or
    /// `mount` for an option of it.
    /// Errors: a setting or a value that the model does not know.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Unmodelled> {
        let unknown = || Unmodelled { name: name.into(), value: value.into() };
        let number = || value.parse::<u64>().map_err(|_| unknown());
        let count = || value.parse::<u32>().ok().filter(|count| *count > 0).ok_or_else(unknown);
        match name {
            "scheduler" => {
                self.scheduler = match value {
                    "none" => Scheduler::Nothing,
                    "mq-deadline" => Scheduler::MqDeadline,
                    "kyber" => Scheduler::Kyber,
                    _ => return Err(unknown()),
                }
            }
            "nr_requests" => match self.scheduler {
                Scheduler::Nothing => self.hardware_requests = count()?,
                _ => self.scheduler_requests = count()?,
            },
            "wbt_lat_usec" => self.wbt_latency_ns = number()? * 1000,
            "iosched/writes_starved" => self.writes_starved = count()?,
            "iosched/fifo_batch" => self.fifo_batch = count()?,
            "iosched/read_expire" => self.read_expire_ns = number()? * MS,
            "iosched/write_expire" => self.write_expire_ns = number()? * MS,
            "dirty_background_bytes" => self.dirty_background_bytes = number()?,
            "dirty_bytes" => self.dirty_bytes = number()?,
            "dirty_expire_centisecs" => self.dirty_expire_ns = number()? * 10 * MS,
            "dirty_writeback_centisecs" => self.dirty_writeback_ns = number()? * 10 * MS,
            // The modelled programs read past the cache.
            "read_ahead_kb" => drop(number()?),
            "mount" => match value.split_once('=') {
                Some(("commit", seconds)) => {
                    self.commit_ns = seconds.parse::<u64>().map_err(|_| unknown())? * 1000 * MS;
                }
                // Files that are overwritten are not ordered, and fsync writes the times of lazy
                // inodes too: neither changes anything here.
                _ if value == "lazytime" || value == "data=writeback" => {}
                _ => return Err(unknown()),
            },
            _ => return Err(unknown()),
        }
        Ok(())
    }
}
