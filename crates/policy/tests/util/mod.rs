//! What the tests share.

#![allow(dead_code, reason = "each test binary uses a part")]

use tidegate_policy::{Context, Policy, Principal, Request};

/// 2023-11-14T22:13:20Z.
pub(crate) const NOW: i64 = 1_700_000_000;
pub(crate) const QUEUE: &str = "arn:aws:sqs:us-east-1:000000000000:orders";
pub(crate) const ADA: Principal<'_> =
    Principal::Account { account: "111122223333", arn: "arn:aws:iam::111122223333:user/ada" };

/// A send by a user of another account, over plain HTTP.
pub(crate) fn request() -> Request<'static> {
    Request {
        principal: ADA,
        action: "sqs:SendMessage",
        resource: QUEUE,
        context: Context::new([127, 0, 0, 1].into(), NOW),
    }
}

pub(crate) fn of_statements(statements: &[String]) -> Policy {
    let text = document(statements);
    Policy::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub(crate) fn document(statements: &[String]) -> String {
    format!(r#"{{"Version":"2012-10-17","Statement":[{}]}}"#, statements.join(","))
}
