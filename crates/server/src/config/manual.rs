//! The table of settings as a person reads it.

use std::fmt::Write;

use super::settings::Setting;
use super::{Flag, SETTINGS};

/// The settings that have no flag, for the end of `tidegate serve --help`.
pub(crate) fn settings_help() -> String {
    let mut help = String::new();
    for setting in SETTINGS.iter().filter(|setting| setting.flag == Flag::None) {
        let Setting { key, default, .. } = setting;
        write(&mut help, format_args!("  {key} = {default}\n      {}\n", setting.summary()));
    }
    help
}

/// The settings as tables of Markdown, for `docs/operating.md`.
#[cfg(test)]
pub(super) fn settings_markdown() -> String {
    let mut text = String::from("| setting | default | values | meaning and cost |\n|---|---|---|---|\n");
    for setting in SETTINGS {
        let Setting { key, default, about, cost, .. } = setting;
        let flag = match setting.flag {
            Flag::None => String::new(),
            Flag::Value(_) | Flag::Switch => format!("<br>`--{}`", setting.flag_name()),
        };
        let (allowed, about) = (setting.allowed(), about.trim());
        let cost = if cost.is_empty() { String::new() } else { format!(" *Cost:* {cost}") };
        write(&mut text, format_args!("| `{key}`{flag} | `{default}` | {allowed} | {about}{cost} |\n"));
    }
    text
}

fn write(text: &mut String, part: std::fmt::Arguments<'_>) {
    text.write_fmt(part).expect("writing to a String does not fail");
}
