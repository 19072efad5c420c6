//! Errors of signatures.

use super::{BOTH, QUERY, Row};

const DENIED: &str = "AccessDenied";
const INCOMPLETE: &str = "IncompleteSignature";
const UNKNOWN: &str = "InvalidClientTokenId";
const WRONG: &str = "SignatureDoesNotMatch";

const MISMATCH: &str = "The request signature we calculated does not match the signature you provided. Check your AWS \
                        Secret Access Key and signing method. Consult the service documentation for details.";
const TOKEN: &str = "The security token included in the request is invalid.";

pub(crate) const SIGNATURES: &[Row] = &[
    ("authentication", "no signature", BOTH, DENIED, "… is denied."),
    ("authentication", "unknown access key", BOTH, UNKNOWN, TOKEN),
    ("authentication", "session token", BOTH, UNKNOWN, TOKEN),
    ("authentication", "wrong signature", BOTH, WRONG, MISMATCH),
    ("authentication", "body changed", BOTH, WRONG, MISMATCH),
    (
        "authentication",
        "expired",
        BOTH,
        WRONG,
        "Signature expired: 20231114T215819Z is now earlier than 20231114T215820Z (20231114T221320Z - 15 min.)",
    ),
    (
        "authentication",
        "not yet current",
        BOTH,
        WRONG,
        "Signature not yet current: 20231114T222821Z is still later than 20231114T222820Z \
         (20231114T221320Z + 15 min.)",
    ),
    (
        "authentication",
        "host not signed",
        BOTH,
        WRONG,
        "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.",
    ),
    (
        "authentication",
        "scope of another service and day",
        BOTH,
        WRONG,
        "Credential should be scoped to correct service: 'sqs'. Date in Credential scope does not match YYYYMMDD from \
         ISO-8601 version of date from HTTP: '20231113' != '20231114', from '20231114T221320Z'.",
    ),
    (
        "authentication",
        "scope too short",
        BOTH,
        INCOMPLETE,
        "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term.",
    ),
    (
        "authentication",
        "Authorization incomplete",
        BOTH,
        INCOMPLETE,
        "Authorization header requires 'Signature' parameter. Authorization header requires 'SignedHeaders' \
         parameter.",
    ),
    (
        "authentication",
        "date in another format",
        BOTH,
        INCOMPLETE,
        "Date must be in ISO-8601 'basic format'. Got 'Tue, 14 Nov 2023 22:13:20 GMT'. See \
         http://en.wikipedia.org/wiki/ISO_8601",
    ),
    (
        "authentication",
        "signature version 2",
        QUERY,
        INCOMPLETE,
        "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.",
    ),
];
