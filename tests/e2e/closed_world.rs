//! `--closed-world`: which variables other sources write, or may write.

use penfuzz_report::Report;

use crate::{prove::solvers, support::Dir};

#[test]
fn a_variable_of_another_file_is_constant_only_in_a_closed_world() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let other = dir.file("version.c", "int version = 2;\n");
    let file =
        dir.file("user.c", "extern int version;\nint user(int n) {\n  if (version == 3) return n;\n  return 0;\n}\n");
    let proved = |more: &str| {
        let run = dir
            .penfuzz("prove")
            .arg(&file)
            .arg("--with")
            .arg(&other)
            .args(&format!("-f user -o out --fresh --max-evals 300 --no-exhaust --json {more}"))
            .env("PENFUZZ_SOLVERS", &solvers)
            .exits(0);
        let report: Report = serde_json::from_str(&run.stdout).expect("the output is a report");
        let proofs: Vec<_> = report.sites.iter().flat_map(|s| &s.branches).filter_map(|b| b.proof.clone()).collect();
        assert_eq!(proofs.len(), 1, "{proofs:?}");
        proofs[0].clone()
    };
    assert!(!proved("").is_proved());
    let proof = proved("--closed-world");
    assert!(proof.is_proved() && proof.assumptions.iter().any(|a| a.contains("version")), "{proof:?}");
}

#[test]
fn a_variable_that_another_source_may_write_is_not_constant_in_a_closed_world() {
    let Some(solvers) = solvers() else { return };
    let user = "extern int version;
int step(int n);
int user(int n)
{
  if (version == 3) return n;
  if (step(n & 7) > 8) return 1;
  return 0;
}
";
    let step = "int step(int n) { return n + 1; }\n";
    let passed_on = [
        "extern int version;\nint *known(void) { return &version; }\n",
        "extern int version;\nint *known = &version;\n",
    ];
    let in_assembly = "__asm__(\".globl bump\\nbump: movq version@GOTPCREL(%rip), %rax\\n incl (%rax)\\n ret\\n\");\n\
                       int unused(void) { return 1; }\n";
    for (other, expected) in
        [("int other(int n) { return n; }\n", 2), (passed_on[0], 1), (passed_on[1], 1), (in_assembly, 1)]
    {
        let dir = Dir::new();
        let file = dir.file("user.c", user);
        let with = [("version.c", "int version = 2;\n"), ("step.c", step), ("other.c", other)];
        let mut run = dir.penfuzz("prove").arg(&file);
        for (name, text) in with {
            run = run.arg("--with").arg(dir.file(name, text));
        }
        run.args("-f user -o out --fresh --max-evals 300 --no-exhaust --closed-world")
            .env("PENFUZZ_SOLVERS", &solvers)
            .exits(0);
        let report = dir.report("out");
        let proved: Vec<_> = report.proved().map(|p| (p.site.line, &p.proof.assumptions)).collect();
        assert_eq!(proved.len(), expected, "with {other:?}: {proved:?}");
        assert!(proved.iter().any(|(line, _)| *line == 6), "step.c is linked in: {proved:?}");
    }
}
