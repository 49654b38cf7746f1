//! C++ objects: containers and views of the C++ library, structures without constructors, private members, and C
//! functions in C++.

use std::process::Command;

use crate::{
    outputs::{branch_lines, is_taken},
    support::{Dir, is_covered, open_branches},
};

const HEAD: &str = "#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
";

/// Runs a campaign on a function. All branches must be covered, and the emitted tests must build, pass, and take as
/// many branches by gcov's count. Returns the text of the test program.
fn cxx(body: &str, symbol: &str) -> String {
    let dir = Dir::new();
    dir.file("f.cpp", format!("{HEAD}{body}"));
    let run = dir.fuzz("f.cpp", "--max-evals 200000 --seed 1 --cflag=-std=c++20 -f").arg(symbol).exits(0);
    let report = dir.report("out");
    let open = open_branches(&report);
    run.expect(open.is_empty() && report.branches.total > 0, &format!("all branches, not {open:?}"));
    run.expect(report.sites.iter().flat_map(|s| &s.branches).all(is_covered), "no other status");
    run.expect(report.crashes.is_empty(), &format!("no crash, not {:?}", report.crashes));
    let program = report.test_program.as_ref().expect("commands");
    let line = format!("cd out && {} && {} && {}", program.build, program.run, program.coverage);
    dir.other(Command::new("sh").args(["-c", &line]));
    run.expect(gcov(&dir, symbol) == (report.branches.total, report.branches.total), "gcov's count");
    let programs = dir.files("out/tests");
    let (_, text) = programs.iter().find(|(name, _)| program.file.ends_with(name.as_str())).expect("a test program");
    String::from_utf8_lossy(text).into_owned()
}

/// Returns the numbers of branches of a function by gcov's count: taken, and all, without the exception edges of calls.
fn gcov(dir: &Dir, symbol: &str) -> (usize, usize) {
    let text = dir.other(Command::new("sh").args(["-c", "cd out && gcov -b -t *.gcda"]));
    let own = branch_lines(&text, symbol);
    let pairs = own.chunks(2).filter(|pair| !pair.iter().any(|l| l.contains("(throw)")));
    let own: Vec<&&str> = pairs.flatten().collect();
    (own.iter().filter(|l| is_taken(l)).count(), own.len())
}

fn has(text: &str, part: &str) {
    assert!(text.contains(part), "{part} is not in\n{text}");
}

#[test]
fn a_vector_by_const_reference() {
    let text = cxx(
        "double mean(const std::vector<double> &v)
{
  if (v.empty()) return 0;
  double s = 0;
  for (double x : v) s += x;
  if (s > 100) return 100;
  if (v.size() != 5) return -2;
  if (v[4] == 2) return -1;
  return s / v.size();
}
",
        "_Z4meanRKSt6vectorIdSaIdEE",
    );
    has(&text, "std::vector<double> in1_v = {};");
    has(&text, "mean(in1_v)");
}

#[test]
fn a_vector_that_grows_is_checked_afterwards() {
    let text = cxx(
        "void add(std::vector<int> &v, int n)
{
  if (n > 3) v.push_back(n);
  if (v.size() > 4) v[0] = 9;
}
",
        "_Z3addRSt6vectorIiSaIiEEi",
    );
    has(&text, "v.size()\", in1_v.size(), 5ULL");
    has(&text, "\"v[0]\", in1_v[0], 9");
}

#[test]
fn a_vector_by_value_and_one_that_is_moved_from() {
    let text = cxx(
        "int sink(std::vector<double> v, std::vector<long> &&w)
{
  v.push_back(3);
  std::vector<long> taken = std::move(w);
  taken.resize(100);
  if (v[0] > 4) return 1;
  if (taken[0] == 5) return 2;
  return 0;
}
",
        "_Z4sinkSt6vectorIdSaIdEEOS_IlSaIlEE",
    );
    has(&text, "sink(in1_v, static_cast<std::vector<long> &&>(in2_w))");
}

