//! Property tests of command lines and response files, with generated lines that are mostly unusual.

use std::{fs, path::PathBuf};

use proptest::{collection::vec, prelude::*, sample::select};

use crate::{
    Compile, Error, Language,
    arguments::{Action, Arguments},
    clang::{Invocation, NO_WARNING},
    response,
};

/// The configuration for this number of cases. All properties together take less than two seconds.
fn cases(cases: u32) -> ProptestConfig {
    // A failure prints a minimal line, which can become a test of its own. No file is written.
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Options that pen-cc interprets, and arguments that are similar to them.
const KNOWN: &[&str] = &[
    "-c",
    "-S",
    "-E",
    "-r",
    "-shared",
    "-static",
    "-v",
    "-###",
    "-o",
    "-x",
    "-xc",
    "-x",
    "-z",
    "-e",
    "-l",
    "-I",
    "-B",
    "-Wl,",
    "-Wl,-z",
    "-Wl,-z,defs",
    "-Wl,--entry=",
    "-Wl,,,",
    "-Xlinker",
    "-Xclang",
    "-target",
    "--sysroot",
    "--sysroot=",
    "--target=",
    "-g",
    "-pie",
    "-flto",
    "-flto=",
    "-fsanitize=",
    "-fsanitize=address",
    "-fsanitize-trap",
    "-nostdlib",
    "-m32",
    "-cc1",
    "-fpen-exceptions",
    "-fpen-moves",
    "-fpen-decisions",
    "-fpen-mutants",
    "-fpen-mutants=",
    "--libafl",
    "-print-",
    "--help=",
    "-",
    "--",
    "",
    "@",
    "x.c",
    "x.s",
    "x.bc",
    "é.c",
];

fn any_argument() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => select(KNOWN).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => any::<String>().prop_map(|text| format!("-{text}")),
        1 => (select(KNOWN), any::<String>()).prop_map(|(option, text)| format!("{option}{text}")),
    ]
}

/// An option that clang gets unchanged, with its value.
fn plain_option() -> impl Strategy<Value = Vec<String>> {
    const SINGLE: &[&str] =
        &["-O2", "-Wall", "-std=c11", "-fno-math-errno", "-DX=\"a b\"", "-Iinclude", "-MD", "-pipe", "-v", "-g3"];
    const PAIRS: &[&str] =
        &["-I", "-D", "-isystem", "-include", "-MF", "-MT", "-Xclang", "-Xpreprocessor", "-mllvm", "-target"];
    let value = prop_oneof![Just("-g"), Just("-pie"), Just("x.h"), Just("-"), Just("")];
    prop_oneof![
        select(SINGLE).prop_map(|option| vec![option.to_owned()]),
        (select(PAIRS), value).prop_map(|(option, value)| vec![option.to_owned(), value.to_owned()]),
        "[a-z]{1,8}\\.c".prop_map(|source| vec![source]),
    ]
}

/// An option that pen-cc replaces or rewrites, and what clang gets instead.
fn changed_option() -> impl Strategy<Value = (Vec<String>, Vec<String>)> {
    const CHANGED: &[(&[&str], &[&str])] = &[
        (&["-g"], &[]),
        (&["-pie"], &[]),
        (&["-no-pie"], &[]),
        (&["-flto=thin"], &[]),
        (&["-fsanitize=fuzzer"], &[]),
        (&["-fpen-exceptions"], &[]),
        (&["-fpen-moves"], &[]),
        (&["-fpen-decisions"], &[]),
        (&["-fpen-mutants=f"], &[]),
        (&["-xc++"], &["-x", "c++"]),
        (&["-o", "y.o"], &["-oy.o"]),
    ];
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    select(CHANGED).prop_map(move |(given, passed)| (owned(given), owned(passed)))
}

/// A line that compiles, and the arguments that clang gets for it.
fn compile_line() -> impl Strategy<Value = (Vec<String>, Vec<String>)> {
    let same = |words: Vec<String>| (words.clone(), words);
    let option = prop_oneof![3 => plain_option().prop_map(same), 1 => changed_option()];
    let compiles = ["-c", "x.c"].map(|word| same(vec![word.to_owned()]));
    let parts = vec(option, 0..12).prop_map(move |options| [options, compiles.to_vec()].concat()).prop_shuffle();
    parts.prop_map(|parts| {
        let (given, passed): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        (given.concat(), passed.concat())
    })
}

