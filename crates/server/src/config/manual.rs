//! The table of settings as a person reads it.

use std::fmt::Write;

use super::{Flag, SETTINGS};

/// Help of the settings that have no flag, for the end of `tidegate serve --help`.
pub(crate) fn settings_help() -> String {
    let mut help = String::new();
    for setting in SETTINGS.iter().filter(|setting| setting.flag == Flag::None) {
        // Writing to a String does not fail.
        let _ = writeln!(help, "  {:<17} {} [default: {}]", setting.key, setting.summary(), setting.default);
    }
    help
}
