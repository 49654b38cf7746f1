//! Corpus tools: `cmin`, `merge` and `tmin` on the output directories of campaigns.

use std::{fs, path::Path};

use crate::support::{Dir, fixture, open_branches};

/// Copies a campaign's inputs and state to a client's directory.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("directories can be made");
    for entry in fs::read_dir(from).expect("a directory of penfuzz").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a file can be copied");
        }
    }
}

/// Creates `farm`, a farm of two clients, from the campaigns in `one` and `two`.
pub fn farm(dir: &Dir, one: &str, two: &str) {
    for (client, from) in [("c0", one), ("c1", two)] {
        for part in ["queue", "pending", "crashes", "hangs"] {
            copy(&dir.path(from).join(part), &dir.path(format!("farm/{client}/{part}")));
        }
        fs::copy(dir.path(from).join("state.json"), dir.path(format!("farm/{client}/state.json"))).expect("a state");
    }
    fs::copy(dir.path(one).join("campaign.json"), dir.path("farm/campaign.json")).expect("campaign.json");
}

fn campaign(dir: &Dir, target: &Path, out: &str, arguments: &str, status: i32) {
    dir.penfuzz("").arg(target).args(&format!("-o {out}")).args(arguments).exits(status);
}

#[test]
fn fewer_inputs_cover_the_same() {
    let dir = Dir::new();
    let target = fixture("floats.c");
    campaign(&dir, &target, "a", "--search random --seed 1 --max-evals 20000", 0);
    campaign(&dir, &target, "b", "", 0);
    farm(&dir, "a", "b");
    let run = dir.penfuzz("cmin farm -o few --json").exits(0);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON on standard output");
    let before = ["c0/queue", "c0/pending", "c1/queue", "c1/pending"].map(|d| dir.files(&format!("farm/{d}")).len());
    let few = dir.files("few");
    run.expect(json["inputs"] == before.iter().sum::<usize>(), "all inputs of both clients were looked at");
    run.expect(json["covered"] == 16 && json["total"] == 16, "all 16 branches covered");
    run.expect(json["chosen"].as_array().is_some_and(|c| c.len() == few.len()), "each chosen input written");
    run.expect(few.len() < before.iter().sum::<usize>(), "fewer inputs than before");
    run.expect(few.keys().all(|n| n.starts_with("id:00") && n.contains("src:")), "AFL++ names with the old number");
    // As seeds, these inputs cover everything without a search.
    let seeded = dir.penfuzz("").arg(&target).args("-i few -o seeded --search random").arg("--max-evals");
    let seeded = seeded.arg(few.len().to_string()).exits(0);
    seeded.expect(open_branches(&dir.report("seeded")).is_empty(), "all branches covered by the chosen inputs");
}

#[test]
fn cmin_without_o_writes_nothing() {
    let dir = Dir::new();
    campaign(&dir, &fixture("floats.c"), "out", "", 0);
    let before = dir.files("out/queue");
    let run = dir.penfuzz("cmin out").exits(0);
    run.expect(run.stdout.contains("inputs suffice for the 16 branches"), "the number of branches");
    run.expect(dir.files("out/queue") == before, "the campaign as it was");
    run.expect(!dir.path("out.min").exists(), "no directory beside it");
}

#[test]
fn cmin_refuses_a_directory_in_use() {
    let dir = Dir::new();
    campaign(&dir, &fixture("floats.c"), "out", "", 0);
    dir.file("few/mine", "1");
    dir.penfuzz("cmin out -o few").exits(1).says("few is not empty");
    dir.penfuzz("cmin few").exits(1).says("few is not an output directory of penfuzz");
}

