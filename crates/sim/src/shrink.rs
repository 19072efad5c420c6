//! Making a failing run smaller: what it fails without is left out.

use crate::clients::Role;
use crate::faults::FaultKind;
use crate::options::Options;
use crate::run;

/// The smallest run that could be found which breaks the same promise.
pub fn shrink(options: &Options, checker: &str) -> Options {
    let fails = |options: &Options| run(options, false).violation.is_some_and(|it| it.checker == checker);
    let mut smallest = options.clone();
    let mut try_with = |change: &dyn Fn(&mut Options)| {
        let mut smaller = smallest.clone();
        change(&mut smaller);
        if smaller != smallest && fails(&smaller) {
            smallest = smaller;
        }
    };
    // Twice: what was needed while another thing was there may not be needed without it.
    for _ in 0..2 {
        for kind in FaultKind::ALL {
            try_with(&|options| options.without_faults.extend([kind]));
        }
        for role in Role::ALL {
            try_with(&|options| options.without_clients.extend([role]));
        }
        for shorter in [1_000, 2_000, 4_000, 8_000, 16_000, 32_000] {
            try_with(&|options| options.span = Some(options.span.map_or(shorter, |span| span.min(shorter))));
        }
    }
    smallest
}
