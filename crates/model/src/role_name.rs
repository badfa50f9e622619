//! Names of roles that are no program's.
//!
//! Non-goals: how a role is found (`verdict::role`).

/// Whether a role is of threads of the kernel, by its name.
pub fn is_of_kernel(role: &str) -> bool {
    role == "journal" || role.starts_with("kernel ")
}
