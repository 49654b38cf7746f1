//! Tests of the files as readers and programs see them.

use penfuzz_suite::{
    config::PublishedMeans,
    gcov::{Executed, GcovCriteria},
};

use super::*;

fn document(experiment: &Experiment, trials: &[Trial]) -> String {
    let grid = Grid::new(experiment, trials);
    markdown::document(&grid, &Summary::new(&grid))
}

fn page(experiment: &Experiment, trials: &[Trial]) -> String {
    let grid = Grid::new(experiment, trials);
    html::page(&grid, &Summary::new(&grid))
}

/// With `PENFUZZ_EXAMPLES`, the reports remain in that directory for inspection.
#[test]
#[ignore = "a measurement: for release builds on an idle machine"]
fn eleven_thousand_trials_are_reported_in_half_a_second() {
    let (experiment, trials) = example::experiment(40, 14, 20);
    let temporary = tempfile::tempdir().unwrap();
    let root = std::env::var_os("PENFUZZ_EXAMPLES").map_or(temporary.path().to_owned(), Into::into);
    let start = std::time::Instant::now();
    write_all(&directory(&root, "large"), &experiment, &trials).unwrap();
    let taken = start.elapsed();
    println!("{} trials in {taken:?}\n{}", trials.len(), headline(&experiment, &trials));
    let (small, trials) = example::experiment(3, 2, 1);
    write_all(&directory(&root, "small"), &small, &trials).unwrap();
    assert!(taken < std::time::Duration::from_millis(500), "{taken:?}");
}

fn directory(root: &Path, name: &str) -> std::path::PathBuf {
    let dir = root.join(name);
    fs::create_dir_all(&dir).unwrap();
    dir
}

fn summary(experiment: &Experiment, trials: &[Trial]) -> Summary {
    Summary::new(&Grid::new(experiment, trials))
}

#[test]
fn markdown_table_snapshot() {
    let (mut experiment, mut trials) = example::experiment(3, 3, 4);
    trials[1].error = Some("the tool ended\nwith status 1".to_owned());
    experiment.tools[2].skipped = Some("there is no afl-fuzz; install it with apt-get install afl++".to_owned());
    insta::assert_snapshot!(document(&experiment, &trials));
}

#[test]
fn headline_snapshot() {
    let (experiment, trials) = example::experiment(3, 5, 4);
    insta::assert_snapshot!(headline(&experiment, &trials));
}

#[test]
fn the_page_is_well_formed_and_fetches_nothing() {
    for (functions, tools, trials) in [(5, 14, 4), (3, 2, 1), (2, 1, 2)] {
        let (experiment, trials) = example::experiment(functions, tools, trials);
        let page = page(&experiment, &trials);
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
        let document = roxmltree::Document::parse_with_options(&page, options).unwrap();
        for element in document.descendants().filter(roxmltree::Node::is_element) {
            let name = element.tag_name().name();
            assert!(!["script", "link", "img", "iframe", "object"].contains(&name), "<{name}>");
            for attribute in element.attributes() {
                assert!(!attribute.value().contains("://"), "{}={:?}", attribute.name(), attribute.value());
            }
        }
        let style = document.descendants().find(|n| n.has_tag_name("style")).and_then(|n| n.text()).unwrap();
        assert!(!style.contains("url(") && !style.contains("@import"), "the style sheet fetches something");
    }
}

#[test]
fn names_and_errors_cannot_break_the_page() {
    let (mut experiment, mut trials) = example::experiment(2, 2, 1);
    experiment.tools[1].what = "<b> & \"x\" \u{1}".to_owned();
    trials[0].error = Some("</ul><script>".to_owned());
    let page = page(&experiment, &trials);
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    assert!(roxmltree::Document::parse_with_options(&page, options).is_ok());
    assert!(!page.contains("<script>"), "the error is text, not an element");
}

#[test]
fn every_file_is_written_and_the_script_can_be_run() {
    let (experiment, trials) = example::experiment(2, 2, 2);
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        write_all(dir.path(), &experiment, &trials).unwrap();
    }
    let mut names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["index.html", "rerun.sh", "results.csv", "summary.json", "table.md"]);
    let program = dir.path().join("fake");
    fs::write(&program, "#!/bin/sh\nfor word; do echo \"[$word]\"; done\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let run = std::process::Command::new(dir.path().join("rerun.sh"))
        .arg("new dir")
        .env("PENFUZZ", &program)
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(run.stdout).unwrap(),
        "[compare]\n[suite.toml]\n[--tools]\n[penfuzz,afl++]\n[--only]\n[a b]\n[-o]\n[new dir]\n"
    );
}

