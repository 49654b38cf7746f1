use super::*;

#[test]
fn hidden_files_and_directories_are_no_inputs() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("id:000000"), [1]).unwrap();
    fs::write(dir.path().join(".cur_input"), [2]).unwrap();
    fs::create_dir(dir.path().join(".state")).unwrap();
    let mut all = Vec::new();
    add(&mut all, dir.path(), |_, _| Some(Duration::ZERO)).unwrap();
    assert_eq!(all, [Stamped { at: Duration::ZERO, bytes: vec![1] }]);
}

#[test]
fn a_directory_that_is_not_there_has_no_inputs() {
    let mut all = Vec::new();
    add(&mut all, Path::new("/nonexistent/queue"), |_, _| Some(Duration::ZERO)).unwrap();
    assert_eq!(all, []);
}

#[test]
fn a_seed_that_the_tool_took_over_counts_once() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a"), [1]).unwrap();
    fs::write(dir.path().join("b"), [2]).unwrap();
    let found = Stamped { at: Duration::from_millis(5), bytes: vec![1] };
    let mut all = vec![found.clone()];
    add_seeds(&mut all, dir.path()).unwrap();
    assert_eq!(all, [found, Stamped { at: Duration::ZERO, bytes: vec![2] }]);
}

#[test]
fn a_file_from_before_the_trial_is_from_its_start() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("seed");
    fs::write(&path, []).unwrap();
    let about = fs::metadata(&path).unwrap();
    let later = about.modified().unwrap() + Duration::from_secs(1);
    assert_eq!(written(&about, later), Duration::ZERO);
}

#[test]
fn a_file_is_dated_from_the_start_of_the_trial() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("found");
    fs::write(&path, []).unwrap();
    let about = fs::metadata(&path).unwrap();
    let earlier = about.modified().unwrap() - Duration::from_millis(1500);
    assert_eq!(written(&about, earlier), Duration::from_millis(1500));
}

#[test]
fn a_tools_own_clock_starts_later_than_the_trial() {
    let ms = Duration::from_millis;
    let input = |at| Stamped { at: ms(at), bytes: vec![] };
    // Written 25 ms, 20 ms and, rewritten after trimming, 900 ms after the time in the name; and one without such a
    // time.
    let mut all = [input(25), input(120), input(1100), input(7)];
    move_to_own(&mut all, &[Some(ms(0)), Some(ms(100)), Some(ms(200)), None]);
    assert_eq!(all.map(|input| input.at), [ms(20), ms(120), ms(220), ms(7)]);
    // The clock of the file system may be coarser than the tool's.
    let mut early = [input(3)];
    move_to_own(&mut early, &[Some(ms(5))]);
    assert_eq!(early[0].at, ms(5));
}

#[test]
fn a_log_is_cut_where_a_start_begins() {
    let log = "noise\nINFO: a\nb\nINFO: c\n";
    assert_eq!(starts(log, |line| line.starts_with("INFO")), ["INFO: a\nb\n", "INFO: c\n"]);
}

#[test]
fn random_bytes_are_as_many_as_asked_for_and_differ_by_seed() {
    assert_eq!(random(1, 13).len(), 13);
    assert_ne!(random(1, 13), random(2, 13));
}

#[test]
fn the_time_in_a_name_is_in_milliseconds() {
    let name = "id:000004,src:000002,time:1031,execs:1321,op:havoc,rep:1,+cov";
    assert_eq!(time_in(name), Some(Duration::from_millis(1031)));
}

#[test]
fn a_crash_has_its_time_too() {
    assert_eq!(time_in("id:000000,sig:11,src:000000,time:17,execs:9,op:havoc,rep:2"), Some(Duration::from_millis(17)));
}

#[test]
fn a_name_without_a_time_has_none() {
    assert_eq!(time_in("id:000000,orig:zero"), None);
}
