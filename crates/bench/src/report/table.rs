//! The result for people.

use super::{Comparison, QUANTILES, Side, Spread};
use crate::meter::Timed;
use crate::options::{Load, Mode};
use std::fmt::Write;

/// Of one endpoint.
pub(crate) fn side(load: &Load, side: &Side) -> String {
    let mut text = format!("{}, {}\n", title(load), side.endpoint);
    line(&mut text, format_args!(""));
    line(&mut text, format_args!("  {} messages a second", grouped(side.rate())));
    line(
        &mut text,
        format_args!(
            "  {} messages in {:.1} s, {} requests a second",
            grouped(side.messages as f64),
            side.took.as_secs_f64(),
            grouped(side.requests_per_second())
        ),
    );
    line(
        &mut text,
        format_args!(
            "  this program took {:.2} of a processor, {:.1} µs a message",
            side.cores(),
            side.cpu_us_per_message()
        ),
    );
    line(&mut text, format_args!(""));
    latencies(&mut text, &[side]);
    account(&mut text, load, side, "");
    text
}

/// Of two endpoints.
pub(crate) fn comparison(load: &Load, a: &Side, b: &Side, comparison: &Comparison) -> String {
    let rounds = a.rates.len().max(b.rates.len());
    let mut text = format!("{}, {rounds} rounds\n", title(load));
    line(&mut text, format_args!("  A  {}", a.endpoint));
    line(&mut text, format_args!("  B  {}", b.endpoint));
    line(&mut text, format_args!(""));
    line(&mut text, format_args!("  {:<18}{:>12}{:>12}{:>9}{:>9}{:>9}", "", "A", "B", "A / B", "min", "max"));
    let mut row = |name: &str, a: f64, b: f64, ratio: Spread| {
        let Spread { median, min, max } = ratio;
        let (a, b) = (grouped(a), grouped(b));
        line(&mut text, format_args!("  {name:<18}{a:>12}{b:>12}{median:>9.3}{min:>9.3}{max:>9.3}"));
    };
    row("messages/s", a.rate(), b.rate(), comparison.rate);
    for (timed, name, ratio) in &comparison.latencies {
        let quantile = if *name == "p50" { 0.5 } else { 0.99 };
        let of = |side: &Side| side.latencies.of(*timed).value_at_quantile(quantile) as f64;
        row(&format!("{} {name}, µs", words(*timed)), of(a), of(b), *ratio);
    }
    line(&mut text, format_args!(""));
    latencies(&mut text, &[a, b]);
    account(&mut text, load, a, "A  ");
    account(&mut text, load, b, "B  ");
    text
}

fn title(load: &Load) -> String {
    let Load { mode, connections, batch, size, .. } = load;
    let mut text = format!("{}: {connections} connections", mode.name());
    if *mode == Mode::PingPong {
        text += &format!(", {} that receive", load.consumers);
    }
    if let Some(groups) = load.groups {
        text += &format!(", FIFO, {groups} groups");
    }
    if let Some(rate) = load.rate {
        text += &format!(", {rate} messages a second");
    }
    if load.fill > 0 {
        text += &format!(", {} messages before", load.fill);
    }
    text + &format!(", batches of {batch}, bodies of {size} bytes")
}

fn latencies(text: &mut String, sides: &[&Side]) {
    line(
        text,
        format_args!(
            "  {:<14}{:>10}{:>10}{:>10}{:>10}{:>10}{:>12}",
            "µs", "p50", "p90", "p99", "p99.9", "max", "count"
        ),
    );
    for timed in Timed::ALL {
        for (index, side) in sides.iter().enumerate() {
            let histogram = side.latencies.of(timed);
            if histogram.is_empty() {
                continue;
            }
            let name = if sides.len() > 1 {
                format!("{} {}", ["A", "B"][index], words(timed))
            } else {
                words(timed).to_owned()
            };
            let mut row = format!("  {name:<14}");
            for (_, quantile) in QUANTILES {
                let _ = write!(row, "{:>10}", grouped(histogram.value_at_quantile(quantile) as f64));
            }
            line(
                text,
                format_args!(
                    "{row}{:>10}{:>12}",
                    grouped(histogram.max() as f64),
                    grouped(histogram.len() as f64)
                ),
            );
        }
    }
    line(text, format_args!(""));
}

/// What was verified, and the errors.
fn account(text: &mut String, load: &Load, side: &Side, label: &str) {
    match &side.findings {
        None => line(text, format_args!("  {label}nothing was verified")),
        Some(_) if load.mode == Mode::Send => {
            let wrong = side.findings.map_or(0, |findings| findings.wrong);
            line(text, format_args!("  {label}verified: {wrong} answers with a wrong digest"));
        }
        Some(findings) => {
            let lost = side.lost().map_or("losses unknown".to_owned(), |lost| format!("{lost} lost"));
            let mut found =
                format!("{lost}, {} twice, {} with wrong content", findings.duplicates, findings.wrong);
            if load.groups.is_some() {
                let _ = write!(
                    found,
                    ", {} out of order, {} from a locked group",
                    findings.out_of_order, findings.overlapping
                );
            }
            if findings.foreign > 0 {
                let _ = write!(found, "; {} were of other runs", findings.foreign);
            }
            line(text, format_args!("  {label}verified: {found}"));
        }
    }
    for (code, error) in &side.errors {
        line(text, format_args!("  {label}{} times {code}, the first: {}", error.count, error.first));
    }
    if side.was_interrupted {
        line(text, format_args!("  {label}interrupted"));
    }
}

fn words(timed: Timed) -> &'static str {
    match timed {
        Timed::EndToEnd => "end to end",
        timed => timed.name(),
    }
}

/// A whole number with a comma before every three digits.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn line(text: &mut String, parts: std::fmt::Arguments<'_>) {
    // Writing to memory does not fail.
    let _ = writeln!(text, "{parts}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        let texts = [0.0, 999.4, 999.5, 12_345.0, 1_234_567.0].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "12,345", "1,234,567"]);
    }
}
