//! Synthetic experiments for tests: coverage of a tool grows with the logarithm of time, and depends on tool, function
//! and trial by a fixed formula.

use penfuzz_suite::config::Paper;

use crate::model::{Budget, Experiment, FunctionInfo, Machine, Point, SCHEMA, ToolInfo, Trial};

const TOOLS: [&str; 14] = [
    "penfuzz",
    "penfuzz-random-moves",
    "penfuzz-paper",
    "structured",
    "random",
    "uniform",
    "havoc",
    "afl++",
    "afl++-cmplog",
    "afl++-laf",
    "afl++-vp",
    "libfuzzer",
    "libfuzzer-vp",
    "honggfuzz",
];

/// Returns an experiment with all its trials.
pub fn experiment(functions: usize, tools: usize, trials: u32) -> (Experiment, Vec<Trial>) {
    let experiment = Experiment {
        schema: SCHEMA,
        suites: vec!["example".to_owned()],
        functions: (0..functions).map(function).collect(),
        tools: TOOLS.iter().take(tools).map(|name| tool(name)).collect(),
        trials,
        budget: Budget { cpu_seconds: 10.0, evaluations: None, times_paper: None },
        published: Vec::new(),
        left_out: Vec::new(),
        without_seeds: false,
        seed: 1,
        machine: Machine {
            cpu: "Example CPU <at> 2 GHz".to_owned(),
            cores: vec![0, 1],
            memory: 8 << 30,
            system: "Example Linux 6.1".to_owned(),
            gcc: "gcc (Example) 12.2.0".to_owned(),
        },
        command: ["suite.toml", "--tools", "penfuzz,afl++", "--only", "a b"].map(str::to_owned).into(),
    };
    let done = (0..functions)
        .flat_map(|f| (0..tools).flat_map(move |t| (0..trials).map(move |n| (f, t, n))))
        .map(|(f, t, n)| trial(&experiment, f, t, n));
    let done = done.collect();
    (experiment, done)
}

fn function(i: usize) -> FunctionInfo {
    let name = format!("function_{i}");
    let paper = Paper {
        branches: Some(branches(i) + usize::from(i == 1)),
        seconds: Some(0.5 + i as f64),
        rand: Some(40.0),
        afl: i.is_multiple_of(2).then_some(70.0),
        coverme: Some(90.0),
    };
    FunctionInfo {
        file: format!("{name}.c"),
        function: name.clone(),
        name,
        suite: "example".to_owned(),
        paper: Some(paper),
    }
}

fn tool(name: &str) -> ToolInfo {
    ToolInfo {
        name: name.to_owned(),
        what: format!("the example of {name}"),
        version: format!("{name} 1.0 & a half"),
        build: "CC=clang -O0 -g -fsanitize=fuzzer HARNESS.c FUNCTION.c SUPPORT.a -lm".to_owned(),
        run: "TARGET -seed=SEED CORPUS".to_owned(),
        skipped: None,
    }
}

fn branches(function: usize) -> usize {
    8 + function * 7 % 50
}

fn trial(experiment: &Experiment, function: usize, tool: usize, number: u32) -> Trial {
    let total = branches(function);
    let luck = hash(function, tool, number as usize);
    // No tool takes two of the branches; later tools miss more in some trials; function 2 is hard for the first tool.
    let missed = if tool == 0 { usize::from(function == 2) } else { luck % 3 * (tool + function % 4) / 6 };
    let covered = total - 2 - missed.min(total - 3);
    let point = |i: usize| Point {
        seconds: 0.0007
            * 10_f64.powf(4.0 * i as f64 / total as f64)
            * (1.0 + tool as f64 * 0.4 + (luck % 7) as f64 * 0.1),
        covered: i,
    };
    Trial {
        schema: SCHEMA,
        function: experiment.functions[function].name.clone(),
        tool: experiment.tools[tool].name.clone(),
        trial: number,
        seed: u64::from(number) + 1,
        cpu_seconds: 10.0 - 0.5 * tool as f64,
        wall_seconds: 10.5,
        build_seconds: 1.25,
        evaluations: (tool != 6).then_some(1_000_000 * (tool as u64 + 1) + luck as u64 % 1000),
        starts: 1,
        inputs: covered / 2,
        failing_inputs: 0,
        total,
        taken: (0..covered as u32).collect(),
        criteria: None,
        timeline: (1..=covered).map(point).collect(),
        error: None,
    }
}

/// Returns numbers without a visible pattern.
fn hash(a: usize, b: usize, c: usize) -> usize {
    let mixed = (a * 73 + b * 179 + c * 283 + 17).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed >> 40
}
