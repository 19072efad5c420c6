//! The series of each queue, written straight into the text: registered metrics would take kilobytes a queue meanwhile.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use std::fmt;
use tidegate_engine::{QueueAddress, QueueGauge};

/// Queues that are listed one by one. Each takes about 500 bytes of every scrape.
pub(super) const LISTED_MAX: usize = 10_000;

/// What is exposed of each queue.
#[derive(Debug)]
pub(super) struct QueueSeries(pub(super) Vec<QueueGauge>);

impl Collector for QueueSeries {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let help = "Messages by queue and state";
        self.encode_gauges(&mut encoder, "messages", help, None, |gauge, emit| {
            emit(Some("visible"), gauge.counts.visible)?;
            emit(Some("in_flight"), gauge.counts.in_flight)?;
            emit(Some("delayed"), gauge.counts.delayed)
        })?;
        let help = "Message groups that hold much of what is in flight, and let others go first";
        self.encode_gauges(&mut encoder, "noisy_tenants", help, None, |gauge, emit| {
            emit(None, gauge.noisy_tenants as u64)
        })?;
        let help = "Age of the oldest message that is not delayed; 0 for an empty queue";
        let unit = Some(Unit::Seconds);
        self.encode_gauges(&mut encoder, "oldest_message_age", help, unit, |gauge, emit| {
            emit(None, gauge.oldest_age.unwrap_or_default().as_secs())
        })
    }
}

/// Takes a value of a queue, with a `state` if there are several.
type Emit<'a> = &'a mut dyn FnMut(Option<&'static str>, u64) -> fmt::Result;

impl QueueSeries {
    fn encode_gauges(
        &self,
        encoder: &mut DescriptorEncoder,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        values: impl Fn(&QueueGauge, Emit) -> fmt::Result,
    ) -> fmt::Result {
        let mut family = encoder.encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?;
        for gauge in self.0.iter().take(LISTED_MAX) {
            let QueueAddress { account, region, name } = &gauge.address;
            let account = account.to_string();
            values(gauge, &mut |state, value| {
                let labels =
                    [("account", account.as_str()), ("region", region.as_str()), ("queue", name.as_str())];
                let labels: Vec<_> = labels.into_iter().chain(state.map(|state| ("state", state))).collect();
                ConstGauge::new(value as i64).encode(family.encode_family(&labels)?)
            })?;
        }
        Ok(())
    }
}
