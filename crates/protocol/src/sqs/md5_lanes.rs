//! MD5 of several texts at once (RFC 1321).
//!
//! One digest is a chain of steps that wait for each other, so a processor is mostly idle while it computes one. The digests
//! of a batch do not depend on each other: computed side by side, with vector instructions that every processor
//! has, ten of them take little longer than two or three.

use md5::{Digest as _, Md5};
use wide::u32x4;

/// Digests computed at once: no less than the entries of a batch.
const LANES: usize = 4 * VECTORS;
/// As many as there are registers for.
const VECTORS: usize = 3;
/// A step of all lanes takes as long as so many blocks one by one.
const STEP_COST: usize = 3;
const BLOCK_BYTES: usize = 64;

/// One number of each lane.
type Row = [u32x4; VECTORS];
/// One block of each lane.
type Words = [[u32; LANES]; 16];

/// The digests of some texts, in their order.
pub(super) fn md5_each(texts: &[&[u8]]) -> Vec<[u8; 16]> {
    let mut digests = Vec::with_capacity(texts.len());
    for group in texts.chunks(LANES) {
        let blocks = group.iter().map(|text| block_count(text));
        let (longest, all) = blocks.fold((0, 0), |(longest, all), count| (count.max(longest), all + count));
        if longest * STEP_COST < all {
            side_by_side(group, longest, &mut digests);
        } else {
            digests.extend(group.iter().map(|text| <[u8; 16]>::from(Md5::digest(text))));
        }
    }
    digests
}

/// Blocks of a text with its padding: at least one bit and the length.
fn block_count(text: &[u8]) -> usize {
    (text.len() + 9).div_ceil(BLOCK_BYTES)
}

fn side_by_side(texts: &[&[u8]], steps: usize, digests: &mut Vec<[u8; 16]>) {
    let mut state = INITIAL.map(|word| [u32x4::splat(word); VECTORS]);
    let first = digests.len();
    digests.resize(first + texts.len(), [0; 16]);
    let mut words: Words = [[0; LANES]; 16];
    for step in 0..steps {
        for (lane, text) in texts.iter().enumerate() {
            load(&mut words, lane, text, step);
        }
        compress(&mut state, &words);
        for (lane, text) in texts.iter().enumerate() {
            // A lane that is done goes on with the others, for nothing.
            if step + 1 == block_count(text) {
                let digest = digests[first + lane].chunks_exact_mut(4);
                digest.zip(&state).for_each(|(bytes, row)| {
                    bytes.copy_from_slice(&row[lane / 4].to_array()[lane % 4].to_le_bytes());
                });
            }
        }
    }
}

/// Puts one block of a text into a lane.
fn load(words: &mut Words, lane: usize, text: &[u8], step: usize) {
    let mut padded = [0; BLOCK_BYTES];
    let rest = text.get(step * BLOCK_BYTES..).unwrap_or_default();
    let block = if let Some(block) = rest.first_chunk::<BLOCK_BYTES>() {
        block
    } else {
        padded[..rest.len()].copy_from_slice(rest);
        // The end of the text is in this block or was at the end of the one before.
        if step * BLOCK_BYTES <= text.len() {
            padded[rest.len()] = 0x80;
        }
        if step + 1 == block_count(text) {
            let bits = (text.len() as u64).wrapping_mul(8);
            padded[BLOCK_BYTES - 8..].copy_from_slice(&bits.to_le_bytes());
        }
        &padded
    };
    for (row, word) in words.iter_mut().zip(block.as_chunks().0) {
        row[lane] = u32::from_le_bytes(*word);
    }
}

