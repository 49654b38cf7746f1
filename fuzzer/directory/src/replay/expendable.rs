//! Loads a target in a child process: its constructors may end the process, or never return.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use penfuzz_error::{Error, at};
use penfuzz_executor::fault::signal_name;
use penfuzz_system::process::{
    child::{self, Ending, Limit},
    streams,
};
use serde::{Serialize, de::DeserializeOwned};

/// Time limit for loading a target and examining it.
const PATIENCE: Duration = Duration::from_mins(1);

/// Runs `work`, which loads `file`, in a child process without standard streams, and returns its result.
///
/// # Errors
/// Those of `work`, without their sources; and if the child dies, or takes longer than a minute.
pub fn in_child<T: Serialize + DeserializeOwned>(
    file: &Path,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    let mut received = None;
    let examine = |send: &mut dyn FnMut(&Result<T, String>)| {
        // Without /dev/null, the target keeps the streams of this process.
        let _ = streams::disconnect(&[libc::STDIN_FILENO, libc::STDOUT_FILENO, libc::STDERR_FILENO]);
        send(&work().map_err(|e| e.to_string()));
    };
    let ending = child::run(examine, |answer| received = Some(answer), Limit::At(Instant::now() + PATIENCE));
    if let Some(answer) = received {
        return answer.map_err(Error::new);
    }
    Err(match ending {
        Ending::Died(0) => at(file, "ends the process (exit) while it is loaded: look at its constructors"),
        Ending::Died(signal) => {
            let how = signal_name(signal);
            at(file, format!("ends the process ({how}) while it is loaded: look at its constructors and initializers"))
        }
        Ending::Late | Ending::Done => {
            at(file, format!("is not loaded within {} s: look at its constructors", PATIENCE.as_secs()))
        }
    })
}
