//! The description of the machine that an experiment runs on.

use std::fs;

use penfuzz_directory::object;

use super::model::Machine;

/// Describes this machine.
#[must_use]
pub fn describe(cores: &[usize]) -> Machine {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let after = |text: &str, key: &str, separator: char| {
        let line = text.lines().find(|l| l.trim_start().starts_with(key)).unwrap_or_default();
        line.split_once(separator).map_or(String::new(), |(_, value)| value.trim().trim_matches('"').to_owned())
    };
    let kilobytes = after(&read("/proc/meminfo"), "MemTotal", ':');
    let kernel = read("/proc/sys/kernel/osrelease");
    Machine {
        cpu: after(&read("/proc/cpuinfo"), "model name", ':'),
        cores: cores.to_vec(),
        memory: kilobytes.split_whitespace().next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) * 1024,
        system: format!("{}, Linux {}", after(&read("/etc/os-release"), "PRETTY_NAME", '='), kernel.trim()),
        gcc: object::gcc_version().to_owned(),
    }
}
