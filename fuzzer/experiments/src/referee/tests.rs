//! Tests of the referee on sources with a known number of branches, with the real gcc and gcov.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use penfuzz_mutators::{group::Length, view::Kind};
use penfuzz_report::{Parameter, Signature, example};
use penfuzz_target::{
    inputs::{Copy, Decoding, Memory, Pointer, Target},
    program::Rounding,
};

use super::{super::assumptions, *};

/// Three outcomes, four branches: above 1, below -1, between.
const THREE: &str = "int three(double x)\n{\n  if (x > 1)\n    return 1;\n  return x < -1 ? 2 : 0;\n}\n";

/// Every way not to return, by number. 0 returns, and takes only the false branches.
const WAYS: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int depth, *nowhere;
static void caught(int signal) { (void)signal; }
static void late(void) { for (;;) ; }
static int deeper(volatile int n) { char b[4096]; memset(b, n, sizeof b); depth++; return deeper(n + 1) + b[n & 7]; }

int ways(int n, double x)
{
  if (n == 1) abort();
  if (n == 2) *nowhere = 1;
  if (n == 3) for (;;) ;
  if (n == 4) exit(0);
  if (n == 5) return deeper(0);
  if (n == 6) _exit(0);
  if (n == 7) for (;;) memset(malloc(1 << 24), 1, 1 << 24);
  if (n == 8) raise(SIGSTOP);
  if (n == 9) { atexit(late); exit(1); }
  if (n == 10) kill(getpid(), SIGKILL);
  if (n == 11) { signal(SIGSEGV, caught); *nowhere = 1; }
  if (n == 12) for (;;) puts("This is said as often as can be.");
  if (n == 20) { fclose(stdout); close(0); close(1); close(2); }
  if (n == 21) { signal(SIGALRM, caught); alarm(1); signal(SIGTERM, SIG_IGN); }
  if (n == 22) { getchar(); printf("%f\n", x); fflush(stdout); }
  if (n == 23) { if (chdir("/")) return 1; }
  if (n == 24) { if (fork() == 0) return 2; }
  if (n == 25) { atexit(late); }
  if (x > 5) return 3;
  return 0;
}
"#;

/// The source that a test compiles, in a directory with the cache.
struct Fixture {
    directory: TempDir,
    subject: Subject,
}

impl Fixture {
    /// `parameters` are `TYPE NAME KIND`, separated by commas; a structure is followed by `=SIZE`.
    fn new(file: &str, source: &str, function: &str, parameters: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(file), source).unwrap();
        let text = format!(
            "name = 't'\nsources = '{}'\n[[target]]\nname = '{function}'\nfile = '{file}'\nfunction = '{function}'\n",
            directory.path().display()
        );
        let suite: penfuzz_suite::Suite = toml::from_str(&text).unwrap();
        let mut report = example::report();
        report.function = function.to_owned();
        report.signature = Signature {
            symbol: function.to_owned(),
            result: "int".to_owned(),
            result_kind: "i32".to_owned(),
            parameters: parameters.split(',').filter(|p| !p.is_empty()).map(parameter).collect(),
            file: file.to_owned(),
            unit: String::new(),
            line: 1,
            is_static: false,
            callbacks: Vec::new(),
            callback_parameters: Vec::new(),
            decoding: None,
            layouts: Vec::new(),
            result_layout: None,
            inputs: Vec::new(),
            makers: Vec::new(),
            calls: 0,
            globals: Vec::new(),
        };
        let spec = suite.targets[0].clone();
        Self {
            directory,
            subject: Subject {
                name: function.to_owned(),
                suite: Arc::new(suite),
                spec,
                compile_seconds: 0.0,
                assumed: None,
                report,
            },
        }
    }

    /// Adds the assumptions of the source and of its suite.
    fn with_assumptions(mut self, of_suite: &[&str]) -> Self {
        self.subject.spec.assume = of_suite.iter().map(|e| (*e).to_owned()).collect();
        let Subject { suite, spec, report, .. } = &self.subject;
        let assumed = assumptions::of(suite, spec, report, &self.directory.path().join("cache")).unwrap();
        assert!(assumed.is_some());
        self.subject.assumed = assumed;
        self.subject.report.flags.push(assumptions::DEFINE.to_owned());
        self
    }

    fn referee(&self) -> Referee {
        Referee::build(&self.subject, &self.directory.path().join("cache"), &self.directory.path().join("scratch"))
            .unwrap()
    }
}

