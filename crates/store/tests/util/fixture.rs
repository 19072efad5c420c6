//! Directories that are kept in the repository.

use std::path::{Path, PathBuf};
use tidegate_log::{MemoryStorage, Storage, StorageFile};

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// The files of a directory in memory, so that opening it leaves the fixture alone.
pub(crate) fn load(directory: &Path) -> MemoryStorage {
    let storage = MemoryStorage::new();
    for entry in std::fs::read_dir(directory).expect("the fixture is there") {
        let path = entry.expect("lists").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a plain name");
        let bytes = std::fs::read(&path).expect("reads");
        let file = storage.create(name, bytes.len() as u64).expect("creates");
        file.write_all_at(&bytes, 0).expect("writes");
    }
    storage
}

pub(crate) fn dump(storage: &MemoryStorage, directory: &Path) {
    let _ = std::fs::remove_dir_all(directory);
    std::fs::create_dir_all(directory).expect("creates the directory");
    for file in storage.list().expect("lists") {
        let bytes = storage.read_file(&file.name).expect("reads").expect("is there");
        std::fs::write(directory.join(&file.name), bytes).expect("writes");
    }
}
