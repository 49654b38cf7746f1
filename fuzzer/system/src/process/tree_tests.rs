use super::*;

fn limits(cpu: u64, wall: u64) -> Limits {
    Limits { cpu: Duration::from_millis(cpu), wall: Duration::from_millis(wall), patience: Duration::from_millis(200) }
}

fn shell(script: &str, limits: Limits) -> (Ended, String) {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log.txt");
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    let ended = run(command, cores()[0], limits, &log).unwrap();
    (ended, fs::read_to_string(log).unwrap())
}

#[test]
fn the_status_and_output_of_a_command_that_ends() {
    let (ended, output) = shell("echo out; echo err >&2; exit 7", limits(5000, 5000));
    assert_eq!((ended.status.and_then(|s| s.code()), output.as_str()), (Some(7), "out\nerr\n"));
}

#[test]
fn the_cpu_time_of_children_counts_also_in_other_sessions() {
    let busy = "sh -c 'while :; do :; done'";
    let (ended, _) = shell(&format!("setsid {busy} & {busy}"), limits(300, 20_000));
    assert!(ended.status.is_none(), "ended at its limit");
    assert!(ended.cpu >= Duration::from_millis(300) && ended.cpu < Duration::from_millis(600), "{:?}", ended.cpu);
    // Two processes share one core, so neither alone used all the CPU time.
    assert!(ended.wall < Duration::from_secs(10), "{:?}", ended.wall);
}

#[test]
fn a_sleeper_ends_by_wall_time_also_when_it_ignores_the_signal() {
    let (ended, _) = shell("trap '' INT; sleep 100", limits(5000, 200));
    assert!(ended.status.is_none() && ended.wall < Duration::from_secs(5), "{ended:?}");
}

#[test]
fn nothing_is_left_of_a_tree() {
    let name = format!("3{:07}", std::process::id());
    let _ = shell(&format!("setsid sleep {name} & trap '' INT; sleep {name}"), limits(5000, 300));
    let left = Command::new("pgrep").args(["-f", &format!("^sleep {name}")]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&left.stdout), "");
}
