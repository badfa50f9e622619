//! Notes that the kernel keeps, in the keyring of a user (user-keyring(7)): there they are seen
//! from every mount namespace, so by a container and by its host, whatever their files are. The
//! kernel's settings are of all of them alike. They are gone after a reboot, as the settings are.
//!
//! Non-goals: what a note says; a kernel or a container that refuses keys: there is none, then.

use linux_keyutils::{
    Key, KeyError, KeyPermissionsBuilder, KeyRing, KeyRingIdentifier, LinkNode, Permission,
};

/// Names of our keys begin so, where the variable says nothing else: it sets notes apart from
/// others', as LBOLT_STATE does it of files.
const PREFIX: &str = "lbolt";
const BY_HAND: &str = "LBOLT_KEYS";

/// What stands before the name of a note.
fn prefix() -> String {
    let by_hand = std::env::var(BY_HAND).unwrap_or_default();
    format!("{}:", if by_hand.is_empty() { PREFIX } else { &by_hand })
}
/// So many keys of a user are looked through.
const MOST: usize = 4096;

/// The user's keyring; whoever has it in a keyring of his process has all rights to what is in it.
fn ring() -> Result<KeyRing, KeyError> {
    let user = KeyRing::from_special_id(KeyRingIdentifier::User, true)?;
    KeyRing::from_special_id(KeyRingIdentifier::Process, true)?.link_keyring(user)?;
    Ok(user)
}

/// Keeps a note; whether the kernel took it.
pub fn keep(name: &str, bytes: &[u8]) -> bool {
    let kept = || -> Result<(), KeyError> {
        let key = ring()?.add_key(&format!("{}{name}", prefix()), bytes)?;
        let all = KeyPermissionsBuilder::builder().posessor(Permission::ALL).user(Permission::ALL);
        key.set_perms(all.build())
    };
    kept().is_ok()
}

/// All notes that are kept, by their names.
pub fn all() -> Vec<(String, Vec<u8>)> {
    let read = |key: Key| Some((name_of(key)?, key.read_to_vec().ok()?));
    keys().into_iter().filter_map(read).collect()
}

/// Removes a note; one that is gone is fine.
pub fn remove(name: &str) {
    let is_it = |key: &Key| name_of(*key).as_deref() == Some(name);
    if let (Ok(ring), Some(key)) = (ring(), keys().into_iter().find(is_it)) {
        // Gone meanwhile.
        let _ = ring.unlink_key(key);
    }
}

fn keys() -> Vec<Key> {
    let Ok(links) = ring().and_then(|ring| ring.get_links(MOST)) else { return vec![] };
    links.iter().filter_map(LinkNode::as_key).collect()
}

fn name_of(key: Key) -> Option<String> {
    let metadata = key.metadata().ok()?;
    metadata.get_description().strip_prefix(&prefix()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_kept_until_it_is_removed() {
        let name = format!("test-{}", std::process::id());
        if !keep(&name, b"{}") {
            return println!("skipped: the kernel keeps no keys here");
        }
        let kept = || all().into_iter().find(|(found, _)| *found == name);
        assert_eq!(kept().unwrap().1, b"{}");
        // Another thread has the keyring through its own process's, as another process has.
        let of_thread = std::thread::spawn(|| all().len()).join().unwrap();
        assert!(of_thread > 0);
        remove(&name);
        remove(&name);
        assert!(kept().is_none());
    }
}
