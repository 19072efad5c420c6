//! MD5 (RFC 1321) and the digest of message attributes, written apart from the server's so that a mistake is not
//! made twice.

/// The digest in lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend_from_slice(&(bytes.len() as u64 * 8).to_le_bytes());

    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in padded.chunks_exact(64) {
        let words: Vec<_> =
            block.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        let [mut a, mut b, mut c, mut d] = state;
        for step in 0..64 {
            let (mix, word) = match step / 16 {
                0 => ((b & c) | (!b & d), step),
                1 => ((d & b) | (!d & c), 5 * step + 1),
                2 => (b ^ c ^ d, 3 * step + 5),
                _ => (c ^ (b | !d), 7 * step),
            };
            let sum = a.wrapping_add(mix).wrapping_add(words[word % 16]).wrapping_add(sine(step));
            (a, d, c) = (d, c, b);
            b = b.wrapping_add(sum.rotate_left(SHIFTS[step / 16][step % 4]));
        }
        for (total, part) in state.iter_mut().zip([a, b, c, d]) {
            *total = total.wrapping_add(part);
        }
    }
    state.iter().flat_map(|word| word.to_le_bytes()).map(|byte| format!("{byte:02x}")).collect()
}

const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

fn sine(step: usize) -> u32 {
    (((step + 1) as f64).sin().abs() * 4_294_967_296.0) as u32
}

/// One attribute: name, full data type, value, and whether that is sent as bytes.
pub type Attribute<'a> = (&'a str, &'a str, &'a [u8], bool);

/// The digest of message attributes as clients compute it.
pub fn of_attributes(attributes: &[Attribute<'_>]) -> String {
    let mut sorted = attributes.to_vec();
    sorted.sort_by_key(|(name, ..)| name.as_bytes());
    let mut encoded = Vec::new();
    for (name, data_type, value, is_binary) in sorted {
        let mut part = |bytes: &[u8]| {
            encoded.extend_from_slice(&u32::try_from(bytes.len()).unwrap().to_be_bytes());
            encoded.extend_from_slice(bytes);
        };
        part(name.as_bytes());
        part(data_type.as_bytes());
        encoded.push(if is_binary { 2 } else { 1 });
        encoded.extend_from_slice(&u32::try_from(value.len()).unwrap().to_be_bytes());
        encoded.extend_from_slice(value);
    }
    hex(&encoded)
}