fn parameter(text: &str) -> Parameter {
    let (text, size) = text.split_once('=').unwrap_or((text, "0"));
    let words: Vec<_> = text.split_whitespace().collect();
    let [type_name @ .., name, kind] = &words[..] else { panic!("{text}") };
    Parameter {
        name: (*name).to_owned(),
        type_name: type_name.join(" "),
        kind: (*kind).to_owned(),
        pointer: type_name.contains(&"*"),
        size: size.parse().unwrap(),
    }
}

fn at(ms: u64, bytes: impl AsRef<[u8]>) -> Stamped {
    Stamped { at: Duration::from_millis(ms), bytes: bytes.as_ref().to_vec() }
}

fn three(values: &[f64]) -> Vec<Stamped> {
    values.iter().map(|x| at(1, x.to_le_bytes())).collect()
}

fn way(n: i32, x: f64) -> Stamped {
    at(1, [n.to_le_bytes().as_slice(), &x.to_le_bytes()].concat())
}

fn counts(verdict: &RefereeCount) -> (usize, usize, usize) {
    (verdict.total, verdict.taken.len(), verdict.failing_inputs)
}

#[test]
fn counts_the_branches_that_a_corpus_takes() {
    let fixture = Fixture::new("f.c", THREE, "three", "double x f64");
    let referee = fixture.referee();
    assert_eq!(referee.total(), 4);
    assert_eq!(referee.judge(&three(&[2.0])).unwrap().taken, [0]);
    assert_eq!(referee.judge(&three(&[0.0, 0.5])).unwrap().taken, [1, 3]);
    assert_eq!(referee.judge(&three(&[2.0, -2.0, f64::NAN])).unwrap().taken, [0, 1, 2, 3]);
    assert_eq!(referee.judge(&[]).unwrap(), RefereeCount { total: 4, ..RefereeCount::default() });
}

#[test]
fn inputs_of_any_size_are_taken() {
    let fixture = Fixture::new("f.c", THREE, "three", "double x f64");
    let referee = fixture.referee();
    let long = [(-2.0_f64).to_le_bytes().as_slice(), &[7; 5000]].concat();
    let verdict = referee.judge(&[at(0, b""), at(0, long)]).unwrap();
    assert_eq!(counts(&verdict), (4, 3, 0), "0.0 and -2.0");
}

#[test]
fn branches_of_a_static_function_and_its_neighbours() {
    let source = format!(
        "static int other(int a) {{ return a > 3 && a < 7 ? 1 : 2; }}\n\
         static {THREE}int main() {{ return other(three(2)); }}\n"
    );
    let mut fixture = Fixture::new("f.c", &source, "three", "double x f64");
    fixture.subject.report.signature.is_static = true;
    assert_eq!(counts(&fixture.referee().judge(&three(&[2.0, -2.0])).unwrap()), (4, 3, 0));
}

#[test]
fn cxx_with_exceptions() {
    let source = "#include <string>\n#include <stdexcept>\nnamespace n {\nint three(double x) {\n  \
                  std::string s(x > 1 ? 3 : 4, 'a');\n  if (x < -1) throw std::runtime_error(s);\n  \
                  return int(s.size());\n}\n}\n";
    let mut fixture = Fixture::new("f.cc", source, "n::three", "double x f64");
    fixture.subject.report.signature.symbol = "_ZN1n5threeEd".to_owned();
    let referee = fixture.referee();
    assert_eq!(counts(&referee.judge(&three(&[2.0, 0.0])).unwrap()), (4, 3, 0));
    let verdict = referee.judge(&three(&[-2.0, 0.0])).unwrap();
    assert_eq!(counts(&verdict), (4, 3, 1), "the exception is not caught; branches until then count");
}

