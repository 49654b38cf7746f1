//! Parsers of option values that clap does not have: times, amounts of memory, cores, addresses, monitors. Also an
//! option that several commands share.

use std::time::Duration;

use penfuzz_campaign::watch::Monitor;
use penfuzz_target::inputs::ArgConstraint;

/// The user's consent to run what a campaign directory names; shared by the commands that read one.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct TrustArgs {
    /// Compile, load and run the files that the directory names, even if penfuzz of this user did not write it.
    #[arg(long)]
    pub trust: bool,
}

/// Parses a finite number that is at least 0.
///
/// # Errors
/// When the value is another one.
pub fn not_negative(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|v: &f64| v.is_finite() && *v >= 0.0)
        .ok_or_else(|| format!("`{text}` is no finite number that is at least 0"))
}

/// Parses a time with its unit: `500ms`, `30s`, `5m`, `2h`, `1d`; a bare number is seconds.
///
/// # Errors
/// When the value is not a time; the message has an example.
pub fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.trim().parse().map_err(|_| usage(text))?;
    let scale = match unit {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return Err(usage(text)),
    };
    let seconds = number * scale;
    if !(0.001..=31_536_000.0 * 10.0).contains(&seconds) {
        return Err(format!("`{text}` is out of range: from 1ms to ten years"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn usage(text: &str) -> String {
    format!("`{text}` is not a time; write for example 500ms, 30s, 5m or 2h")
}

/// Parses a share in percent, from 0 to 100: `90`, `87.5`, `90%`.
///
/// # Errors
/// When the value is not a share; the message has an example.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    let usage = || format!("`{text}` is not a share in percent, from 0 to 100; write for example 90 or 87.5");
    number.filter(|n| (0.0..=100.0).contains(n)).ok_or_else(usage)
}

/// Parses an amount of memory: `512M`, `2G`, or bytes.
///
/// # Errors
/// When the value is not an amount; the message has an example.
pub fn memory(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 =
        number.parse().map_err(|_| format!("`{text}` is not an amount of memory; write for example 512M or 2G"))?;
    let scale: u64 = match unit.to_ascii_uppercase().trim_end_matches('B').trim_end_matches('I') {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        _ => return Err(format!("`{text}` is not an amount of memory; write for example 512M or 2G")),
    };
    let bytes = number.checked_mul(scale).ok_or_else(|| format!("`{text}` is too large"))?;
    if bytes < 16 << 20 { Err(format!("`{text}` is too small: at least 16M")) } else { Ok(bytes) }
}

/// Numbers of cores, ascending, without duplicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cores(pub Vec<usize>);

/// Parses a list of cores: `0-3`, `0,2`, `1`.
///
/// # Errors
/// When the value is not a list of cores; the message has an example.
pub fn cores(text: &str) -> Result<Cores, String> {
    let usage = || format!("`{text}` is not a list of cores; write for example 0-3 or 0,2");
    let mut all = std::collections::BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |t: &str| t.trim().parse::<usize>().ok().filter(|n| *n < 4096).ok_or_else(usage);
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(usage());
        }
        all.extend(first..=last);
    }
    Ok(Cores(all.into_iter().collect()))
}

/// Parses a host and a port: `host:7777`, `[::1]:7777`.
///
/// # Errors
/// When the value is not a host and a port; the message has an example.
pub fn host_and_port(text: &str) -> Result<String, String> {
    let usage = || format!("`{text}` is not a host and port; write for example farm2:7777");
    let (host, port) = text.rsplit_once(':').ok_or_else(usage)?;
    let port_is_fine = port.parse::<u16>().is_ok_and(|p| p > 0);
    if host.is_empty() || !port_is_fine { Err(usage()) } else { Ok(text.to_owned()) }
}

/// Parses a constraint on an argument: `NAME: DOMAIN`.
///
/// # Errors
/// When the value is not a constraint; the message lists the domains.
pub fn statement(text: &str) -> Result<String, String> {
    ArgConstraint::parse(text).map(|_| text.to_owned())
}

/// Parses a progress display: `dashboard`, `lines`, `json`, `prometheus=ADDRESS:PORT`.
///
/// # Errors
/// When the value is not a progress display; the message has an example.
pub fn monitor(text: &str) -> Result<Monitor, String> {
    match text.split_once('=') {
        None if text == "dashboard" => Ok(Monitor::Dashboard),
        None if text == "lines" => Ok(Monitor::Lines),
        None if text == "json" => Ok(Monitor::Json),
        Some(("prometheus", address)) => address.parse().map(Monitor::Prometheus).map_err(|_| {
            format!("`{address}` is not an address and port; write for example prometheus=127.0.0.1:9184")
        }),
        _ => Err(format!("unknown monitor `{text}`; use one of dashboard, lines, json and prometheus=ADDRESS:PORT")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2h"), Ok(Duration::from_hours(2)));
    }

    #[test]
    fn absurd_durations_are_refused() {
        for text in ["", "s", "-1s", "0", "1x", "nan", "inf", "1e99"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn constants_are_finite_and_not_negative() {
        assert_eq!((not_negative("0"), not_negative("1e-6"), not_negative("300")), (Ok(0.0), Ok(1e-6), Ok(300.0)));
        for text in ["", "-1", "nan", "inf", "1s"] {
            assert!(not_negative(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares_are_from_0_to_100() {
        assert_eq!(
            (percent("90"), percent("87.5%"), percent("0"), percent("100")),
            (Ok(90.0), Ok(87.5), Ok(0.0), Ok(100.0))
        );
        for text in ["", "%", "-1", "100.1", "nan", "inf", "9x", "0.9.1"] {
            assert!(percent(text).is_err(), "{text}");
        }
    }

    #[test]
    fn cores_are_ranges_and_numbers() {
        assert_eq!(cores("0-2,5,1").unwrap().0, [0, 1, 2, 5]);
        for text in ["", "a", "3-1", "1-", "-1", "99999"] {
            assert!(cores(text).is_err(), "{text}");
        }
    }

    #[test]
    fn hosts_have_ports() {
        assert!(host_and_port("farm2:7777").is_ok() && host_and_port("[::1]:1").is_ok());
        for text in ["", "farm2", ":7", "farm2:", "farm2:0", "farm2:99999"] {
            assert!(host_and_port(text).is_err(), "{text}");
        }
    }

    #[test]
    fn monitors_have_names() {
        assert_eq!(monitor("lines"), Ok(Monitor::Lines));
        assert!(matches!(monitor("prometheus=127.0.0.1:9184"), Ok(Monitor::Prometheus(a)) if a.port() == 9184));
        for text in ["", "tui", "lines=1", "prometheus", "prometheus=x", "prometheus=9184"] {
            assert!(monitor(text).is_err(), "{text}");
        }
    }

    #[test]
    fn memory_has_units() {
        assert_eq!(memory("1G"), Ok(1 << 30));
        assert_eq!(memory("512MiB"), Ok(512 << 20));
        assert!(memory("12").is_err() && memory("1Q").is_err() && memory("99999999999T").is_err());
    }
}
