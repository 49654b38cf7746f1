//! The sites of a function: those of the source, at the places of the source.

mod common;

use common::{CC, CXX, Dir};

/// Returns line and column of each branch of a function.
fn branches(dir: &Dir, compiler: &str, line: &str, function: &str) -> Vec<(u32, u32)> {
    dir.quietly(compiler, line);
    let loaded = dir.load("x");
    assert!(loaded.functions.iter().any(|f| f == function), "{function} is one of {:?}", loaded.functions);
    loaded.branches.into_iter().filter(|(of, ..)| of == function).map(|(_, line, column)| (line, column)).collect()
}

/// Returns the lines of the branches of a function.
fn lines(dir: &Dir, compiler: &str, line: &str, function: &str) -> Vec<u32> {
    branches(dir, compiler, line, function).into_iter().map(|(line, _)| line).collect()
}

#[test]
fn the_recovery_of_a_complex_product_has_no_branches() {
    let source = "#include <complex.h>\n\
        double modulus(float complex a, double complex b, long double complex c) {\n\
          double complex d = (a * a) * b; \n\
          return cabs(d) + (double)creall(c * c);\n\
        }\n\
        int undefined(double x) { return x != x ? 1 : 2; }\n";
    let dir = Dir::new().file("x.c", source);
    assert_eq!(lines(&dir, CC, "x.c -lm -o x", "modulus"), []);
    assert_eq!(lines(&dir, CC, "x.c -lm -o x", "undefined"), [6, 6], "a test for NaN of the source");
    assert_eq!(lines(&dir, CC, "-O2 x.c -lm -o x", "modulus"), []);
}

#[test]
fn an_argument_list_has_no_branches() {
    let source = "#include <stdarg.h>\n\
        struct both { double d; long n; };\n\
        double sum(int n, ...) {\n\
          va_list all;\n\
          double s = 0;\n\
          va_start(all, n);\n\
          while (n-- > 0) s += va_arg(all, double) + va_arg(all, int);\n\
          s += va_arg(all, struct both).d;\n\
          va_end(all);\n\
          return s;\n\
        }\n\
        double sum_of(int n, va_list all) { return n > 2 ? va_arg(all, double) : 0; }\n";
    let dir = Dir::new().file("x.c", source);
    assert_eq!(lines(&dir, CC, "x.c -o x", "sum"), [7, 7]);
    assert_eq!(lines(&dir, CC, "x.c -o x", "sum_of"), [12, 12]);
}

#[test]
fn guards_of_static_variables_have_no_branches() {
    let source = "int started();\n\
        int counted(int x) {\n\
          static int first = started();\n\
          static thread_local int own = started();\n\
          return x > first ? own : 0;\n\
        }\n\
        int started() { return 4; }\n";
    let dir = Dir::new().file("x.cpp", source);
    for options in ["x.cpp -o x", "-O2 x.cpp -o x", "-fno-threadsafe-statics x.cpp -o x"] {
        assert_eq!(lines(&dir, CXX, options, "counted"), [5, 5], "{options}");
    }
}

#[test]
fn flags_of_cleanups_have_no_branches() {
    let source = "#include <stdexcept>\n\
        #include <string>\n\
        int checked(int x) {\n\
          if (x > 9) throw std::invalid_argument(\"not \" + std::to_string(x));\n\
          return x;\n\
        }\n\
        size_t measured(int x, const std::string &other) {\n\
          return (x > 2 ? std::string(\"a\") : other).size();\n\
        }\n\
        bool stored(bool *flags, int x) { bool own = flags[x]; if (own) return false; return true; }\n";
    let dir = Dir::new().file("x.cpp", source);
    assert_eq!(lines(&dir, CXX, "x.cpp -o x", "checked"), [4, 4]);
    assert_eq!(lines(&dir, CXX, "x.cpp -o x", "measured"), [8, 8]);
    assert_eq!(lines(&dir, CXX, "x.cpp -o x", "stored"), [10, 10], "a flag of the source");
}

#[test]
fn only_handlers_are_branches_of_a_try() {
    let source = "#include <stdexcept>\n\
        int risky(int);\n\
        int two(int x) {\n\
          try { return risky(x); } catch (const std::out_of_range &) { return 1; } catch (int n) { return n; }\n\
        }\n\
        int any(int x) {\n\
          try { return risky(x); } catch (int n) { return n; } catch (...) { return 2; }\n\
        }\n\
        int inner(int x) {\n\
          try {\n\
            try { return risky(x); } catch (int n) { return n; }\n\
          } catch (const std::exception &) { return 3; }\n\
        }\n\
        int risky(int x) { if (x > 3) throw x; return x; }\n";
    let dir = Dir::new().file("x.cpp", source);
    assert_eq!(lines(&dir, CXX, "x.cpp -o x", "two").len(), 2, "no branch for what neither handler catches");
    assert_eq!(lines(&dir, CXX, "x.cpp -o x", "any").len(), 2, "both handlers");
    assert_eq!(lines(&dir, CXX, "x.cpp -o x", "inner").len(), 2, "both handlers");
}

#[test]
fn operands_have_the_places_where_they_begin() {
    let source = "int g(int); double sqrt(double);\n\
int plain(int a, int b) { return a > 5 && b * b == 3 ? 1 : 2; }\n\
int called(int a, int b) { if (a == 1 || g(b) || !b) return 1; return 0; }\n\
int looped(int a, int *p) { while (a < 3 && p[a]) a++; return a; }\n\
int apart(int a, int b) { if (a > 5) if (b > 2) return 1; return 0; }\n\
int stored(double x, double y) { int r = x > 1.0 && sqrt(y) < x; return r; }\n\
int over(int a, int b) {\n\
  if (a == 1\n\
      && b == 2) return 1;\n\
  return 0;\n\
}\n\
int mixed(int a, int b, int c) { do a++; while (a < 3 && (b > a || c > a)); return a; }\n\
int g(int x) { return x; }\n\
int value(int a, int b) { return a == 3 && b && a + b > 1 ? 2 : 1; }\n";
    let dir = Dir::new().file("x.c", source);
    let at = |function: &str| {
        let mut all = branches(&dir, CC, "x.c -lm -o x", function);
        all.dedup();
        all
    };
    // Lines and columns of the branches that llvm-cov shows.
    assert_eq!(at("plain"), [(2, 34), (2, 43)]);
    assert_eq!(at("called"), [(3, 32), (3, 42), (3, 50)]);
    assert_eq!(at("looped"), [(4, 36), (4, 45)]);
    assert_eq!(at("stored"), [(6, 42), (6, 53)]);
    assert_eq!(at("over"), [(8, 5), (9, 4)]);
    assert_eq!(at("mixed"), [(12, 49), (12, 59), (12, 68)]);
    assert_eq!(at("value"), [(14, 34), (14, 44), (14, 49)]);
    // The operators of the comparisons: these are no operands.
    assert_eq!(at("apart"), [(5, 33), (5, 44)]);
}
