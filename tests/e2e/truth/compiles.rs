//! The emitted tests compile and pass where the language makes that hard: in old standards, with constructors, classes
//! without initializers, arrays of variable size, unions, and functions that no header declares.

use std::process::Command;

use penfuzz_report::Report;

use crate::support::Dir;

/// Fuzzes the first file. All branches must be covered, and the emitted tests must build and pass. Returns the report
/// and the text of the tests.
fn holds(files: &[(&str, &str)], arguments: &str) -> (Report, String) {
    let dir = Dir::new();
    for (name, content) in files {
        dir.file(name, content);
    }
    let run = dir.fuzz(dir.path(files[0].0), arguments).exits(0);
    let report = dir.report("out");
    let commands = report.test_program.clone().expect("the report has commands");
    let text = std::fs::read_to_string(dir.path("out").join(&commands.file)).expect("there is a test program");
    for command in [&commands.build, &commands.run] {
        let output = Command::new("sh").args(["-c", command]).current_dir(dir.path("out")).output().expect("sh runs");
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed).into_owned();
        run.expect(output.status.success(), &format!("success of {command}\n{printed}\n{text}"));
    }
    run.expect(report.branches.covered == report.branches.total, "all branches are covered");
    (report, text)
}

#[test]
fn in_old_standards() {
    let c = "double share(double part, float whole)
{
  if (whole != whole) return 1 / 3.0;
  if (part > 0.1) return part / 7;
  return 1e-300;
}
";
    let (_, text) = holds(&[("share.c", c)], "--cflag -std=c89 --cflag -pedantic");
    assert!(!text.contains("= 0x1.") && text.contains("0.3333333333333333"), "{text}");
    for standard in ["c++11", "c++14"] {
        let class = format!("namespace n {{ {c} }}");
        holds(&[("share.cpp", class.as_str())], &format!("--cflag -std={standard} --cflag -pedantic"));
    }
}

#[test]
fn with_a_header_and_a_nan() {
    let header = "double first(double x);\n";
    let source = "#include \"first.h\"\ndouble first(double x) { return x == x ? 2 : 3; }\n";
    let (report, _) = holds(&[("first.c", source), ("first.h", header)], "");
    assert!(report.header.is_some(), "the header is included");
}

#[test]
fn of_a_constructor() {
    let source = "struct Angle { double turns; int n; Angle(double degrees, bool wrap); };
Angle::Angle(double degrees, bool wrap) : turns(degrees / 360), n(0) { if (wrap) { n = 3; turns = 0.25; } }
";
    holds(&[("angle.cpp", source)], "--function Angle::Angle");
}

#[test]
fn of_a_method_with_an_enumeration_and_a_callback() {
    let source = "enum class Unit { metre, foot };
typedef double (*Scale)(double);
class Ruler { public: Ruler(Scale s, Unit u); virtual ~Ruler(); int longer(double x, Unit u); Scale s; Unit u; };
Ruler::Ruler(Scale scale, Unit unit) : s(scale), u(unit) {}
Ruler::~Ruler() {}
int Ruler::longer(double x, Unit unit) { return unit == Unit::foot ? 1 : s(x) > 2 ? 2 : 3; }
";
    holds(&[("ruler.cpp", source)], "--function Ruler::longer");
}

#[test]
fn of_an_object_that_frees_what_it_was_given() {
    let source = "struct Job { Job *after; double cost; };
class Queue { public: Queue(); ~Queue(); bool push(Job *job); Job *last; };
Queue::Queue() : last(nullptr) {}
Queue::~Queue() { for (Job *job = last; job;) { Job *after = job->after; delete job; job = after; } }
bool Queue::push(Job *job) { if (job->cost < 0) return false; job->after = last; last = job; return true; }
";
    holds(&[("queue.cpp", source)], "--function Queue::push");
}

