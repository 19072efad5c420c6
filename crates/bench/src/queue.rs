//! The queue of a measurement: found or created before, deleted afterwards if it was created.

use crate::answer::{self, Complaint};
use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::error::BenchError;
use crate::operation::Operation;
use crate::request::Requests;
use std::sync::Arc;

/// What received messages stay hidden for: longer than any of them is on its way through this program.
const VISIBILITY_S: u32 = 300;

/// A queue of an endpoint.
pub(crate) struct Queue {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) url: String,
    /// Requests that name it.
    pub(crate) requests: Requests,
    /// Whether it was created for this measurement.
    is_ours: bool,
}

impl Queue {
    /// A queue that exists, by its URL.
    pub(crate) fn at(endpoint: Arc<Endpoint>, requests: &Requests, url: &str) -> Self {
        Queue { endpoint, requests: requests.for_queue(url), url: url.to_owned(), is_ours: false }
    }

    /// The queue of this name, which is created when it is missing and `creates`.
    pub(crate) async fn named(
        endpoint: Arc<Endpoint>,
        mut requests: Requests,
        name: &str,
        is_fifo: bool,
        creates: bool,
    ) -> Result<Self, BenchError> {
        let mut body = Vec::new();
        requests.queue_url(name, &mut body);
        let found = ask(&endpoint, &mut requests, Operation::GetQueueUrl, &body).await;
        let (url, is_ours) = match found {
            Err(BenchError::Refused { text, .. }) if creates && is_missing(&text) => {
                requests.create_queue(name, is_fifo, VISIBILITY_S, &mut body);
                (ask(&endpoint, &mut requests, Operation::CreateQueue, &body).await?, true)
            }
            found => (found?, false),
        };
        let url = answer::queue_url(&url).map_err(|Complaint { text, .. }| BenchError::Stranger {
            url: endpoint.url.clone(),
            operation: if is_ours { "CreateQueue" } else { "GetQueueUrl" },
            text,
        })?;
        Ok(Queue { is_ours, ..Queue::at(endpoint, &requests, &url) })
    }

    /// Deletes it if it was created for this measurement, unless it is to be kept.
    pub(crate) async fn leave(mut self, keeps: bool) -> Result<(), BenchError> {
        if keeps || !self.is_ours {
            return Ok(());
        }
        let mut body = Vec::new();
        self.requests.delete_queue(&mut body);
        ask(&self.endpoint, &mut self.requests, Operation::DeleteQueue, &body).await.map(drop)
    }
}

/// Whether a refusal says that there is no such queue: by its current code, or by that of the older protocol, which some
/// servers use in both.
fn is_missing(text: &str) -> bool {
    text.starts_with("QueueDoesNotExist") || text.contains("NonExistentQueue")
}

/// Asks once, on a connection of its own; the body of a successful answer.
async fn ask(
    endpoint: &Arc<Endpoint>,
    requests: &mut Requests,
    operation: Operation,
    body: &[u8],
) -> Result<Vec<u8>, BenchError> {
    let (url, operation_name) = (endpoint.url.clone(), operation.name());
    let mut connection = Connection::new(endpoint.clone());
    let status = match connection.exchange(requests.head(operation, body), body).await {
        Ok(status) => status,
        Err(source) => return Err(BenchError::Broken { url, operation: operation_name, source }),
    };
    if status == 200 {
        return Ok(connection.body().to_vec());
    }
    let Complaint { code, text } = answer::refusal(status, connection.body());
    if code.starts_with("HTTP ") && !(500..600).contains(&status) {
        return Err(BenchError::Stranger {
            url,
            operation: operation_name,
            text: format!("status {status}: {text}"),
        });
    }
    Err(BenchError::Refused { url, operation: operation_name, status, text: format!("{code}: {text}") })
}
