//! End-to-end tests: the real binary, spoken to over real sockets. One module for each group of behaviours.
//!
//! With `TIDEGATE_LONG=1` those run as well that take tens of seconds because a wait on the wire does.

#![allow(clippy::unwrap_used, reason = "all of it is test code")]

#[path = "../support/mod.rs"]
mod support;

mod bad_requests;
mod bit_rot;
mod cancelled_polls;
mod connections;
mod creation;
mod dead_letters;
mod declared_queues;
mod digests;
mod errors;
mod fifo;
mod framing;
mod group_locks;
mod idle;
mod metadata;
mod move_tasks;
mod operator_commands;
mod operators;
mod peek;
mod permissions;
mod policies;
mod polling;
mod queue_urls;
mod read_back;
mod receipts;
mod receive_attempts;
mod recovery;
mod redrive;
mod selection;
mod signatures;
mod sizes;
mod stopping;
mod survival;
mod tls;
