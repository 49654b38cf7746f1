//! Fragments for build systems, next to the program: `Makefile`, `CMakeLists.txt` and `meson.build`. Each builds the
//! program and registers it as a test. The directory of the project's sources is one variable at their head; change it
//! when the files move.

use std::fmt::Write;

use penfuzz_report::{c_text::identifier, format::shell_word, model::Report};
use penfuzz_system::console::shown;

use super::{
    access::{File, is_cxx_program, stem},
    formats::Library,
    plan::{Plan, Source, Unit},
};

/// All fragments.
pub(super) fn all(report: &Report) -> Vec<File> {
    let project = Project::of(report);
    vec![
        ("Makefile".to_owned(), project.makefile()),
        ("CMakeLists.txt".to_owned(), project.cmake()),
        ("meson.build".to_owned(), project.meson()),
    ]
}

/// The data from which the fragments are written.
struct Project<'a> {
    plan: Plan,
    /// The name of the program and the test.
    name: String,
    /// The directory of the sources.
    root: Option<String>,
    library: &'a Library,
    program_is_cxx: bool,
}

/// Name of the variable that holds the sources' directory.
const ROOT: &str = "SOURCES";

impl Project<'_> {
    fn of(report: &Report) -> Self {
        let plan = Plan::of(report);
        // make passes the variable to a shell without quotes.
        let root = plan.project().map(|path| path.to_string_lossy().into_owned()).filter(|r| shell_word(r) == *r);
        let library = &super::formats::format_of(report).library;
        Self { plan, name: stem(report), root, library, program_is_cxx: is_cxx_program(report) }
    }

    /// A word of the fragment, in which `variable` replaces the directory of the sources, and `quoted` quotes the rest.
    /// No character can end the line, because the report may come from an untrusted source.
    fn word(&self, text: &str, variable: &str, quoted: &dyn Fn(&str) -> String) -> String {
        let text = &*shown(text);
        let root = self.root.as_deref().unwrap_or("");
        match text.find(root).filter(|_| !root.is_empty()) {
            Some(at) if text[at + root.len()..].starts_with('/') || text.len() == at + root.len() => {
                quoted(&text[..at]) + variable + &quoted(&text[at + root.len()..])
            }
            _ => quoted(text),
        }
    }

    fn path(unit: &Unit) -> String {
        match &unit.source {
            Source::Emitted(name) => name.clone(),
            Source::Project(path) => path.to_string_lossy().into_owned(),
        }
    }

    /// The libraries, with `-lm` once and last.
    fn libs(&self) -> Vec<String> {
        let math = "-lm".to_owned();
        let libs = self.plan.libs.iter().filter(|lib| **lib != math).cloned();
        libs.chain([math.clone()]).collect()
    }

    /// The `Makefile`. It compiles everything each time, because the dependencies of the sources are not known here.
    fn makefile(&self) -> String {
        let name = &self.name;
        let quoted = |text: &str| if text.is_empty() { String::new() } else { shell_word(text).replace('$', "$$") };
        let word = |text: &str| self.word(text, &format!("$({ROOT})"), &quoted);
        let framework = self.library.options.replace("$(", "$(shell ").replace("\"$UNITY\"", "\"$(UNITY)\"");
        let mut out = "# make check: builds and runs the emitted tests.\n".to_owned();
        if let Some(root) = &self.root {
            let _ = writeln!(out, "{ROOT} = {}", root.replace('$', "$$").replace('#', "\\#"));
        }
        let _ = write!(out, "CFLAGS = -O0\nCXXFLAGS = -O0\n\ncheck: {name}\n\t./{name}\n\n{name}:\n");
        let mut objects = Vec::new();
        for (i, unit) in self.plan.units.iter().enumerate() {
            let object = format!("{name}-{i}.o");
            let compiler = if unit.is_cxx() { "$(CXX) $(CXXFLAGS)" } else { "$(CC) $(CFLAGS)" };
            let options: String = unit.options.iter().flat_map(|o| [" ".to_owned(), word(o)]).collect();
            let framework = if i == 0 && !framework.is_empty() { format!(" {framework}") } else { String::new() };
            let _ = writeln!(out, "\t{compiler}{options}{framework} -c {} -o {object}", word(&Self::path(unit)));
            objects.push(object);
        }
        if !self.library.source.is_empty() {
            let source = self.library.source.replace("\"$UNITY\"", "\"$(UNITY)\"");
            let _ = writeln!(out, "\t$(CC) $(CFLAGS) {framework} -c {source} -o {name}-framework.o");
            objects.push(format!("{name}-framework.o"));
        }
        let linker = if self.plan.is_cxx { "$(CXX) $(CXXFLAGS)" } else { "$(CC) $(CFLAGS)" };
        let libs: Vec<_> = self.libs().iter().map(|l| word(l)).collect();
        let framework = self.library.libs.replace("$(", "$(shell ");
        let words: Vec<_> =
            [objects.join(" "), "$(LDFLAGS)".to_owned(), framework, libs.join(" "), format!("-o {name}")]
                .into_iter()
                .filter(|w| !w.is_empty())
                .collect();
        let _ = write!(out, "\t{linker} {}\n\nclean:\n\trm -f {name} {name}-*.o\n\n", words.join(" "));
        let _ = writeln!(out, ".PHONY: check clean {name}");
        out
    }

    fn cmake(&self) -> String {
        let name = &self.name;
        let escaped = |text: &str| -> String {
            text.chars().flat_map(|c| if "\\\"$;".contains(c) { vec!['\\', c] } else { vec![c] }).collect()
        };
        let word = |text: &str| format!("\"{}\"", self.word(text, &format!("${{{ROOT}}}"), &escaped));
        let words = |all: &[String]| -> String { all.iter().flat_map(|o| [" ".to_owned(), word(o)]).collect() };
        let languages = if self.plan.is_cxx { "C CXX" } else { "C" };
        let mut out = format!(
            "# For add_subdirectory(tests) after enable_testing(): the emitted tests.\nenable_language({languages})\n"
        );
        if let Some(root) = &self.root {
            let _ = writeln!(out, "set({ROOT} \"{}\")", escaped(root));
        }
        out.push_str(self.library.cmake);
        let mut linked = Vec::new();
        for (i, unit) in self.plan.units.iter().enumerate() {
            let target = if i == 0 { name.clone() } else { format!("{name}-{i}") };
            let command =
                if i == 0 { format!("add_executable({target}") } else { format!("add_library({target} OBJECT") };
            let _ = writeln!(out, "{command} {})", word(&Self::path(unit)));
            if !unit.options.is_empty() {
                let _ = writeln!(out, "target_compile_options({target} PRIVATE{})", words(&unit.options));
            }
            if i > 0 {
                linked.push(target);
            }
        }
        if self.program_is_cxx {
            let _ = writeln!(out, "target_compile_features({name} PRIVATE cxx_std_17)");
        }
        linked.extend((!self.library.cmake_libs.is_empty()).then(|| self.library.cmake_libs.to_owned()));
        let _ = writeln!(out, "target_link_libraries({name} PRIVATE {}{})", linked.join(" "), words(&self.libs()));
        let _ = writeln!(out, "add_test(NAME {name} COMMAND {name})");
        out
    }

    fn meson(&self) -> String {
        let name = &self.name;
        let variable = identifier(name);
        let escaped = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
        let word = |text: &str| {
            format!("'{}'", self.word(text, &format!("' + {ROOT} + '"), &escaped))
                .replace("'' + ", "")
                .replace(" + ''", "")
        };
        let list = |all: &[String]| format!("[{}]", all.iter().map(|o| word(o)).collect::<Vec<_>>().join(", "));
        let mut out = "# For subdir('tests'): the emitted tests.\nadd_languages('c', native: false)\n".to_owned();
        if self.plan.is_cxx {
            out.push_str("add_languages('cpp', native: false)\n");
        }
        if let Some(root) = &self.root {
            let _ = writeln!(out, "{ROOT} = '{}'", escaped(root));
        }
        out.push_str(self.library.meson);
        let mut linked = Vec::new();
        for (i, unit) in self.plan.units.iter().enumerate().skip(1) {
            let args = if unit.is_cxx() { "cpp_args" } else { "c_args" };
            let path = word(&Self::path(unit));
            let _ =
                writeln!(out, "{variable}_{i} = static_library('{name}-{i}', {path}, {args}: {})", list(&unit.options));
            linked.push(format!("{variable}_{i}"));
        }
        let program = &self.plan.units[0];
        let (args, level) =
            if self.program_is_cxx { ("cpp_args", ", override_options: ['cpp_std=c++17']") } else { ("c_args", "") };
        let _ = writeln!(
            out,
            "{variable} = executable('{name}', {}, {args}: {}, link_whole: [{}], link_args: {}, dependencies: \
             test_framework{level})\ntest('{name}', {variable})",
            word(&Self::path(program)),
            list(&program.options),
            linked.join(", "),
            list(&self.libs())
        );
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penfuzz_report::example;

    #[test]
    fn the_directory_of_the_sources_is_one_variable() {
        let files: Vec<_> = all(&example::report()).into_iter().map(|(_, text)| text).collect();
        for (text, variable) in
            files.iter().zip(["$(SOURCES)/clamp.c", "\"${SOURCES}/clamp.c\"", "SOURCES + '/clamp.c'"])
        {
            assert!(text.contains(variable), "{variable} in\n{text}");
            assert_eq!(text.matches("/src").count(), 1, "one place to change in\n{text}");
        }
    }

    #[test]
    fn a_hostile_path_stays_a_path() {
        let mut report = example::report();
        report.signature.file = "/src/$(shell id)`id`;#\nCRASH\\'\"/clamp.c".to_owned();
        report.sources = vec![report.signature.file.clone()];
        for (name, text) in all(&report) {
            assert!(!text.lines().any(|l| l.starts_with("CRASH")), "{name}: {text}");
            assert!(name != "Makefile" || !text.replace("$$(", "").contains("$(shell"), "{text}");
        }
    }
}
