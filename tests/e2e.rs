//! End-to-end tests: the built `penfuzz` on real programs, with real signals, kills and full disks.

#[path = "e2e/accuracy.rs"]
mod accuracy;
#[path = "e2e/afl_plus_plus.rs"]
mod afl_plus_plus;
#[path = "e2e/bad_input.rs"]
mod bad_input;
#[path = "e2e/behind_pointers.rs"]
mod behind_pointers;
#[path = "e2e/boundary.rs"]
mod boundary;
#[path = "e2e/browser.rs"]
mod browser;
#[path = "e2e/callers.rs"]
mod callers;
#[path = "e2e/chaos.rs"]
mod chaos;
#[path = "e2e/closed_world.rs"]
mod closed_world;
#[path = "e2e/compare.rs"]
mod compare;
#[path = "e2e/conditions.rs"]
mod conditions;
#[path = "e2e/console.rs"]
mod console;
#[path = "e2e/contained.rs"]
mod contained;
#[path = "e2e/corpus.rs"]
mod corpus;
#[path = "e2e/crashes.rs"]
mod crashes;
#[path = "e2e/criteria.rs"]
mod criteria;
#[path = "e2e/determinism.rs"]
mod determinism;
#[path = "e2e/exceptions.rs"]
mod exceptions;
#[path = "e2e/experiments.rs"]
mod experiments;
#[path = "e2e/farm.rs"]
mod farm;
#[path = "e2e/full_disk.rs"]
mod full_disk;
#[path = "e2e/further_criteria.rs"]
mod further_criteria;
#[path = "e2e/goals.rs"]
mod goals;
#[path = "e2e/graded.rs"]
mod graded;
#[path = "e2e/hostile.rs"]
mod hostile;
#[path = "e2e/inputs/mod.rs"]
mod inputs;
#[path = "e2e/interrupt.rs"]
mod interrupt;
#[path = "e2e/machines.rs"]
mod machines;
#[path = "e2e/mathematics.rs"]
mod mathematics;
#[path = "e2e/misbehaving.rs"]
mod misbehaving;
#[path = "e2e/mutate.rs"]
mod mutate;
#[path = "e2e/outputs.rs"]
mod outputs;
#[path = "e2e/own_goal.rs"]
mod own_goal;
#[path = "e2e/papers.rs"]
mod papers;
#[path = "e2e/prove/mod.rs"]
mod prove;
#[path = "e2e/random_programs.rs"]
mod random_programs;
#[path = "e2e/reach.rs"]
mod reach;
#[path = "e2e/readable.rs"]
mod readable;
#[path = "e2e/record.rs"]
mod record;
#[path = "e2e/resume.rs"]
mod resume;
#[path = "e2e/rounding.rs"]
mod rounding;
#[path = "e2e/since.rs"]
mod since;
#[path = "e2e/solve.rs"]
mod solve;
#[path = "e2e/strangers/mod.rs"]
mod strangers;
#[path = "e2e/stuck.rs"]
mod stuck;
#[path = "e2e/suites.rs"]
mod suites;
#[path = "e2e/support.rs"]
mod support;
#[path = "e2e/survival.rs"]
mod survival;
#[path = "e2e/sync.rs"]
mod sync;
#[path = "e2e/targets.rs"]
mod targets;
#[path = "e2e/triage.rs"]
mod triage;
#[path = "e2e/truth/mod.rs"]
mod truth;
#[path = "e2e/watching.rs"]
mod watching;