#[test]
fn of_objects_without_initializers() {
    let source = "#include <complex>
double size(const std::complex<double> *z) { return z->imag() < -3.5 ? z->real() : 1; }
";
    holds(&[("size.cpp", source)], "");
    let source = "#include <vector>
template <int N> struct Row { double cell[N]; Row() { for (double &c : cell) c = 1; } };
template <int N> struct Grid : Row<N> { Grid() {} };
int rising(const std::vector<Grid<2>> &all)
{
  int n = 0;
  for (const auto &grid : all) if (grid.cell[1] > grid.cell[0]) n++;
  return n == 2;
}
";
    holds(&[("rising.cpp", source)], "");
}

#[test]
fn of_arrays_of_variable_size() {
    let source = "int heavy(int rows, int columns, double m[rows][columns])
{
  double sum = 0;
  for (int i = 0; i < rows; i++) for (int j = 0; j < columns; j++) sum += m[i][j];
  return sum > 40.5;
}
";
    let (report, text) = holds(&[("heavy.c", source)], "");
    assert!(report.crashes.is_empty() && !text.contains("[0]"), "{text}");
}

#[test]
fn of_a_header_with_an_implementation() {
    let header = "#ifdef WAVE_IMPLEMENTATION
typedef struct { double low, high; } band;
double quiet(double x) { return x > 4.5 ? 0.125 : -0.5; }
band moved(band b) { if (b.low == 2.5) b.high = 1; return b; }
#endif
";
    let source = "#define WAVE_IMPLEMENTATION\n#include \"wave.h\"\n";
    for function in ["quiet", "moved"] {
        holds(&[("wave.c", source), ("wave.h", header)], &format!("--function {function} --cflag -w"));
    }
}

#[test]
fn of_a_source_that_redefines_a_function_of_c() {
    let source = "#include <stdlib.h>
#define exit(code, why) leave(code, why)
static void leave(int code, const char *why) { (void)why; _Exit(code); }
static int stop(int n) { if (n == 12) exit(3, \"twelve\"); return n; }
int main(void) { return stop(0); }
";
    holds(&[("stop.c", source)], "--function stop");
}

#[test]
fn of_a_header_with_two_paths() {
    let header =
        "#ifndef GRADE\n#define GRADE\nstatic inline int grade(double x) { return x > 3.5 ? 1 : 2; }\n#endif\n";
    let first = "#include \"../inc/grade.h\"\nint first(double x) { return grade(x) + 1; }\n";
    let second = "#include \"grade.h\"\nint second(double x) { return grade(x) + 2; }\n";
    let files = [("src/first.c", first), ("src/second.c", second), ("inc/grade.h", header)];
    holds(&files, "--function grade --with src/second.c --cflag -Iinc");
}

#[test]
fn of_bits_without_a_name() {
    let source = "#include <stdint.h>
union port { uint32_t all; struct { uint32_t on : 1, : 6, level : 9, : 16; } part; };
int read_port(union port p)
{
  if (!p.part.on) return 0;
  if (p.all >> 20) return 1;
  return p.part.level == 300 ? 2 : 3;
}
";
    holds(&[("port.c", source)], "");
}

/// Addresses and their differences are not the same in another program.
#[test]
fn without_addresses() {
    let source = "long apart(const double *a, const double *b)
{
  if (*a > 2 * *b) return 1;
  return a - b;
}
";
    let (report, _) = holds(&[("apart.c", source)], "");
    let results: Vec<_> = report.tests.iter().map(|t| t.result.as_ref().map(|r| r.decimal.clone())).collect();
    assert!(results.contains(&Some("1".to_owned())) && results.contains(&None), "{results:?}");
}

/// clang gives the value of such a condition no place in the source.
#[test]
fn where_an_operand_compares_iterators() {
    let source = "#include <map>
#include <vector>
int pop(int key, int limit, std::vector<long> &v)
{
  std::map<int, int> m{{3, 5}, {7, 100}};
  auto it = m.find(key);
  if (it == m.end() || it->second > limit) return 0;
  auto last = v.begin();
  if (last == v.end() || *last != 17) return 1;
  return 2;
}
";
    holds(&[("pop.cpp", source)], "--cflag -O2 --max-evals 50000");
}