#[test]
fn a_target_is_linked_again_when_the_cache_is_gone() {
    let dir = Dir::new();
    let target = fixture("floats.c");
    let cache = dir.path("cache");
    dir.penfuzz("-o out").arg(&target).env("XDG_CACHE_HOME", &cache).exits(0);
    fs::remove_dir_all(&cache).expect("the cache can be removed");
    let run = dir.penfuzz("cmin out").env("XDG_CACHE_HOME", &cache).exits(0);
    run.expect(run.stdout.contains("for the 16 branches"), "all branches on the target that was linked again");
    run.expect(run.stderr.is_empty(), "no word of a change");
}

#[test]
fn a_changed_target_is_told() {
    let dir = Dir::new();
    let target = dir.file("f.c", "int f(double x) { return x > 1.0 ? 1 : 2; }");
    let cache = dir.path("cache");
    dir.penfuzz("-o out").arg(&target).env("XDG_CACHE_HOME", &cache).exits(0);
    fs::remove_dir_all(&cache).expect("the cache can be removed");
    dir.file("f.c", "int f(double x) { if (x < -5.0) return 3; return x > 1.0 ? 1 : 2; }");
    let run = dir.penfuzz("cmin out").env("XDG_CACHE_HOME", &cache).exits(0);
    run.says("f.c has changed since the campaign");
    run.expect(run.stdout.contains("(of 4)"), "branches of the target as it is now");
}

/// Each client covers half of the branches; together they cover all.
#[test]
fn merged_campaign_continues_with_the_inputs_of_both() {
    let dir = Dir::new();
    let target = dir.file(
        "halves.c",
        "int halves(double x) {
           if (x == 123.25) return 1;
           if (x == -77.5) return 2;
           if (x * x == -1.0) return 3;
           return 0;
         }",
    );
    for (name, value) in [("s1", 123.25f64), ("s2", -77.5)] {
        dir.file(&format!("{name}/seed"), value.to_le_bytes());
    }
    campaign(&dir, &target, "a", "-i s1 --search random --max-evals 100", 0);
    campaign(&dir, &target, "b", "-i s2 --search random --max-evals 200", 0);
    let run = dir.penfuzz("merge a b -o both").exits(0);
    let merged = dir.report("both");
    run.expect(open_branches(&merged) == ["4 true"], "all branches covered but the one that cannot be");
    let sum = dir.report("a").evaluations + dir.report("b").evaluations;
    run.expect(merged.evaluations == sum && merged.stop_reason == "merged", "the evaluations of both");
    let report = dir.penfuzz("report both").exits(0);
    report.expect(report.stdout.contains("5 of 6 branches"), "the summary of the merged campaign");
    let resumed = dir.penfuzz("-o both --search random").arg(&target).args("--max-evals 1000").exits(0);
    resumed.says("resuming both").says(&format!("after {sum} evaluations"));
    resumed.expect(open_branches(&dir.report("both")) == ["4 true"], "nothing lost");
}

#[test]
fn crashes_are_merged_by_their_places() {
    let dir = Dir::new();
    let target = fixture("segv.c");
    campaign(&dir, &target, "a", "--seed 1", 3);
    campaign(&dir, &target, "b", "--seed 2", 3);
    let run = dir.penfuzz("merge a b -o both").exits(3);
    run.expect(dir.files("both/crashes").len() == 1, "one crash of two at the same place");
    let report = dir.report("both");
    run.expect(report.crashes.len() == 1 && open_branches(&report).is_empty(), "one crash, all branches covered");
    let resumed = dir.penfuzz("-o both").arg(&target).exits(3);
    resumed.expect(dir.files("both/crashes").len() == 1, "not found again");
}

#[test]
fn other_functions_are_not_merged() {
    let dir = Dir::new();
    let target = fixture("ambiguous.c");
    campaign(&dir, &target, "a", "-f first --max-evals 10", 0);
    campaign(&dir, &target, "b", "-f second --max-evals 10", 0);
    let run = dir.penfuzz("merge a b -o both").exits(1);
    run.says("b cannot be merged with a").says("`first`").says("`second`");
    run.expect(!dir.path("both").exists(), "nothing written");
}