#[test]
fn an_access_behind_a_vector_is_a_crash() {
    let dir = Dir::new();
    let source = "#include <vector>\nint last(const std::vector<int> &v) { return v[v.size()] > 4 ? 1 : 2; }\n";
    dir.file("f.cpp", source);
    let run = dir.fuzz("f.cpp", "--max-evals 2000 --seed 1 -f _Z4lastRKSt6vectorIiSaIiEE").run();
    let report = dir.report("out");
    let is_behind = report.crashes.iter().any(|c| c.reason.contains("after the end of `v.data()`"));
    run.expect(is_behind, &format!("a crash behind the end, not {:?}", report.crashes));
}

#[test]
fn strings_have_a_size_of_their_own() {
    let text = cxx(
        "int word(const std::string &s, std::string_view t)
{
  if (s == \"abc\") return 1;
  if (s.size() < 6) return 4;
  if (s[5] == 'x') return 2;
  if (t.size() != 3) return 5;
  if (t[1] == 'q') return 3;
  return 0;
}
",
        "_Z4wordRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt17basic_string_viewIcS2_E",
    );
    has(&text, "std::string in1_s(\"abc\", 3);");
    has(&text, "std::string_view in2_t(\"");
}

#[test]
fn a_string_that_is_changed() {
    let text = cxx(
        "int grow(std::string &s)
{
  if (s.size() < 4) return 0;
  s += \"0123456789012345678901234567890123456789\";
  if (s[0] == 'k') s.clear();
  return 1;
}
",
        "_Z4growRNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
    );
    has(&text, "in1_s.size(), 0ULL");
}

#[test]
fn structures_with_containers_are_initialized_by_their_members() {
    let text = cxx(
        "struct point { double x, y; };
struct shape { std::vector<point> points; std::string name; int closed; };
double area(const shape &s)
{
  if (s.points.size() < 3) return -1;
  if (s.name == \"z\") return 5;
  if (s.closed == 3) return 6;
  if (s.points[2].x > 4) return 1;
  return 2;
}
",
        "_Z4areaRK5shape",
    );
    has(&text, "shape in1_s = {std::vector<point>{point{}");
    has(&text, "std::string{\"z\", 1}");
}

#[test]
fn a_class_with_a_container_among_its_private_members() {
    let text = cxx(
        "class table {
  std::vector<int> rows;
  int used;
public:
  table();
  int sum() const
  {
    int s = used;
    for (int r : rows) s += r;
    if (rows.size() != 2) return 2;
    if (s == 77) return 1;
    return 0;
  }
};
table::table() : used(0) {}
int total(const table &t);
int total(const table &t) { return t.sum(); }
",
        "_ZNK5table3sumEv",
    );
    has(&text, "::new ((void *)(in1_this + 0)) std::vector<int>{");
}

#[test]
fn views_optionals_pairs_and_arrays() {
    let text = cxx(
        "int mixed(std::span<const int> s, std::optional<int> o, std::pair<int, double> p, std::array<short, 3> a)
{
  int t = 0;
  for (int x : s) t += x;
  if (t == 42) return 1;
  if (!o) return 2;
  if (*o == 7) return 3;
  if (p.second < 4) return 5;
  if (p.first == a[2]) return 4;
  return 0;
}
",
        "_Z5mixedSt4spanIKiLm18446744073709551615EESt8optionalIiESt4pairIidESt5arrayIsLm3EE",
    );
    has(&text, "std::span<const int> in1_s(in1_s_data, ");
    has(&text, "std::optional<int> in2_o = std::nullopt;");
    has(&text, "std::optional<int> in2_o = 7;");
}

#[test]
fn strings_in_a_vector() {
    let text = cxx(
        "int listed(const std::vector<std::string> &v)
{
  for (const auto &s : v)
    if (s == \"on\") return 1;
  return 0;
}
",
        "_Z6listedRKSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS5_EE",
    );
    has(&text, "std::string{\"on\", 2}");
}

#[test]
fn sizes_and_domains_are_said_as_of_arrays() {
    let dir = Dir::new();
    let source = "#include <string>
#include <vector>
int f(const std::vector<double> &v, const std::string &s)
{
  if (v.empty()) return 1;
  if (v.size() > 3) return 2;
  if (v[0] != v[0]) return 3;
  if (s.size() > 40) return 4;
  return 0;
}
";
    dir.file("f.cpp", source);
    let run = dir.fuzz("f.cpp", "--max-evals 20000 --seed 1 -f f");
    let run =
        run.arg("--arg").arg("v: array[1..3]").arg("--arg").arg("v: finite").arg("--arg").arg("s: string[..64]").run();
    let open = open_branches(&dir.report("out"));
    run.expect(open.len() == 3, &format!("the three sides open that the statements exclude, not {open:?}"));
    let listed = dir.penfuzz("functions f.cpp -f f").exits(0);
    listed.expect(listed.stdout.contains("v: double[v.size()]"), "the elements of the vector");
}

#[test]
fn pointers_to_pointers_have_their_types() {
    let text = cxx(
        "int pick(double *&p, float **q, int n)
{
  if (p[0] > 2) return 1;
  if (n > 0 && n < 3 && q[0][0] == 5) return 2;
  return 0;
}
",
        "_Z4pickRPdPPfi",
    );
    has(&text, "penfuzz_at((double * *)in1_p)");
}

#[test]
fn a_function_of_c_in_a_source_of_cxx_has_a_test_in_cxx() {
    let dir = Dir::new();
    dir.file(
        "node.h",
        "struct node { int index; double value; };\n#ifdef __cplusplus\nextern \"C\"\n#endif\n\
         int first(const struct node *n);\n",
    );
    dir.file(
        "node.cpp",
        "#include \"node.h\"\nint first(const node *n) { return n->index == 3 ? 1 : n->value > 2.5; }\n",
    );
    dir.fuzz("node.cpp", "--max-evals 20000 --seed 1").exits(0);
    let report = dir.report("out");
    let (_, text) =
        dir.files("out/tests").into_iter().find(|(name, _)| name == "test_first.cpp").expect("a test in C++");
    let text = String::from_utf8_lossy(&text).into_owned();
    has(&text, "#include \"node.h\"");
    has(&text, "node in1_n = {3}");
    let program = report.test_program.as_ref().expect("commands");
    dir.other(Command::new("sh").args(["-c", &format!("cd out && {} && {}", program.build, program.run)]));
}

#[test]
fn a_private_static_function_can_be_called() {
    let text = cxx(
        "class kernel {
  static double dot(const double *a, const double *b)
  {
    if (a[0] == b[0]) return 1;
    if (b[0] > 7) return 2;
    return 0;
  }
public:
  double both(const double *a) { return dot(a, a + 1); }
};
double outer(const double *a) { return kernel().both(a); }
",
        "_ZN6kernel3dotEPKdS1_",
    );
    has(&text, "kernel::dot(");
}

/// Results that are objects of the C++ library are checked as a program reads them.
#[test]
fn results_of_the_library() {
    let text =
        cxx("std::optional<double> half(double x) { if (x > 3) return 2.5; return std::nullopt; }\n", "_Z4halfd");
    has(&text, "std::optional<double> result = half(");
    has(&text, "penfuzz_check_unsigned(\"result.has_value()\", result.has_value(), 0);");
    has(&text, "penfuzz_check_f64(\"result.value()\", result.value(), 2.5);");
    let text = cxx(
        "#include <tuple>\nstd::tuple<double, int, bool> all(int x) { if (x > 3) return {2.5, 7, true}; return {}; }\n",
        "_Z3alli",
    );
    has(&text, "penfuzz_check_f64(\"std::get<0>(result)\", std::get<0>(result), 2.5);");
    has(&text, "penfuzz_check_unsigned(\"std::get<2>(result)\", std::get<2>(result), 1);");
    let text = cxx("std::string size(int x) { if (x > 3) return \"large\"; return \"\"; }\n", "_Z4sizeB5cxx11i");
    has(&text, "penfuzz_check_unsigned(\"result.size()\", result.size(), 5ULL);");
    has(&text, "penfuzz_check_signed(\"result[0]\", result[0], 108);");
    let text = cxx(
        "#include <complex>\nstd::complex<double> point(int x) { if (x > 3) return {2.5, 1}; return 0; }\n",
        "_Z5pointi",
    );
    has(&text, "penfuzz_check_f64(\"result.imag()\", result.imag(), 1.0);");
    let text = cxx("std::pair<int, double> both(int x) { if (x > 3) return {4, 2.5}; return {}; }\n", "_Z4bothi");
    has(&text, "penfuzz_check_f64(\"result.second\", result.second, 2.5);");
}
