//! Every target meets its corpus, so that no target rots and nothing once found comes back.

use std::fs;
use std::path::Path;
use tidegate_fuzz::TARGETS;

#[test]
fn every_target_holds_on_its_corpus() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (name, target) in TARGETS {
        let inputs: Vec<_> = fs::read_dir(corpora.join(name))
            .unwrap_or_else(|_| panic!("no corpus for {name}"))
            .map(|entry| entry.expect("a corpus can be listed").path())
            .collect();
        assert!(!inputs.is_empty(), "{name} has no inputs");
        for path in &inputs {
            println!("{}", path.display());
            target(&fs::read(path).expect("an input can be read"));
        }
    }
    let folders = fs::read_dir(&corpora).expect("there are corpora").count();
    assert_eq!(folders, TARGETS.len(), "a corpus has no target");
}
