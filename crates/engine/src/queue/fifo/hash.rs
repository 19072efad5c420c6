//! Hashes that stand for deduplication ids and for names of groups.

use siphasher::sip128::SipHasher24;

/// The key of a server's hashes.
///
/// Who does not know it cannot tell which texts share a hash, or even a part of one; see `docs/adr/0012`.
#[derive(Clone, Copy, Default)]
pub(crate) struct HashKey([u8; 16]);

impl HashKey {
    pub(crate) fn new(key: [u8; 16]) -> Self {
        HashKey(key)
    }

    /// Stands for a deduplication id: two of them never share it in practice.
    pub(super) fn of_id(&self, id: &str) -> [u8; 16] {
        SipHasher24::new_with_key(&self.0).hash(id.as_bytes()).as_bytes()
    }

    /// Tells groups apart that use the same deduplication id, and finds a group by its name.
    pub(super) fn of_group(&self, name: &str) -> u64 {
        SipHasher24::new_with_key(&self.0).hash(name.as_bytes()).h1
    }
}

impl std::fmt::Debug for HashKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HashKey")
    }
}
