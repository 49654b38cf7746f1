use super::*;

fn read(line: &str) -> Arguments {
    let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    Arguments::read(&args).expect("a readable command line")
}

#[test]
fn a_line_asks_for_one_action() {
    for (line, action) in [
        ("--version", Action::Query),
        ("-v", Action::Query),
        ("-print-prog-name=ld", Action::Query),
        ("-dumpmachine", Action::Query),
        ("-E x.c", Action::Query),
        ("-M x.c", Action::Query),
        ("-cc1 -triple x", Action::Query),
        ("-c x.c", Action::Compile),
        ("-S x.c", Action::Compile),
        ("-MD -MF x.d -c x.c", Action::Compile),
        ("-v x.c", Action::Program),
        ("-Wl,--version", Action::Query),
        ("-fuse-ld=lld -Wl,-v", Action::Query),
        ("-Xlinker --version", Action::Query),
        ("-c -Wl,--version", Action::Query),
        ("-Wl,--version x.c", Action::Program),
        ("--print-search-dirs", Action::Query),
        ("-print-multiarch", Action::Query),
        ("x.o -o x", Action::Program),
        ("-x c -", Action::Program),
        ("-lm", Action::Program),
        ("-shared x.o", Action::Library),
        ("-r x.o -o y.o", Action::Relocatable),
        ("-fsanitize=undefined -fsanitize-trap=all x.c", Action::Program),
        ("-fsanitize=fuzzer x.c", Action::Program),
    ] {
        assert_eq!(read(line).action, action, "pen-cc {line}");
    }
    assert!(matches!(read("-static x.c").action, Action::PlainProgram(_)));
    assert!(matches!(read("-fsanitize=address x.c").action, Action::PlainProgram(_)));
}

#[test]
fn values_of_options_are_no_inputs() {
    for line in ["-o x", "-MF x.d", "-include x.h", "-I include", "-Xassembler x.o", ""] {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        assert!(matches!(Arguments::read(&args), Err(Error::NoInput)), "pen-cc {line}");
    }
}

#[test]
fn replaced_options_do_not_reach_clang() {
    assert_eq!(read("-g -pie -flto=thin -no-pie -xc x -o y").args, ["-x", "c", "x", "-oy"]);
}

#[test]
fn pen_ccs_own_option_does_not_reach_clang() {
    let line = read("-fpen-exceptions -fpen-moves -c x.c");
    assert!(line.exceptions && line.moves && line.args == ["-c", "x.c"], "{line:?}");
    assert!(!read("-c x.c").exceptions);
    let mutants = |line: &str| read(line).mutants;
    assert_eq!(mutants("-fpen-mutants -c x.c").as_deref(), Some("*"));
    assert_eq!(mutants("-fpen-mutants=f -c x.c").as_deref(), Some("f"));
    assert_eq!(mutants("-c x.c"), None);
}

#[test]
fn clangs_counters_may_be_the_users() {
    for text in
        ["-fprofile-instr-generate -fcoverage-mapping -c x.c", "-fprofile-use=x -c x.c", "-fprofile-generate x.c"]
    {
        assert!(read(text).counters, "pen-cc {text}");
    }
    for text in ["--coverage -c x.c", "-fprofile-arcs -ftest-coverage -c x.c", "-c x.c"] {
        assert!(!read(text).counters, "pen-cc {text}");
    }
}

#[test]
fn linker_options_are_read_in_every_spelling() {
    assert!(read("-Wl,-z,defs x.o").no_undefined);
    assert!(read("-z defs x.o").no_undefined);
    assert!(read("-Wl,--as-needed,--no-undefined x.o").no_undefined);
    assert!(read("-Xlinker --gc-sections x.o").drops_sections);
    assert!(read("-Wl,-e,start x.o").entry);
    assert!(!read("-Wl,-z,now x.o").no_undefined);
}

#[test]
fn rejected_command_lines_are_passed_to_clang_unchanged() {
    for text in ["-c x.c -o", "-g -c x.c -Xclang", "x.c --libafl", "-c x.c -g --libafl-no-link"] {
        let line = read(text);
        assert_eq!((line.action, line.args.join(" ").as_str()), (Action::Query, text), "pen-cc {text}");
    }
}

#[test]
fn queries_are_passed_on_unchanged() {
    assert_eq!(read("-g -E -o y x.c").args, ["-g", "-E", "-o", "y", "x.c"]);
}