#[test]
fn the_csv_has_one_row_per_trial() {
    let (experiment, mut trials) = example::experiment(2, 3, 2);
    trials[0].error = Some("a, \"b\"".to_owned());
    let covered = trials[0].covered();
    trials[0].timeline.push(crate::model::Point { seconds: 99.0, covered });
    let bytes = csv::table(&Grid::new(&experiment, &trials));
    let mut reader = ::csv::Reader::from_reader(bytes.as_slice());
    let head = reader.headers().unwrap().clone();
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), trials.len());
    let field = |name: &str| &rows[0][head.iter().position(|h| h == name).unwrap()];
    assert_eq!((field("tool"), field("total"), field("covered"), field("best_known")), ("penfuzz", "8", "6", "6"));
    assert_eq!(field("error"), "a, \"b\"");
    let last: f64 = field("time_to_last_branch").parse().unwrap();
    assert!(last < 99.0, "a later stamp without a new branch does not count: {last}");
}

/// Two tools, with these numbers of covered branches of 10 per function and trial.
fn made(reference: &[&[usize]], other: &[&[usize]]) -> (Experiment, Vec<Trial>) {
    let (mut experiment, trials) = example::experiment(reference.len(), 2, 9);
    experiment.trials = reference[0].len() as u32;
    let pick = |f: usize, t: usize, n: usize, covered: usize| {
        let mut trial = trials[(f * 2 + t) * 9 + n].clone();
        (trial.total, trial.taken) = (10, (0..covered as u32).collect());
        trial
    };
    let mut out = Vec::new();
    for (t, tool) in [reference, other].into_iter().enumerate() {
        for (f, covered) in tool.iter().enumerate() {
            out.extend(covered.iter().enumerate().map(|(n, &c)| pick(f, t, n, c)));
        }
    }
    (experiment, out)
}

#[test]
fn a_tool_is_compared_on_each_function_and_on_all() {
    let (experiment, trials) = made(&[&[9; 4], &[8; 4], &[5; 4]], &[&[7; 4], &[8; 4], &[6; 4]]);
    let summary = summary(&experiment, &trials);
    let other = &summary.tools[1];
    let against = other.against.as_ref().unwrap();
    assert_eq!((against.better, against.equal, against.worse), (1, 1, 1));
    // Four against four without overlap: 2 of 70; by Holm times 3. Means of shares: 73.3 and 70.
    let first = summary.functions[0].tools[1].against.unwrap();
    assert!((first.p - 2.0 / 70.0).abs() < 1e-12 && (first.p_holm - 6.0 / 70.0).abs() < 1e-12, "{first:?}");
    assert_eq!((against.better_significant, against.pooled.a12), (0, Some(1.0)));
    assert!((against.pooled.p.unwrap() - 2.0 / 70.0).abs() < 1e-12);
    assert!(
        (other.coverage.unwrap() - 70.0).abs() < 1e-9
            && (summary.tools[0].coverage.unwrap() - 220.0 / 3.0).abs() < 1e-9
    );
    // Best known: 9, 8 and 6.
    let of_best = 100.0 * (7.0 / 9.0 + 1.0 + 1.0) / 3.0;
    assert!((other.coverage_of_best.unwrap() - of_best).abs() < 1e-9);
    assert_eq!((summary.tools[0].functions_at_best, other.functions_at_best), (2, 2));
    assert_eq!(summary.losses().iter().map(|loss| loss.function.function.as_str()).collect::<Vec<_>>(), ["function_2"]);
}

#[test]
fn the_best_known_is_the_union_over_tools_and_trials() {
    let (experiment, mut trials) = made(&[&[1, 1]], &[&[1, 1]]);
    trials[3].taken = vec![7];
    assert_eq!(summary(&experiment, &trials).functions[0].best_known, 2);
}

#[test]
fn a_running_experiment_counts_its_finished_trials() {
    let (mut experiment, trials) = made(&[&[9; 5], &[9; 3]], &[&[7; 4], &[]]);
    experiment.trials = 5;
    let summary = summary(&experiment, &trials);
    assert_eq!((summary.trials_done, summary.trials_planned), (12, 20));
    let pooled = &summary.tools[1].against.as_ref().unwrap().pooled;
    assert_eq!((pooled.functions, pooled.n_reference, pooled.n), (1, 5, 4), "the function that both have");
    assert!(headline(&experiment, &trials).contains("12 of 20 trials are done"));
    assert!(page(&experiment, &trials).contains("12 of 20 trials are done"));
}

#[test]
fn few_trials_cannot_be_significant_and_a_note_has_the_smallest_p() {
    for (n, p) in [(1, "1.000"), (2, "0.333"), (3, "0.100")] {
        let (high, low) = (vec![9; n], vec![1; n]);
        let (experiment, trials) = made(&[&high], &[&low]);
        let text = document(&experiment, &trials);
        assert!(text.contains("no difference can be significant") && text.contains(p), "{text}");
        assert!(text.contains("| 1 / 0 / 0 |"), "no count of significant ones: {text}");
    }
}

