//! Code that a test program needs to test a whole program, and to provide standard input and files to the function
//! under test.

use std::fmt::Write;

use penfuzz_report::{
    arg::{Arg, WRITTEN},
    c_text::{comment, identifier},
    model::Report,
};

use super::access::is_cxx_program;

/// The name by which the tests call the `main` of a whole program.
pub(super) const MAIN: &str = "__real_main";

/// Linker options for a whole program: the process begins with `__wrap_main`.
pub(super) fn linked(report: &Report) -> impl Iterator<Item = String> {
    report.is_program().then(|| "-Wl,--wrap=main".to_owned()).into_iter()
}

/// The head of the function with which the test program begins.
pub(super) fn entry(report: &Report, parameters: &str) -> String {
    let parameters = if parameters.is_empty() && !is_cxx_program(report) { "void" } else { parameters };
    if !report.is_program() {
        return format!("int main({parameters})");
    }
    let linkage = if is_cxx_program(report) { "extern \"C\" " } else { "" };
    let again = if is_cxx_program(report) { String::new() } else { format!("int __wrap_main({parameters});\n\n") };
    format!(
        "/* Called instead of the program's own main (-Wl,--wrap=main). */\n{again}{linkage}int \
         __wrap_main({parameters})"
    )
}

/// The declaration of the `main` under test.
pub(super) fn declaration(report: &Report, linkage: &str) -> String {
    let signature = &report.signature;
    let parameters: Vec<_> = signature.parameters.iter().map(|p| comment(&p.type_name)).collect();
    let none = if is_cxx_program(report) { "" } else { "void" };
    let parameters = if parameters.is_empty() { none.to_owned() } else { parameters.join(", ") };
    format!("{linkage} {} {MAIN}({parameters});\n", identifier(&signature.result))
}

/// Functions that make a text the standard input, or a file. In C, headers declare the functions that these need only
/// as extensions, which the program's options may exclude, so they are declared here. In C++, headers always declare
/// them.
pub(super) fn helpers(report: &Report) -> String {
    let args: Vec<&Arg> =
        report.tests.iter().map(|t| &t.args).chain(report.crashes.iter().map(|c| &c.args)).flatten().collect();
    let text = |arg: &Arg, part: &str| arg.hex.contains(part) || arg.memory.iter().any(|m| m.value.contains(part));
    let uses = |part: &str| args.iter().any(|arg| text(arg, part));
    let (reads_file, opens_file) = (args.iter().any(|a| a.is_input_file()), uses("penfuzz_file("));
    let opens_stream = uses("penfuzz_stream(");
    let is_written = |output: &Arg| output.place.as_ref().is_some_and(|place| place.variable == WRITTEN);
    let compares = report.tests.iter().flat_map(|test| &test.outputs).any(is_written);
    let opens_memory = args.iter().any(|a| a.is_input() && !a.is_input_file());
    let mut out = String::new();
    if !is_cxx_program(report) {
        let needed = [
            (opens_memory, "extern FILE *fmemopen(void *, size_t, const char *);"),
            (reads_file || opens_file || compares, "extern int fileno(FILE *);"),
            (compares, "extern int dup(int);"),
            (compares, "extern FILE *fdopen(int, const char *);"),
        ];
        if needed.iter().any(|(is_needed, _)| *is_needed) {
            out.push('\n');
        }
        needed.iter().filter(|n| n.0).for_each(|(_, line)| _ = writeln!(out, "{line}"));
    }
    if reads_file {
        out.push_str(INPUT);
    }
    if compares {
        out.push_str(if is_cxx_program(report) { "#include <unistd.h>\n" } else { "" });
        out.push_str(CONTAINS);
    }
    let keep = if compares { KEEP } else { "" };
    if opens_stream {
        out.push_str(&STREAM.replace(KEEP, keep));
    }
    if opens_file {
        out.push_str(&FILE.replace(KEEP, keep));
    }
    out
}

/// Runs in a child process before anything is read. A program with children includes the header that declares `dup2`.
const INPUT: &str = "
/* Replaces standard input by this text. */
static void penfuzz_input(const char *text, unsigned n)
{
  FILE *file = tmpfile();
  fwrite(text, 1, n, file);
  rewind(file);
  dup2(fileno(file), 0);
}
";

/// The function may close the file.
const CONTAINS: &str = "
static int penfuzz_opened;

/* Returns whether the file that was made last contains this text. */
static int penfuzz_contains(const char *text, unsigned n)
{
  FILE *file = fdopen(penfuzz_opened, \"r\");
  unsigned i = 0;
  int c;
  fflush(NULL);
  rewind(file);
  while ((c = getc(file)) != EOF && i < n && (unsigned char)text[i] == c) i++;
  fclose(file);
  return c == EOF && i == n;
}
";

/// The line that is left out if no test looks at the contents.
const KEEP: &str = "  penfuzz_opened = dup(fileno(file));\n";

const STREAM: &str = "
/* Returns a temporary file with this text, positioned at its start. */
static FILE *penfuzz_stream(const char *text, unsigned n)
{
  FILE *file = tmpfile();
  fwrite(text, 1, n, file);
  rewind(file);
  penfuzz_opened = dup(fileno(file));
  return file;
}
";

const FILE: &str = "
/* Creates a temporary file with this text, and stores its name in `name`. */
static char *penfuzz_file(char *name, const char *text, unsigned n)
{
  FILE *file = tmpfile();
  fwrite(text, 1, n, file);
  fflush(file);
  penfuzz_opened = dup(fileno(file));
  sprintf(name, \"/proc/self/fd/%d\", fileno(file));
  return name;
}
";