#[test]
fn every_kind_of_parameter() {
    let source = "#include <stdbool.h>\ntypedef struct { double val, err; } result;\n\
        int kinds(bool b, float *f, short n, result *out, const unsigned char *u)\n{\n  if (out->val != 0) return 1;\n\
        out->val = 1;\n  if (b) return 2;\n  if (*f == 0.5f && n == -3) return 3;\n  return *u == 200 ? 4 : 5;\n}\n";
    let parameters = "bool b bool,float * f f32,short n i16,result * out output=16,const unsigned char * u u8";
    let fixture = Fixture::new("f.c", source, "kinds", parameters);
    let referee = fixture.referee();
    let input = |b: u8, f: f32, n: i16, u: u8| at(1, [&[b][..], &f.to_le_bytes(), &n.to_le_bytes(), &[u]].concat());
    let all = [input(3, 0.0, 0, 0), input(2, 0.5, -3, 0), input(0, 0.5, -2, 200), input(0, 0.0, -3, 199)];
    assert_eq!(counts(&referee.judge(&all).unwrap()), (10, 9, 0), "the structure is zero before each call");
    let counts_of = |i: usize| referee.judge(&all[i..=i]).unwrap().taken.len();
    assert_eq!([0, 1, 2, 3].map(counts_of), [2, 4, 5, 4]);
}

#[test]
fn the_rounding_mode_is_an_input() {
    let source = "int modes(double x)\n{\n  volatile double y = 1 + x;\n  if (y > 1)\n    return 1;\n  return 0;\n}\n";
    let mut fixture = Fixture::new("f.c", source, "modes", "double x f64");
    fixture.subject.report.rounding = Rounding::All;
    let referee = fixture.referee();
    let input = |mode: u8| at(1, [&1e-30_f64.to_le_bytes()[..], &[mode]].concat());
    let taken: Vec<_> = (0..5).map(|mode| referee.judge(&[input(mode)]).unwrap().taken[0]).collect();
    assert_eq!(taken, [1, 0, 1, 1, 1], "only upward does the sum exceed 1");
}

#[test]
fn a_function_that_takes_bytes() {
    let source = "#include <stddef.h>\nstatic int ready;\nint LLVMFuzzerInitialize(int *c, char ***v) { \
                  ready = *c == 1 && (*v)[0] != 0; return 0; }\n\
        int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)\n{\n  if (!ready) return 1;\n  \
        if (size == 3 && data[2] == 'c') return 2;\n  return size == 0 ? 3 : 4;\n}\n";
    let fixture = Fixture::new("f.c", source, "LLVMFuzzerTestOneInput", "const unsigned char * data u8");
    let referee = fixture.referee();
    let verdict = referee.judge(&[at(1, b"abc"), at(1, b""), at(1, b"abcd")]).unwrap();
    assert_eq!(counts(&verdict), (8, 6, 0));
}

/// Decodes `n` and two elements for `int sum(const double *a, int n)`.
fn two_elements(is_sure: bool) -> Decoding {
    let memory = |stride, capacity, copies, pointers, is_of_numbers| Memory {
        stride,
        capacity,
        length: Length::Fixed(capacity),
        is_sure,
        is_string: false,
        is_of_numbers,
        copies,
        converted: Vec::new(),
        pointers,
    };
    let pointer = Pointer::new(0, Target::Block(1));
    Decoding {
        kinds: vec![(Kind::I32, 1), (Kind::F64, 2)],
        domains: Vec::new(),
        blocks: vec![
            memory(32, 1, vec![Copy { from: 0, to: 16, size: 4 }], vec![pointer], false),
            memory(8, 2, vec![Copy { from: 4, to: 0, size: 16 }], Vec::new(), true),
        ],
        stubs: Vec::new(),
        input: None,
        is_partial: false,
        types: String::new(),
        parameters: vec![("void *".to_owned(), 0), ("int".to_owned(), 16)],
        result: None,
    }
}

