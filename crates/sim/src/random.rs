//! Streams of chance, all of one seed.

/// A stream of its own for each concern, so that one which is left out does not change what the others draw.
pub(crate) fn stream(seed: u64, concern: &str) -> fastrand::Rng {
    // FNV-1a.
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let concern = concern.bytes().fold(0xcbf2_9ce4_8422_2325, fold);
    fastrand::Rng::with_seed(concern ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}
