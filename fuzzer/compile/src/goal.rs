//! Compiles the file of a goal of the user's own (`pen_goal.h`; *Mathematical Execution*, Sect. 4, the researcher
//! layer).

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use penfuzz_abi::names::GOAL_END;
use penfuzz_error::{Error, at, failed};
use penfuzz_target::{hash::StableHash, program::kind::absolute};

use crate::{DEFAULT_LEVEL, Place, objects};

/// Compiles the goal. It is an ordinary source whose conditionals call no goal. Returns its absolute path and its
/// object.
///
/// # Errors
/// If the file cannot be read, or the compiler rejects it.
pub(super) fn object(goal: &Path, place: &Place) -> Result<Vec<(PathBuf, PathBuf)>, Error> {
    let path = absolute(goal)?;
    let text = std::fs::read(&path).map_err(|e| failed(goal, "cannot be read", e))?;
    let name = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    // The name of the function contains the hash, so a campaign with another goal is another campaign.
    let hash = StableHash::new().text(&String::from_utf8_lossy(&text)).finish();
    let flags = [
        DEFAULT_LEVEL.to_owned(),
        format!("-DPEN_GOAL_FILE=\"{name}\""),
        format!("-DPEN_GOAL_END={GOAL_END}{hash:016x}"),
    ];
    objects(&[path], &flags, false, place)
}

/// Checks that the undefined symbols of a target are none that the goal has to define.
///
/// # Errors
/// If the goal lacks one.
pub(super) fn check(goal: &Path, undefined: &BTreeSet<String>) -> Result<(), Error> {
    let lacks = |name: &str| undefined.contains(name);
    match () {
        () if lacks("__pen_goal_begin") => Err(at(goal, "is no goal: it does not include pen_goal.h")),
        () if lacks("pen") => Err(at(
            goal,
            "defines no function `double pen(const struct pen_condition *at, double r, double lhs, double rhs)`",
        )),
        () if lacks("pen_r0") => Err(at(goal, "defines no `double pen_r0`, the value of r before a run")),
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_parts_of_a_goal_are_named() {
        let lacking = |names: &[&str]| {
            let names = names.iter().map(|n| (*n).to_owned()).collect();
            check(Path::new("g.c"), &names).err().map(|e| e.to_string())
        };
        assert_eq!(lacking(&["sqrt", "pend"]), None, "symbols of the target");
        assert!(lacking(&["pen", "pen_r0"]).is_some_and(|e| e.starts_with("g.c defines no function `double pen(")));
        assert!(lacking(&["pen_r0"]).is_some_and(|e| e.contains("`double pen_r0`")));
        assert!(lacking(&["__pen_goal_begin", "__pen_goal_end"]).is_some_and(|e| e.contains("pen_goal.h")));
    }
}