fn compress(state: &mut [Row; 4], words: &Words) {
    let [mut a, mut b, mut c, mut d] = *state;
    for i in (0..16).step_by(4) {
        let f = |x: u32x4, y: u32x4, z: u32x4| z ^ (x & (y ^ z));
        mix::<7>(f, &mut a, &b, &c, &d, &words[i], SINES[i]);
        mix::<12>(f, &mut d, &a, &b, &c, &words[i + 1], SINES[i + 1]);
        mix::<17>(f, &mut c, &d, &a, &b, &words[i + 2], SINES[i + 2]);
        mix::<22>(f, &mut b, &c, &d, &a, &words[i + 3], SINES[i + 3]);
    }
    for i in (16..32).step_by(4) {
        let g = |x: u32x4, y: u32x4, z: u32x4| y ^ (z & (x ^ y));
        let word = |i: usize| &words[(5 * i + 1) % 16];
        mix::<5>(g, &mut a, &b, &c, &d, word(i), SINES[i]);
        mix::<9>(g, &mut d, &a, &b, &c, word(i + 1), SINES[i + 1]);
        mix::<14>(g, &mut c, &d, &a, &b, word(i + 2), SINES[i + 2]);
        mix::<20>(g, &mut b, &c, &d, &a, word(i + 3), SINES[i + 3]);
    }
    for i in (32..48).step_by(4) {
        let h = |x: u32x4, y: u32x4, z: u32x4| x ^ y ^ z;
        let word = |i: usize| &words[(3 * i + 5) % 16];
        mix::<4>(h, &mut a, &b, &c, &d, word(i), SINES[i]);
        mix::<11>(h, &mut d, &a, &b, &c, word(i + 1), SINES[i + 1]);
        mix::<16>(h, &mut c, &d, &a, &b, word(i + 2), SINES[i + 2]);
        mix::<23>(h, &mut b, &c, &d, &a, word(i + 3), SINES[i + 3]);
    }
    for i in (48..64).step_by(4) {
        let k = |x: u32x4, y: u32x4, z: u32x4| y ^ (x | !z);
        let word = |i: usize| &words[7 * i % 16];
        mix::<6>(k, &mut a, &b, &c, &d, word(i), SINES[i]);
        mix::<10>(k, &mut d, &a, &b, &c, word(i + 1), SINES[i + 1]);
        mix::<15>(k, &mut c, &d, &a, &b, word(i + 2), SINES[i + 2]);
        mix::<21>(k, &mut b, &c, &d, &a, word(i + 3), SINES[i + 3]);
    }
    for (row, more) in state.iter_mut().zip([a, b, c, d]) {
        row.iter_mut().zip(more).for_each(|(vector, more)| *vector += more);
    }
}

/// One step of every lane.
#[inline(always)]
fn mix<const SHIFT: u32>(
    function: impl Fn(u32x4, u32x4, u32x4) -> u32x4,
    a: &mut Row,
    b: &Row,
    c: &Row,
    d: &Row,
    words: &[u32; LANES],
    sine: u32,
) {
    for (vector, words) in words.as_chunks::<4>().0.iter().enumerate() {
        let sum = a[vector] + function(b[vector], c[vector], d[vector]);
        let sum = sum + u32x4::new(*words) + u32x4::splat(sine);
        let turned = (sum << SHIFT) | (sum >> (32 - SHIFT));
        a[vector] = b[vector] + turned;
    }
}

const INITIAL: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// `2^32 · |sin(i + 1)|`, rounded down.
#[rustfmt::skip]
const SINES: [u32; 64] = [
    0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
    0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
    0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
    0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
    0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c, 0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
    0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
    0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
    0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1, 0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(texts: &[Vec<u8>]) {
        let texts: Vec<_> = texts.iter().map(Vec::as_slice).collect();
        let expected: Vec<_> = texts.iter().map(|text| <[u8; 16]>::from(Md5::digest(text))).collect();
        assert_eq!(md5_each(&texts), expected);
        if let Some(steps) = texts.iter().map(|text| block_count(text)).max()
            && texts.len() <= LANES
        {
            let mut digests = Vec::new();
            side_by_side(&texts, steps, &mut digests);
            assert_eq!(digests, expected, "side by side, however uneven");
        }
    }

    #[test]
    fn every_length_around_the_end_of_a_block_is_padded_right() {
        for length in 0..200_u8 {
            check(
                &(0..LANES).map(|lane| vec![length ^ 0x5a; usize::from(length) + lane]).collect::<Vec<_>>(),
            );
        }
    }

    proptest! {
        #[test]
        fn each_digest_is_that_of_the_text_alone(
            texts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..30)
        ) {
            check(&texts);
        }
    }
}
