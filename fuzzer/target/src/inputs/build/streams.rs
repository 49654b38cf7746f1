//! Blocks for inputs besides parameters: standard input, results of the environment, files, and the arguments of a
//! program.

use penfuzz_abi::type_flag;
use penfuzz_mutators::{
    domain::Domain,
    group::Length,
    view::{Kind, Slot},
};

use super::{Builder, Leads};
use crate::{
    inputs::{
        block_builder::{BlockBuilder, PendingPointer, PointeeKind, PointerFacts},
        model::{File, Nondet},
        pointer::Pointer,
        sizes::Rule,
        types::{Form, Number, TypeId},
    },
    program::{Function, environment::Source},
};

/// Maximum number of characters of standard input, with the terminator.
const INPUT: usize = 64;
/// Number of results of a function of the environment; later calls return 0.
const RESULTS: usize = 16;
/// Maximum number of characters of a file, unless a constraint gives another number.
const FILE: usize = 256;
/// Maximum number of arguments of a program besides its name.
const ARGUMENTS: usize = 4;
/// Maximum number of characters of one argument, with the terminator.
const ARGUMENT: usize = 32;

impl Builder<'_> {
    /// Builds the block of standard input.
    pub(in crate::inputs) fn add_input(&mut self) -> usize {
        self.add_text("stdin", INPUT, Rule::Full, None).0
    }

    /// Builds the block of the results of a function of the environment.
    pub(in crate::inputs) fn add_nondet(&mut self, source: Source) -> Nondet {
        let type_name = source.function.trim_start_matches("__VERIFIER_nondet_");
        let element = self.types.add_kind(source.kind, type_name);
        let block_builder = BlockBuilder::new(element, source.kind.size(), source.function.clone());
        let block = self.fill(block_builder, source.kind, RESULTS);
        Nondet { source, block }
    }

    /// Builds the texts of the arguments of a program, and `argv`. `argc` is their number. The environment is empty.
    pub(in crate::inputs) fn add_arguments(&mut self, f: &Function, parameters: &[(TypeId, usize)]) {
        let (Some(argc), Some((of, at))) = (f.parameters.first(), parameters.get(1)) else { return };
        let Form::Pointer(element) = self.types[*of].form else { return };
        if let Some((_, slot)) = self.numbers.iter().find(|(path, _)| *path == argc.name) {
            self.ranges.extend(Domain::new(self.slots[*slot].kind, 1, ARGUMENTS as u64 + 1).map(|d| (*slot, d)));
        }
        let mut pointers = vec![Pointer::new(0, Leads::Program)];
        for i in 1..=ARGUMENTS {
            // All characters if `argc` is above `i`, else none.
            let (times, plus) = (ARGUMENT as i64, -((i * ARGUMENT) as i64));
            let rule = Rule::Linear(argc.name.clone(), times, plus);
            let (block, _) = self.add_text(&format!("{}[{i}]", f.parameters[1].name), ARGUMENT, rule, None);
            pointers.push(Pointer::new(8 * i, Leads::Block(block)));
        }
        let mut list = BlockBuilder::new(element, 8, f.parameters[1].name.clone());
        list.block.capacity = ARGUMENTS + 2;
        list.block.length = Length::Fixed(ARGUMENTS + 2);
        list.block.rule = Rule::Linear(argc.name.clone(), 1, 1);
        list.block.pointers = pointers;
        let list = self.finish_block(list, &PointerFacts::default());
        self.blocks[0].pointers.push(Pointer::new(*at, Leads::Block(list)));
        if let Some((_, at)) = parameters.get(2) {
            let mut envp = BlockBuilder::new(element, 8, f.parameters[2].name.clone());
            envp.block.is_output = true;
            let envp = self.finish_block(envp, &PointerFacts::default());
            self.blocks[0].pointers.push(Pointer::new(*at, Leads::Block(envp)));
        }
    }

    /// What a pointer leads to: memory, a stream, or the name of a file.
    pub(in crate::inputs) fn pointee_kind(&self, to: TypeId, path: &str, way: &PointerFacts) -> PointeeKind {
        let t = &self.types[to];
        if matches!(t.name.as_str(), "struct _IO_FILE" | "_IO_FILE") {
            return PointeeKind::Stream;
        }
        let is_named = way.names_file && self.constraints.may_be_file(path) || self.constraints.file(path).is_some();
        if is_named && t.has(type_flag::CHAR) { PointeeKind::Name } else { PointeeKind::Memory }
    }

    /// Builds the block of the text of a file; returns the index of the file.
    pub(in crate::inputs) fn add_file(&mut self, p: &PendingPointer) -> usize {
        let room = self.constraints.file(&p.path).unwrap_or(FILE) + 1;
        let missing = (p.made == PointeeKind::Name).then_some(Kind::Bool);
        let (block, missing) = self.add_text(&p.path, room, Rule::Full, missing);
        self.files.push(File { block, missing });
        self.files.len() - 1
    }

    /// Builds a block of characters. A number of the kind `before` precedes it in the input.
    fn add_text(&mut self, path: &str, room: usize, rule: Rule, before: Option<Kind>) -> (usize, Option<Slot>) {
        let element = self.types.add_character();
        let mut block_builder = BlockBuilder::new(element, 1, path.to_owned());
        (block_builder.block.is_string, block_builder.block.rule) = (true, rule);
        let before = before.and_then(|kind| self.slot(&mut block_builder, kind));
        (self.fill(block_builder, Kind::U8, room), before)
    }

    /// Adds `n` numbers to a block, and finishes it.
    fn fill(&mut self, mut block_builder: BlockBuilder, kind: Kind, n: usize) -> usize {
        (block_builder.block.capacity, block_builder.block.length) = (n, Length::Fixed(n));
        block_builder.block.is_const = true;
        (block_builder.first_slot, block_builder.per_element) = (self.slots.len(), 1);
        let path = block_builder.block.path.clone();
        for i in 0..n {
            self.place_number(&mut block_builder, Number::Plain(kind), i * kind.size(), &format!("{path}[{i}]"));
        }
        block_builder.slotted = self.slots.len() - block_builder.first_slot;
        self.finish_block(block_builder, &PointerFacts::default())
    }
}