#[test]
fn out_of_bounds_of_inferred_size_covers_nothing() {
    let source = "int sum(const double *a, int n)\n{\n  double s = 0;\n  if (n > 2) s = 1;\n  \
                  for (int i = 0; i < n; i++) s += a[i];\n  if (s > 5) return 1;\n  return 0;\n}\n";
    let input = |n: i32, x: f64| at(1, [&n.to_le_bytes()[..], &x.to_le_bytes(), &x.to_le_bytes()].concat());
    let mut fixture = Fixture::new("f.c", source, "sum", "const double * a f64,int n i32");
    fixture.subject.report.signature.decoding = Some(two_elements(false));
    assert_eq!(fixture.subject.input_size(), Some(20));
    let referee = fixture.referee();
    assert_eq!(counts(&referee.judge(&[input(2, 1.0)]).unwrap()), (6, 4, 0));
    assert_eq!(counts(&referee.judge(&[input(2, 3.0), input(3, 1.0)]).unwrap()), (6, 4, 0), "the second is rejected");
    assert_eq!(counts(&referee.judge(&[input(3, 1.0), input(2, 3.0)]).unwrap()), (6, 4, 0), "in any order");
    fixture.subject.report.signature.decoding = Some(two_elements(true));
    let verdict = fixture.referee().judge(&[input(3, 1.0)]).unwrap();
    assert_eq!(counts(&verdict), (6, 0, 1), "outside of a declared size it is a fault");
}

#[test]
fn an_input_that_does_not_return_costs_itself_only() {
    let fixture = Fixture::new("ways.c", WAYS, "ways", "int n i32,double x f64");
    let referee = fixture.referee().with_limits(Limits { time: Duration::from_millis(100), memory: 1 << 28 });
    let plain = referee.judge(&[way(0, 0.0), way(0, 9.0)]).unwrap();
    assert_eq!((plain.total - plain.taken.len(), plain.failing_inputs), (18 + 4, 0), "all false, and both of the last");
    for n in 1..=12 {
        // Negative numbers are the last ones in the order of bytes.
        let verdict = referee.judge(&[way(0, 0.0), way(n, 0.0), way(0x70, 9.0), way(-1, 9.0)]).unwrap();
        assert_eq!(verdict.failing_inputs, 1, "way {n}");
        assert!(plain.taken.iter().all(|b| verdict.taken.contains(b)), "way {n}: {verdict:?}");
    }
}

