//! The result for programs: one object, whose keys docs/bench.md lists. Keys are only ever added.

use super::{Comparison, QUANTILES, Side, Spread};
use crate::meter::Timed;
use crate::options::Load;
use hdrhistogram::Histogram;
use serde_json::{Map, Value, json};

/// Of one endpoint.
pub(crate) fn side(load: &Load, side: &Side) -> Value {
    let Value::Object(mut all) = settings(load) else { return Value::Null };
    if let Value::Object(measured) = measured(side) {
        all.extend(measured);
    }
    Value::Object(all)
}

/// Of two endpoints.
pub(crate) fn comparison(load: &Load, a: &Side, b: &Side, comparison: &Comparison) -> Value {
    let mut all = settings(load);
    let mut latencies = Map::new();
    for (timed, name, ratio) in &comparison.latencies {
        latencies.entry(timed.name()).or_insert_with(|| json!({}))[*name] = spread(*ratio);
    }
    all["endpoint"] = measured(a);
    all["compare"] = measured(b);
    all["ratio"] = json!({ "messages_per_s": spread(comparison.rate), "latency_us": latencies });
    all
}

fn settings(load: &Load) -> Value {
    json!({
        "mode": load.mode.name(),
        "groups": load.groups,
        "connections": load.connections,
        "consumers": (load.mode == crate::options::Mode::PingPong).then_some(load.consumers),
        "batch": load.batch,
        "size_bytes": load.size,
        "fill": load.fill,
        "rate": load.rate,
        "threads": load.threads,
    })
}

fn measured(side: &Side) -> Value {
    let counts = &side.counts;
    let latencies: Map<_, _> = Timed::ALL
        .iter()
        .map(|timed| (timed.name().to_owned(), latency(side.latencies.of(*timed))))
        .collect();
    let errors = side
        .errors
        .iter()
        .map(|(code, error)| json!({ "code": code, "count": error.count, "first": error.first }));
    json!({
        "endpoint": side.endpoint,
        "queue_url": side.queue_url,
        "seconds": rounded(side.took.as_secs_f64(), 1_000.0),
        "messages": side.messages,
        "messages_per_s": rounded(side.rate(), 10.0),
        "messages_per_s_by_round": side.rates.iter().map(|rate| rounded(*rate, 10.0)).collect::<Vec<_>>(),
        "requests_per_s": rounded(side.requests_per_second(), 10.0),
        "sent": counts.sent,
        "received": counts.received,
        "deleted": counts.deleted,
        "requests": counts.requests,
        "empty_receives": counts.empty_receives,
        "latency_us": latencies,
        "client_cores": rounded(side.cores(), 1_000.0),
        "client_cpu_us_per_message": rounded(side.cpu_us_per_message(), 100.0),
        "verified": side.findings.map(|findings| json!({
            "lost": side.lost(),
            "duplicates": findings.duplicates,
            "wrong": findings.wrong,
            "out_of_order": findings.out_of_order,
            "overlapping": findings.overlapping,
            "foreign": findings.foreign,
        })),
        "errors": errors.collect::<Vec<_>>(),
        "verdict": match side.verdict() {
            crate::Verdict::Sound => "sound",
            crate::Verdict::Faulty => "faulty",
            crate::Verdict::Interrupted => "interrupted",
        },
    })
}

fn latency(histogram: &Histogram<u64>) -> Value {
    if histogram.is_empty() {
        return Value::Null;
    }
    let mut all = json!({
        "count": histogram.len(),
        "mean": rounded(histogram.mean(), 10.0),
        "max": histogram.max(),
    });
    for (name, quantile) in QUANTILES {
        all[name] = histogram.value_at_quantile(quantile).into();
    }
    all
}

fn spread(ratio: Spread) -> Value {
    let [median, min, max] = [ratio.median, ratio.min, ratio.max].map(|value| rounded(value, 10_000.0));
    json!({ "median": median, "min": min, "max": max })
}

/// To so many parts of one. What is no number, such as a ratio to nothing, is null in JSON.
fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}
