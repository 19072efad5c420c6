//! What a policy is asked about.

use std::net::IpAddr;

/// Who makes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Principal<'a> {
    /// Nobody known: the request is not signed.
    Anonymous,
    /// A service of this server's own that acts for one of its resources, such as `sns.amazonaws.com`.
    Service(&'a str),
    /// A credential.
    Account {
        /// Its account, twelve digits.
        account: &'a str,
        /// Its ARN, `arn:aws:iam::<account>:root` or `arn:aws:iam::<account>:user/<name>`.
        arn: &'a str,
    },
}

/// A request as policies see it.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Who makes it.
    pub principal: Principal<'a>,
    /// What it does, `<service>:<action>`; in any case. Batch actions go by the name of their base action.
    pub action: &'a str,
    /// ARN of what it is done to.
    pub resource: &'a str,
    /// Its circumstances.
    pub context: Context<'a>,
}

/// The circumstances of a request: the values of condition keys.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Where it comes from: `aws:SourceIp`.
    pub source_ip: IpAddr,
    /// Whether it came over TLS: `aws:SecureTransport`.
    pub secure_transport: bool,
    /// When it came, in seconds since 1970: `aws:CurrentTime` and `aws:EpochTime`.
    pub now_s: i64,
    /// Its user agent, if it names one: `aws:UserAgent`.
    pub user_agent: Option<&'a str>,
    /// ARN of the resource that a service acts for: `aws:SourceArn`.
    pub source_arn: Option<&'a str>,
    /// Account of that resource: `aws:SourceAccount`.
    pub source_account: Option<&'a str>,
}

impl Context<'_> {
    /// The context of a plain HTTP request that says nothing of itself.
    pub fn new(source_ip: IpAddr, now_s: i64) -> Self {
        Context {
            source_ip,
            secure_transport: false,
            now_s,
            user_agent: None,
            source_arn: None,
            source_account: None,
        }
    }
}
