//! Text for a terminal.

use std::fmt::Write;
use std::io::{self, IsTerminal};

/// A text on one line, with everything visible that would act on the terminal or hide in it.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if c.is_control() || is_invisible(c) => drop(write!(shown, "\\u{{{:x}}}", u32::from(c))),
            c => shown.push(c),
        }
    }
    shown
}

/// Characters that take no place or change the direction of those around them, and separators of lines.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A span of time in its largest whole unit that says enough.
pub(super) fn span(milliseconds: u64) -> String {
    match milliseconds / 1_000 {
        seconds @ 0..120 => format!("{seconds}s"),
        seconds @ 120..7_200 => format!("{}m", seconds / 60),
        seconds @ 7_200..172_800 => format!("{}h", seconds / 3_600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

/// A number of things.
pub(super) fn count(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// Whether standard output may be coloured (see no-color.org).
pub(super) fn is_coloured() -> bool {
    io::stdout().is_terminal() && super::variable("NO_COLOR").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_act_on_a_terminal_is_shown_instead() {
        let shown = visible("a\tb\r\nc\u{1b}[31m\u{7}\u{9b}\u{202e}\u{200b}\u{0}ä€😀\\n<b>");
        assert_eq!(shown, "a\\tb\\r\\nc\\u{1b}[31m\\u{7}\\u{9b}\\u{202e}\\u{200b}\\u{0}ä€😀\\n<b>");
    }

    #[test]
    fn spans_have_the_unit_that_reads_best() {
        let spans = [0, 119_999, 120_000, 7_199_999, 7_200_000, 172_800_000].map(span);
        assert_eq!(spans, ["0s", "119s", "2m", "119m", "2h", "2d"]);
    }
}