#[test]
fn a_failed_trial_counts_with_its_coverage() {
    let (experiment, mut trials) = made(&[&[9, 9]], &[&[7, 7]]);
    (trials[3].total, trials[3].taken, trials[3].error) = (0, vec![], Some("no corpus".to_owned()));
    let summary = summary(&experiment, &trials);
    assert_eq!(summary.tools[1].coverage, Some(35.0));
    assert_eq!((summary.errors.len(), summary.tools[1].errors), (1, 1));
}

#[test]
fn nothing_at_all_can_be_written_too() {
    let (mut experiment, _) = example::experiment(2, 2, 1);
    for tools in [2, 0] {
        experiment.tools.truncate(tools);
        write_all(tempfile::tempdir().unwrap().path(), &experiment, &[]).unwrap();
        assert!(headline(&experiment, &[]).contains("none"));
    }
}

#[test]
fn the_first_tool_is_the_reference_when_penfuzz_is_not_there() {
    let (mut experiment, trials) = example::experiment(1, 3, 1);
    experiment.tools[0].skipped = Some("not built".to_owned());
    assert_eq!(summary(&experiment, &trials).reference, "penfuzz-random-moves");
}

#[test]
fn published_means_are_over_the_functions_that_have_both() {
    let (experiment, trials) = example::experiment(3, 8, 2);
    let grid = Grid::new(&experiment, &trials);
    let table = paper::table(&grid).unwrap();
    let column = table.head.iter().position(|h| h == "AFL, %").unwrap();
    let texts: Vec<_> = table.rows.iter().map(|r| r[column].text.as_str()).collect();
    assert_eq!(texts, ["70.0", "-", "70.0", "70.0"]);
    let ours: Vec<f64> = table.rows.iter().map(|r| r[column + 1].text.parse().unwrap()).collect();
    assert!((ours[3] - f64::midpoint(ours[0], ours[2])).abs() < 0.11, "without function_1: {ours:?}");
    assert!(paper::notes(&grid).concat().contains("1 function: function_1"), "its branch count differs");
}

#[test]
fn criteria_are_means_over_functions_with_published_rows_below() {
    let (mut experiment, mut trials) = example::experiment(2, 2, 2);
    let without = summary(&experiment, &trials);
    assert!(criteria::table(&Grid::new(&experiment, &trials), &without).is_none(), "older trials have no counts");
    for (trial, covered) in trials.iter_mut().filter(|t| t.tool == "penfuzz").zip([10, 6, 4, 4]) {
        let some = Executed { total: 10, covered };
        // The second function has no calls.
        let calls = if trial.function == "function_0" { some } else { Executed::default() };
        trial.criteria = Some(GcovCriteria { lines: some, conditions: some, calls });
    }
    experiment.published =
        vec![PublishedMeans { tool: "Austin".to_owned(), branches: Some(42.8), ..PublishedMeans::default() }];
    let summary = summary(&experiment, &trials);
    let table = criteria::table(&Grid::new(&experiment, &trials), &summary).unwrap();
    let row = |i: usize| table.rows[i].iter().map(|c| c.text.as_str()).collect::<Vec<_>>();
    let ours = (0..3).map(row).find(|r| r[0] == "penfuzz").unwrap();
    assert_eq!((ours[1], ours[2], ours[4]), ("60.0", "60.0", "80.0"));
    assert_eq!(row(2), ["Austin, published", "-", "-", "42.8", "-"]);
}

#[test]
fn tables_and_charts_rank_by_the_mean() {
    // The first tool has the higher median, the second one the higher mean.
    let (experiment, mut trials) = made(&[&[9, 9, 0]], &[&[8, 8, 8]]);
    for trial in &mut trials {
        trial.timeline = vec![crate::model::Point { seconds: 1.0, covered: trial.covered() }];
    }
    let grid = Grid::new(&experiment, &trials);
    let expected = [&experiment.tools[1].name, &experiment.tools[0].name];
    let summary = Summary::new(&grid);
    assert_eq!(tables::ranked(&summary).iter().map(|t| &t.tool).collect::<Vec<_>>(), expected);
    let times = curves::times(&grid);
    for chart in [plots::trials(&grid).unwrap(), plots::over_time(&grid, &times).unwrap()] {
        let at = |name: &str| chart.find(&format!("{name}</text>")).unwrap_or_else(|| panic!("no {name} in {chart}"));
        assert!(at(expected[0]) < at(expected[1]), "{chart}");
    }
}

#[test]
fn columns_without_a_figure_are_left_out() {
    let (experiment, trials) = example::experiment(2, 1, 2);
    let table = tables::headline(&summary(&experiment, &trials));
    for name in ["better / equal / worse", "A12", "p"] {
        assert!(!table.head.iter().any(|h| h == name), "{name}: one tool alone is compared with nothing");
    }
    assert!(table.head.iter().any(|h| h == "coverage, %") && table.rows.iter().all(|r| r.len() == table.head.len()));
    assert_eq!(tables::headline(&summary(&experiment, &[])).head[0], "tool");
}