/// A word in a response file: with a backslash before every character, or in quotes.
fn written(word: &str, quote: Option<char>) -> String {
    let Some(quote) = quote else {
        return if word.is_empty() { "''".to_owned() } else { word.chars().flat_map(|c| ['\\', c]).collect() };
    };
    let escaped: String =
        word.chars().flat_map(|c| [(c == quote || c == '\\').then_some('\\'), Some(c)]).flatten().collect();
    format!("{quote}{escaped}{quote}")
}

/// Words, each with its quote and the white space that follows it.
fn words() -> impl Strategy<Value = Vec<(String, Option<char>, &'static str)>> {
    let quote = select(&[None, Some('"'), Some('\'')][..]);
    vec((any::<String>(), quote, select(&[" ", "\n", "\t \r\n", "\u{2003}"][..])), 0..12)
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn any_line_is_read_or_refused(args in vec(any_argument(), 0..8)) {
        match Arguments::read(&args) {
            Ok(line) if line.action == Action::Query => prop_assert_eq!(line.args, args),
            Ok(line) => prop_assert!(line.args.len() <= 2 * args.len()),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn the_compiler_gets_the_users_options_in_order((given, passed) in compile_line()) {
        let line = Arguments::read(&given).expect("the line compiles");
        prop_assert_eq!(line.action, Action::Compile);
        prop_assert_eq!(line.args, passed);
    }

    #[test]
    fn words_survive_a_response_file(words in words()) {
        let text: String = words.iter().map(|(word, quote, space)| written(word, *quote) + space).collect();
        let expected: Vec<String> = words.into_iter().map(|(word, ..)| word).collect();
        prop_assert_eq!(response::split(&text), expected);
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn any_file_is_a_response_file_or_an_error(
        bytes in vec(any::<u8>(), 0..200),
        before in "[a-z]{1,4}",
        after in "[a-z]{1,4}",
    ) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("line");
        fs::write(&path, &bytes).expect("the file is written");
        let args = [before.clone(), format!("@{}", path.display()), after.clone()];
        match (response::expand(&args), String::from_utf8(bytes)) {
            (Ok(expanded), Ok(text)) => {
                let expected = [vec![before], response::split(&text), vec![after]].concat();
                prop_assert_eq!(expanded, expected);
            }
            (Err(Error::Response { path: named, .. }), Err(_)) => prop_assert_eq!(named, path),
            (expanded, text) => prop_assert!(false, "{:?} of {:?}", expanded, text),
        }
    }

    #[test]
    fn the_options_of_the_wrapper_stand_behind_the_users((given, passed) in compile_line()) {
        let Invocation { command, notes } = Invocation::new(&given, Language::C, true).expect("the line compiles");
        let users: Vec<String> = command.iter().skip(1).take_while(|arg| **arg != NO_WARNING[0]).cloned().collect();
        prop_assert_eq!(users, passed);
        prop_assert!(command.iter().any(|arg| arg.starts_with("-fpass-plugin=")), "{:?}", command);
        prop_assert!(notes.is_empty(), "{:?}", notes);
    }

    #[test]
    fn a_path_is_never_an_option(name in "[-@/. a-z\"'\\\\]{1,12}") {
        let compile = Compile { libraries: Vec::new(), ..Compile::new("out") }.source(PathBuf::from(&name));
        let args = compile.args();
        let [option, output, source] = &args[..] else { panic!("one output and one source: {args:?}") };
        prop_assert_eq!((option.as_str(), output.as_str()), ("-o", "out"));
        prop_assert!(!source.starts_with(['-', '@']) && source.ends_with(&name), "{}", source);
        let line = Arguments::read(&args).expect("it has an input");
        prop_assert_eq!(line.action, Action::Program);
        prop_assert_eq!(line.args, ["-oout".to_owned(), source.clone()]);
    }
}
