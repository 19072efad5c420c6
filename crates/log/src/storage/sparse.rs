//! Bytes in memory that cost nothing until they are written.

/// Small enough that a test's many little files stay little, large enough that a segment is a few thousand pieces.
const CHUNK_BYTES: usize = 16 << 10;

/// A byte array of unbounded length, zero wherever it was never written. Grows by chunks and never moves them, so
/// that appending to a large file costs no copies.
#[derive(Clone, Default)]
pub(super) struct Sparse {
    chunks: Vec<Option<Box<[u8]>>>,
}

impl Sparse {
    pub(super) fn read(&self, buf: &mut [u8], offset: u64) {
        each_piece(offset, buf.len(), |chunk, within, piece| {
            let length = piece.len();
            match self.chunks.get(chunk) {
                Some(Some(bytes)) => buf[piece].copy_from_slice(&bytes[within..within + length]),
                _ => buf[piece].fill(0),
            }
        });
    }

    pub(super) fn write(&mut self, buf: &[u8], offset: u64) {
        each_piece(offset, buf.len(), |chunk, within, piece| {
            if self.chunks.len() <= chunk {
                self.chunks.resize_with(chunk + 1, || None);
            }
            let bytes = self.chunks[chunk].get_or_insert_with(|| vec![0; CHUNK_BYTES].into_boxed_slice());
            bytes[within..within + piece.len()].copy_from_slice(&buf[piece]);
        });
    }
}

/// Cuts `length` bytes at `offset` at chunk boundaries: chunk index, offset within it, range of the buffer.
fn each_piece(offset: u64, length: usize, mut piece: impl FnMut(usize, usize, std::ops::Range<usize>)) {
    let offset = usize::try_from(offset).expect("files in memory fit in the address space");
    let mut done = 0;
    while done < length {
        let within = (offset + done) % CHUNK_BYTES;
        let step = (CHUNK_BYTES - within).min(length - done);
        piece((offset + done) / CHUNK_BYTES, within, done..done + step);
        done += step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behaves_like_an_array() {
        let mut sparse = Sparse::default();
        let mut model = vec![0u8; 5 * CHUNK_BYTES];
        let writes =
            [(3, 10), (CHUNK_BYTES - 1, 2), (CHUNK_BYTES / 2, 2 * CHUNK_BYTES), (4 * CHUNK_BYTES, 1), (7, 0)];
        for (index, (offset, length)) in writes.into_iter().enumerate() {
            let bytes = vec![index as u8 + 1; length];
            sparse.write(&bytes, offset as u64);
            model[offset..offset + length].copy_from_slice(&bytes);
            let mut read = vec![9; model.len()];
            sparse.read(&mut read, 0);
            assert_eq!(read, model);
        }
    }
}
