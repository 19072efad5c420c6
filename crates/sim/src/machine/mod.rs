//! A machine with a server on it: what the server's threads do, played step by step by one thread.
//!
//! ```text
//!   inbox ──▶ Server::turn: engine, then log and fsync ──▶ answers
//!                │ ▲
//!   housekeeping ▼ │ relocations
//!              House::step
//! ```

mod house;
mod server;

pub(crate) use house::{House, Seen};
pub(crate) use server::{Answer, Caller, End, Input, Server, Settings};