/// libFuzzer's corpora and artifacts are plain files. An input that kills its process must not end the command.
#[test]
fn plain_files_are_merged_for_a_target() {
    let dir = Dir::new();
    let target = dir.file(
        "deadly.c",
        "#include <signal.h>
         int deadly(double x) {
           if (x == 1.0) raise(SIGKILL);
           if (x == 2.0) return 2;
           return 0;
         }",
    );
    for value in [1.0f64, 2.0, 3.0, 4.0] {
        dir.file(&format!("plain/{value}"), value.to_le_bytes());
    }
    dir.penfuzz("merge plain -o out").exits(1).says("name the target of the inputs with --target");
    let run = dir.penfuzz("merge plain -o out --target").arg(&target).exits(3);
    run.expect(dir.files("out/crashes").len() == 1, "the deadly input in crashes/");
    run.expect(dir.files("out/queue").len() + dir.files("out/pending").len() == 2, "two inputs cover the rest");
    run.expect(open_branches(&dir.report("out")).is_empty(), "all branches covered");
    let resumed = dir.penfuzz("-o out").arg(&target).exits(3);
    resumed.says("resuming out");
}

fn little(x: f64, n: i32) -> Vec<u8> {
    [&x.to_le_bytes()[..], &n.to_le_bytes()[..]].concat()
}

#[test]
fn a_simple_input_takes_the_same_branches() {
    let dir = Dir::new();
    let target = dir.file("f.c", "int f(double x, int n) { if (x > 10.0) return 1; if (n > 5) return 2; return 0; }");
    let input = dir.file("ugly", little(15.283_746_510_293_84, 123_456));
    let run = dir.penfuzz("tmin").arg(&target).arg(&input).exits(0);
    run.expect(dir.files(".")["ugly.min"] == little(20.0, 0), "20 and 0 in ugly.min");
    run.expect(dir.files(".")["ugly"] == little(15.283_746_510_293_84, 123_456), "the input as it was");
    run.expect(run.stdout.contains("15.28374651029384") && run.stdout.contains("20"), "arguments before and after");
}

#[test]
fn a_simple_input_fails_at_the_same_place() {
    let dir = Dir::new();
    let input = dir.file("ugly", 1_000.718_281_828f64.to_le_bytes());
    let run = dir.penfuzz("tmin -o simple").arg(fixture("segv.c")).arg(&input).exits(0);
    let simple = f64::from_le_bytes(dir.files(".")["simple"].clone().try_into().expect("8 bytes"));
    run.expect(1000.0 < simple && simple < 1001.0, "an input that fails");
    run.expect(format!("{simple}").len() < 8, "with few digits");
    run.expect(run.stdout.contains("SIGSEGV") && run.stdout.contains("segv.c:"), "what happens and where");
}

/// Some candidates during minimization kill the process too, but with another signal than the input.
#[test]
fn a_deadly_input_becomes_simple() {
    let dir = Dir::new();
    let target = dir.file(
        "deadly.c",
        "#include <signal.h>
         int deadly(double x) {
           if (x < 0.0) raise(SIGTERM);
           if (x > 10.0) raise(SIGKILL);
           return 0;
         }",
    );
    let input = dir.file("ugly", 987_654.321_f64.to_le_bytes());
    let run = dir.penfuzz("tmin -o simple").arg(&target).arg(&input).exits(0);
    run.expect(dir.files(".")["simple"] == 20.0f64.to_le_bytes(), "20 in simple");
    run.expect(run.stdout.contains("kills the process: SIGKILL"), "what it does");
    let returning = dir.file("fine", 7.123_456_f64.to_le_bytes());
    dir.penfuzz("tmin -o fine.min").arg(&target).arg(&returning).exits(0);
    run.expect(dir.files(".")["fine.min"] == 0.0f64.to_le_bytes(), "0 past deadly candidates");
}