#[test]
fn target_cannot_break_referee() {
    let fixture = Fixture::new("ways.c", WAYS, "ways", "int n i32,double x f64");
    let referee = fixture.referee().with_limits(Limits { time: Duration::from_millis(300), ..Limits::default() });
    let plain = referee.judge(&[way(0, 0.0), way(0, 9.0)]).unwrap().taken.len();
    for n in 20..=25 {
        let verdict = referee.judge(&[way(n, 0.0), way(n, 9.0), way(0x70, 9.0)]).unwrap();
        assert_eq!(verdict.failing_inputs, 0, "way {n}");
        assert!(verdict.taken.len() > plain, "way {n}: {verdict:?}");
    }
    let all: Vec<_> = (1..=25).flat_map(|n| [way(n, 0.0), way(n, 9.0)]).collect();
    let began = Instant::now();
    let verdict = referee.judge(&all).unwrap();
    assert_eq!(verdict.failing_inputs, 24, "both of 1 to 12");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[test]
fn aborted_input_counts_only_if_call_ends_process() {
    let source = "#include <stdlib.h>\nint cut(double x, int n)\n{\n  int *p = n == 1 ? 0 : &n;\n  if (x > 5)\n    \
                  abort();\n  if (*p == 7)\n    return 1;\n  return 0;\n}\n";
    let fixture = Fixture::new("f.c", source, "cut", "double x f64,int n i32");
    let referee = fixture.referee();
    let input = |x: f64, n: i32| at(1, [&x.to_le_bytes()[..], &n.to_le_bytes()].concat());
    assert_eq!(referee.judge(&[input(9.0, 0)]).unwrap().taken, [0, 2], "n is not 1, and x is large");
    let verdict = referee.judge(&[input(0.0, 1)]).unwrap();
    assert_eq!(counts(&verdict), (6, 0, 1), "faults where *p is read");
}

#[test]
fn a_corpus_of_hangs_comes_to_an_end() {
    let fixture = Fixture::new("ways.c", WAYS, "ways", "int n i32,double x f64");
    let referee = fixture.referee().with_limits(Limits { time: Duration::from_millis(80), ..Limits::default() });
    let hangs: Vec<_> = (0..60).map(|i| way(3, f64::from(i))).collect();
    let began = Instant::now();
    assert_eq!(referee.judge(&hangs).unwrap().failing_inputs, 60);
    // 8 * (80 + 40) + 44 * 20 ms; 4.8 s if the limit were not halved.
    assert!(began.elapsed() < Duration::from_millis(3500), "{:?}", began.elapsed());
}

#[test]
fn coverage_over_time_ends_at_the_final_count() {
    let fixture = Fixture::new("f.c", THREE, "three", "double x f64");
    let referee = fixture.referee();
    let x = |ms, x: f64| at(ms, x.to_le_bytes());
    let verdict = referee.judge(&[x(700, -2.0), x(0, 2.0), x(30, 3.0), x(9000, 0.0), x(40, 4.0)]).unwrap();
    let points: Vec<_> = verdict.timeline.iter().map(|p| (p.seconds, p.covered)).collect();
    assert_eq!(points, [(0.0, 1), (0.7, 3), (9.0, 4)]);
}

#[test]
fn judgements_do_not_disturb_each_other() {
    let fixture = Fixture::new("f.c", THREE, "three", "double x f64");
    let referee = fixture.referee();
    let cases: BTreeMap<u32, (Vec<Stamped>, Vec<u32>)> = BTreeMap::from([
        (0, (three(&[2.0]), vec![0])),
        (1, (three(&[0.0]), vec![1, 3])),
        (2, (three(&[-2.0]), vec![1, 2])),
    ]);
    std::thread::scope(|scope| {
        for (corpus, taken) in cases.values() {
            let referee = &referee;
            scope.spawn(move || {
                for _ in 0..10 {
                    assert_eq!(referee.judge(corpus).unwrap().taken, *taken);
                }
            });
        }
    });
    drop(referee);
    let left: Vec<_> =
        fs::read_dir(fixture.directory.path().join("cache")).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(left.len(), 3, "replay.c and its object with the list of its sources: {left:?}");
}

#[test]
fn failures_have_messages() {
    let message = |fixture: &Fixture| {
        let directory = fixture.directory.path();
        Referee::build(&fixture.subject, &directory.join("cache"), directory).unwrap_err().to_string()
    };
    let broken = Fixture::new("f.c", "int f(", "f", "");
    assert!(message(&broken).contains("cannot compile"), "{}", message(&broken));
    let missing = Fixture::new("f.c", "int g(void);\nint f(void) { return g(); }\n", "f", "");
    assert!(message(&missing).contains("cannot be linked"), "{}", message(&missing));
    let init =
        "#include <stdlib.h>\nint LLVMFuzzerInitialize(int *c, char ***v) { exit(3); }\nint f(void) { return 1; }\n";
    let fixture = Fixture::new("f.c", init, "f", "");
    let error = fixture.referee().judge(&[at(0, b"")]).unwrap_err().to_string();
    assert!(error.contains("cannot be replayed") && error.contains("before its first input"), "{error}");
}

const ASSUMED: &str = "#include \"penfuzz.h\"
int three(double x)
{
  PEN_ASSUME(x > 0 &&
             x < 10);
  if (x > 5)
    return 1;
  return x < 0 ? 2 : 0;
}
";

/// The same function without assumptions.
const UNASSUMED: &str = "int three(double x)
{
  if (x > 5)
    return 1;
  return x < 0 ? 2 : 0;
}
";

#[test]
fn an_input_that_violates_an_assumption_takes_nothing() {
    for (source, of_suite) in [(ASSUMED, &[][..]), (UNASSUMED, &["x > 0 && x < 10"])] {
        let fixture = Fixture::new("f.c", source, "three", "double x f64").with_assumptions(of_suite);
        let referee = fixture.referee();
        assert_eq!(referee.total(), 4, "without the branches of the assumption");
        let judged = |values: &[f64]| counts(&referee.judge(&three(values)).unwrap());
        assert_eq!(judged(&[-1.0, 20.0, f64::NAN]), (4, 0, 0), "none meets the assumption");
        assert_eq!(judged(&[-1.0, 7.0]), (4, 1, 0));
        assert_eq!(judged(&[20.0, 7.0, 1.0, -1.0]), (4, 3, 0));
    }
}
