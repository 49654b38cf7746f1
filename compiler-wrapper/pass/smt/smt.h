// The translation of a function to SMT-LIB for the prover's queries. docs/proofs.md defines the meaning of all goals.
//
// A term that is defined here holds in every execution, or it depends on a fresh value. Values without an exact meaning
// are fresh.
#pragma once

#include "../plugin.h"
#include "script.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace pen::smt {

static constexpr unsigned PointerBits = 64;

// A value of the program. `Text` is a Bool, bits, or a float. For a float, `Bits` may be known in addition to `Text`,
// or instead of it. If `Poison` holds, compilers may choose any value at each use.
struct Val {
  enum Kind { Unknown, Scalar, Pointer, Aggregate } K = Unknown;
  Sort S;
  Term Text; // empty for a float of which only the bits are known; the address of a pointer
  Term Bits; // the bits of a float, or empty
  Term Poison = "false";
  unsigned Base = 0; // of a pointer: the object, as an index into Translator::Objects
  std::optional<int64_t> Offset; // in the object, if it is constant
  Term OffsetText; // the same as a term of 64 bits
  std::vector<Val> Parts;
  // bits that are arbitrary at each use (of raw values only; elsewhere such a value is poison)
  std::optional<llvm::APInt> Undefined;

  static Val scalar(Sort S, Term Text, Term Poison = "false") {
    Val V;
    V.K = Scalar, V.S = S, V.Text = std::move(Text), V.Poison = std::move(Poison);
    return V;
  }
  bool isFloat() const { return K == Scalar && S.K == Sort::Float; }
  bool isBits() const { return K == Scalar && S.K == Sort::Bits; }
  bool isBool() const { return K == Scalar && S.K == Sort::Bool; }
};

// An object that a pointer can lead to. The object of an argument or a loaded pointer is foreign: it may be any other
// foreign object, a global variable, or a local variable whose address has escaped.
struct Object {
  enum Kind { Stack, Global, Foreign } K = Foreign;
  bool Captured = true;
  const llvm::GlobalVariable *Variable = nullptr;
  Term Origin; // the name of the input that is its address, or empty
};

struct Cell {
  unsigned Size;
  Val Value;

  // Whether the bits of the value fill all its bytes: a bool has one bit in a byte.
  bool isWhole() const {
    return Value.K == Val::Pointer ? Size == 8 : Value.K == Val::Scalar && !Value.isBool() && Value.S.Width == Size * 8;
  }
};

// The memory at a point of the execution: cells by object and offset. A place without a cell has a value that is fixed
// for an epoch of the object.
struct Memory {
  std::map<std::pair<unsigned, int64_t>, Cell> Cells;
  std::set<unsigned> Clean; // local variables that no unknown code has written
  unsigned Epoch = 0; // of all objects without an own epoch
  std::map<unsigned, unsigned> Own; // epochs of objects whose other places were not written since

  unsigned epochOf(unsigned Object) const {
    auto Found = Own.find(Object);
    return Found == Own.end() ? Epoch : Found->second;
  }
};

// The result of one activation of a function.
struct Outcome {
  bool Returns = false;
  Term When = "false";
  bool CanFail = false; // it may throw or end the program
  Term Acts = "false"; // an event with an effect happens (for compared translations)
  Val Result;
  Memory After;
};

// Removes elements of a set or a map.
template <class Set, class Condition> void removeIf(Set &All, Condition Is) {
  for (auto It = All.begin(); It != All.end();) It = Is(*It) ? All.erase(It) : std::next(It);
}

class Translator;

// pairing.cc: two translations of one function, the original and a mutant, which are compared step by step. An event is
// an action on which other steps depend: a write, a call, or the values with which a loop begins or closes a round. As
// long as all earlier events are the same, so are memory, the results of calls and the variables of loops. There, the
// translation of the mutant uses the fresh values and epochs of the original. So if no event and no result can differ,
// no execution differs; docs/mutation.md has the argument.
class Pairing {
public:
  struct Event {
    Term When;
    bool IsEffect = true; // whether it happens must agree, too; else only the operands must, if both events happen
    std::vector<Val> Operands;
  };
  using Key = std::tuple<unsigned, const llvm::Value *, const llvm::Value *, unsigned, std::string>;
  using Events = std::map<Key, Event>;
  // The arguments and memory at the begin of a call, and the condition that the call happens.
  struct Start {
    Term When;
    std::vector<Val> Args;
    Memory Before;
  };
  // A call with the same behaviour in both translations, but under another condition.
  struct Moved {
    Term Original, Mutant, Acts;
  };

  // Starts the translation of a mutant, in a copy of the function. `OriginalOf` maps instructions and blocks of the
  // copy to those of the original.
  void begin(std::map<const llvm::Value *, const llvm::Value *> OriginalOf);
  // A number for the chain of calls that leads to a frame.
  unsigned contextOf(unsigned Outer, const llvm::Value *Call);
  // Whether the original has translated the call in place; nothing if the original has no such call, or is being
  // translated itself.
  std::optional<bool> wasInlined(unsigned Outer, const llvm::Value *Call);
  // Stores the outcome of a call of the original, with `Inside` as the context of its body.
  void record(unsigned Inside, Start From, const Outcome &Done);
  // The stored outcome, if a call of the mutant begins with the same arguments and memory. Its events are those of the
  // original (`isRepeated`), except for `Shifted`.
  const Outcome *repeat(unsigned Inside, const Start &From);
  bool isRepeated(const Key &Event) const { return Repeated.count(std::get<0>(Event)); }
  // Sets the instruction, block or function that is translated next.
  void at(unsigned Context, const llvm::Value *V, const llvm::Value *From = nullptr);
  // The translation that follows has no counterpart in the original.
  void nowhere() { At = nullptr; }
  // A fresh value, or the value of the original at the same place with the same `Extra`.
  Val value(const std::function<Val()> &Make, const std::string &Extra = "");
  unsigned epoch(unsigned New);
  // The object of a pointer with this address: one object per address.
  unsigned foreignAt(const Term &Address, const std::function<unsigned()> &Make);
  void removeObjectsFrom(unsigned First);
  void note(Event E);

  Events Original, Mutant; // the events of the mutant since begin()
  std::vector<Moved> Shifted; // since begin()

private:
  bool IsOriginal = true;
  unsigned Context = 0, Ordinal = 0, Added = 0;
  const llvm::Value *At = nullptr, *From = nullptr;
  std::map<const llvm::Value *, const llvm::Value *> OriginalOf;
  std::map<std::pair<unsigned, const llvm::Value *>, unsigned> Contexts;
  std::map<Key, Val> Values;
  std::map<Key, unsigned> Epochs;
  std::map<Term, unsigned> Foreign;
  struct Call {
    Start From;
    Outcome Done;
    unsigned Last; // the last context of its nested calls, whose contexts follow its own
  };
  std::map<unsigned, Call> Calls; // by context
  llvm::DenseSet<unsigned> Repeated; // contexts that were not translated again for the mutant

  const llvm::Value *inOriginal(const llvm::Value *V) const;
  Key next(const std::string &Extra) { return {Context, At, From, Ordinal++, Extra}; }
};

bool isOnlyRead(const llvm::Value &Address);

bool same(const Val &A, const Val &B); // terms.cc

// A branch that a path takes: the number of its site in the function, and its number at the site.
struct Step {
  unsigned Site = 0, Branch = 0;
};

class Way; // paths.cc
using BlockEdges = std::set<std::pair<const llvm::BasicBlock *, const llvm::BasicBlock *>>;

// The numbers of a function's sites that are conditionals.
using SiteNumbers = llvm::DenseMap<const llvm::Value *, unsigned>;
SiteNumbers numbersOf(const FunctionPlan &Plan); // proofs.cc

// Paths by number.
using PathsOf = std::map<unsigned, std::vector<Step>>;

// The translation of one activation of a function.
class Frame {
public:
  Frame(Translator &X, llvm::Function &F, std::vector<Val> Args, Term Entry, Memory Start, unsigned Depth,
        unsigned Context = 0);
  Outcome run();
  // paths.cc: translates one path instead of run(). Returns the condition that an execution takes exactly the branches
  // of the path; nothing if the function has no such path, or if a part of it has no translation.
  std::optional<Term> follow(Way Ahead);
  // loops.cc: translates the first two rounds of a loop of these blocks instead of run(). Returns the conditions that
  // the loop is left in the first round, that it is left in the second, and that a third begins.
  std::array<Term, 3> firstRounds(const llvm::BasicBlock &Header,
                                  const llvm::SmallPtrSetImpl<const llvm::BasicBlock *> &Loop);
  // loops.cc: translates any round of the loop, which is cut, and its head once more, instead of run(). Returns the
  // condition that the loop is left at that head.
  Term leftAtHead(const llvm::BasicBlock &Header, const llvm::BasicBlock &Head,
                  const llvm::SmallPtrSetImpl<const llvm::BasicBlock *> &Loop);
  // Called before and after the translation of each instruction, with the values and memory at that point.
  std::function<void(const llvm::Instruction &, bool IsAfter)> Watch;
  // mutants.cc: translates mutated code at the instruction that run() translates.
  void translateScratch(llvm::BasicBlock::const_iterator From, llvm::BasicBlock::const_iterator To);
  Val contentsAt(const llvm::StoreInst &Store);
  Val known(const llvm::Value *V) { return valueOf(V); }

  // The condition that control reaches a block, or takes an edge between two blocks.
  Term reachOf(const llvm::BasicBlock *BB) const;
  Term reachOf(const llvm::BasicBlock *From, const llvm::BasicBlock *To) const;
  // The condition that control reaches the end of a block: all calls in it have returned.
  Term endOf(const llvm::BasicBlock *BB) const;
  Term edgeOf(const llvm::BranchInst &Br, unsigned K);
  Term caseOf(const llvm::SwitchInst &Sw, unsigned Case); // of a case; the number of cases selects the default
  Term conditionOf(const llvm::Instruction &I); // of a branch or select: free if compilers may take either way
  std::optional<Term> sideOf(const Site &Comparison, unsigned Side);     // sides.cc; `Side` of enum pen_side
  Term roundingOf(const llvm::Instruction &Conversion);                  // exceptions.cc
  std::optional<Term> raises(const Site &Operation, unsigned Exception); // exceptions.cc; of enum pen_exception

private:
  Translator &X;
  llvm::Function &F;
  std::vector<Val> Args;
  Term Entry;
  Memory Now;
  unsigned Depth, Context;
  llvm::DenseMap<const llvm::Value *, Val> Values;
  llvm::DenseMap<const llvm::BasicBlock *, Term> Reach;
  // for blocks with calls that may not return: the calls translated so far have returned
  llvm::DenseMap<const llvm::BasicBlock *, Term> ReturnedIn;
  bool CanFail = false;
  const llvm::BasicBlock *InRounds = nullptr; // the header of a loop that is not cut
  std::map<const llvm::BasicBlock *, Memory> Ends;
  std::map<std::pair<const llvm::BasicBlock *, const llvm::BasicBlock *>, Term> Edges;
  BlockEdges Back;
  llvm::DenseMap<const llvm::Instruction *, Term> Conditions;
  std::map<const llvm::SwitchInst *, Term> Switched; // the bits of the switch conditions
  struct Return {
    Term When;
    Val Result;
    Memory After;
  };
  std::vector<Return> Returns;
  std::vector<unsigned> Locals; // the objects of local variables
  // A value that a loop changes; it is fresh at the header.
  struct Cut {
    const llvm::PHINode *Phi;
    Val Changed, Initial;
    unsigned Loop;
    std::string Name;
  };
  std::vector<Cut> Cuts;
  std::map<const llvm::BasicBlock *, llvm::SmallPtrSet<const llvm::BasicBlock *, 16>> Loops; // by header

  // frame.cc
  void translate(const llvm::BasicBlock &BB);
  void enter(const llvm::BasicBlock &BB);
  void enterLoop(const llvm::BasicBlock &BB);
  void forgetWrittenIn(const llvm::SmallPtrSetImpl<const llvm::BasicBlock *> &Loop);
  void leave(const llvm::BasicBlock &BB);
  void forgetRound(const llvm::BasicBlock &BB);
  void leaveSwitch(const llvm::SwitchInst &Sw);
  void noteEdge(const llvm::BasicBlock *From, const llvm::BasicBlock *To, const Term &When);
  Val phi(const llvm::PHINode &Phi);
  std::string place(const llvm::Instruction &I) const;

  // paths.cc: the end of a path, or of its part in one activation.
  struct Walk {
    enum { Lost, Done, Returned } End = Lost; // no such path, all branches taken, or returned before that
    Term When = "false";
    Val Result;
    Memory After;
  };
  Walk walk(Way &Ahead);
  Walk walkInto(const llvm::CallInst &Call, Way &Ahead, const Term &Taken);
  void comeTo(const llvm::BasicBlock &BB, const llvm::BasicBlock *From, const Term &Taken);
  const llvm::BasicBlock *onlyWay(const llvm::Instruction &End);

  // loops.cc
  std::vector<const llvm::BasicBlock *> comeToLoop(const llvm::SmallPtrSetImpl<const llvm::BasicBlock *> &Loop);
  bool beginRound(const llvm::BasicBlock &Header, const llvm::SmallPtrSetImpl<const llvm::BasicBlock *> &Loop);

  // pairing.cc
  Term Outside = "true"; // the condition that control reaches the function, if `Entry` does not contain it
  Term Acts = "false"; // an event with an effect happens here
  void at(const llvm::Value *V) const;
  Outcome compared(const llvm::CallBase &I, llvm::Function &Callee, std::vector<Val> Passed);
  void note(const Term &When, bool IsEffect, std::vector<Val> Operands);
  void noteEvent(const llvm::Instruction &I, bool IsEffect = true);
  void noteRounds();

  // invariants.cc
  void proposeInvariants();
  std::vector<Val> boundsOf(const Cut &C);
  Term violation(const Cut &C, bool Closing, const std::function<Term(const Val &)> &Of);

  // values.cc
  void translate(const llvm::Instruction &I);
  Val valueOf(const llvm::Value *V);
  Val rawOf(const llvm::Value *V); // the same, for operations that treat each bit separately
  Val compute(const llvm::Instruction &I);
  Val binary(const llvm::BinaryOperator &I);
  Val bitwise(const llvm::BinaryOperator &I);
  Val onBits(const llvm::BinaryOperator &I, const Val &L, const Val &R);
  Val floatBinary(const llvm::BinaryOperator &I);
  Val arithmetic(const llvm::Instruction &I, unsigned Opcode, const llvm::Value *L, const llvm::Value *R,
                 const Term &Mode);
  Val signChanged(const Val &V, llvm::StringRef OnFloats, llvm::StringRef OnBits, bool Sign);
  Val compare(const llvm::ICmpInst &I);
  Val compareBits(const llvm::ICmpInst &I, const Term &A, const Term &B, const Term &Poison);
  Val compareFloats(const llvm::Instruction &I, unsigned Predicate, const llvm::Value *L, const llvm::Value *R);
  Val element(const llvm::GetElementPtrInst &I);
  Val unknown(const llvm::Instruction &I, const std::string &Why);

  bool isExact(const llvm::Instruction &I) const; // whether floats are computed as IEEE 754 specifies

  // casts.cc
  Val convert(const llvm::CastInst &I);
  Val toInteger(const llvm::Instruction &I, const llvm::Value *Operand, bool Signed);
  Val toFloat(const llvm::Instruction &I, const llvm::Value *Operand, bool Signed, const Term &Mode);
  Val toOtherFloat(const llvm::Instruction &I, const llvm::Value *Operand, const Term &Mode);

  // calls.cc
  Val call(const llvm::CallBase &I);
  std::optional<Val> intrinsic(const llvm::IntrinsicInst &I);
  std::optional<Val> integerIntrinsic(const llvm::IntrinsicInst &I);
  std::optional<Val> constrained(const llvm::ConstrainedFPIntrinsic &I);
  std::optional<Val> roundingMode(const llvm::CallBase &I);
  std::optional<Val> mathFunction(const llvm::CallBase &I, llvm::StringRef Name);
  std::optional<Val> classOf(const llvm::IntrinsicInst &I);
  std::optional<Val> fused(const llvm::CallBase &I, bool Always, const Term &Mode);
  std::optional<Val> inlined(const llvm::CallBase &I, llvm::Function &Callee);
  Outcome runInside();
  void forgetLocals(Memory &After) const;
  std::optional<llvm::StringRef> libraryName(const llvm::CallBase &I) const;
  void unknownCall(const llvm::CallBase &I);
  bool memoryIntrinsic(const llvm::IntrinsicInst &I);

  // library.cc
  std::optional<Val> libraryFunction(const llvm::CallBase &I, llvm::StringRef Name);
};

// proofs.cc: the condition that a conditional takes this branch.
Term outcomeOf(Frame &Top, const Site &S, const llvm::Instruction &At, unsigned Branch);

// paths.cc: the paths in a file (see PEN_PROOFS_PATHS), by the symbols of their functions.
std::map<std::string, PathsOf> readPaths(llvm::StringRef File);
// Writes goals `path_NUMBER`.
void writePaths(Translator &X, const FunctionPlan &Plan, llvm::ArrayRef<Val> Args, const Memory &Start,
                const PathsOf &Paths);

// loops.cc: writes goals `rounds_SITE_K` of loops. SITE is the conditional that begins each round. The loop is left in
// the first round, is left in the second, or begins a third.
void writeLoops(Translator &X, const FunctionPlan &Plan, llvm::ArrayRef<Val> Args, const Memory &Start);

// rounds.cc: peels the first rounds of each loop of the function and of its callees.
void unfoldLoops(const FunctionPlan &Plan, unsigned Rounds);
// The conditional of a site, and the copies of it that peeling has created.
std::vector<llvm::Instruction *> copiesOf(const FunctionPlan &Plan, unsigned Site);

// mutants.cc: writes the queries whether mutants are infected, and whether they differ from the original. Returns true
// if the environment requests them.
bool writeMutants(llvm::ArrayRef<FunctionPlan> Plans, llvm::StringRef To);

// proofs.cc: writes the translation of the functions that the environment names, and exits; else does nothing.
void writeProofs(llvm::ArrayRef<FunctionPlan> Plans);

// world.cc: emits a section that lists the functions that the module defines and calls, and the variables that it
// writes.
llvm::GlobalVariable *noteWorld(llvm::Module &M);

class CalleeExceptions; // callees.h

// The state that all frames of one proved function share.
class Translator {
public:
  explicit Translator(llvm::Module &M) : C(M.getContext()), Layout(M.getDataLayout()) {}

  Script S;
  llvm::LLVMContext &C;
  const llvm::DataLayout &Layout;
  // Excludes executions that take an edge which closes a loop, and executions in which pointers of the input lead to
  // the same place. So only a model has a meaning.
  bool HasFewRounds = false;
  bool WithInvariants = true;
  size_t LinesBefore = 0; // number of lines of earlier translations in the script
  Pairing *Pair = nullptr; // the pairing of the current translation
  CalleeExceptions *Inside = nullptr; // if goals about the operations of called functions are wanted
  bool HasGlobalInputs = false; // inputs set variables that the program does not change
  std::set<std::string> Unwritten; // variables that no other module writes
  std::vector<Object> Objects{Object()};
  std::vector<const llvm::Function *> Active; // the functions being translated, outermost first
  llvm::SmallPtrSet<const llvm::Function *, 8> Inlined;
  std::set<std::string> Assumptions;
  unsigned Candidates = 0, CutLoops = 0; // counters for loop invariants
  bool HasExactFloats = true; // the processor computes each format in its own precision
  bool IsIrreducible = false; // a loop has several entries
  bool IsRecursive = false; // a function calls itself, perhaps through others of the slice
  bool ChangesMode = false; // something in the slice may set the rounding mode

  // terms.cc: values of types
  std::optional<Sort> sortOf(llvm::Type *T) const;
  Val fresh(llvm::Type *T, const std::string &Why);
  Val undefined(llvm::Type *T);
  // Declared as `argNUMBER`.
  Val argument(llvm::Type *T, unsigned Number);
  Val constant(const llvm::Constant *C);
  Val pointerTo(unsigned Object, const Term &Address);
  Val foreignPointer(const Term &Address, const Term &Poison);
  Val pointerInto(const Val &Base, std::optional<int64_t> Offset, const Term &OffsetText);
  Term floatOf(const Val &V);
  Term bitsOf(const Val &V);
  // Notes which low bits of a float operation's result are zero if it is a NaN: those that are zero in each operand,
  // and `More`.
  void notePayload(const Val &Result, llvm::ArrayRef<Val> Operands, int More = 0);
  Term truthOf(const Term &Bit);
  Val fromBits(llvm::Type *T, const Term &Bits, const Term &Poison);
  Val choose(const Term &If, const Val &Then, const Val &Else);
  Term mode(const std::string &Where);
  // The value at the same place of the compared translation, else a value by `Make`.
  Val shared(const std::function<Val()> &Make, const std::string &Extra = "") {
    return Pair ? Pair->value(Make, Extra) : Make();
  }
  // The condition that values of the same place differ; with `AnyNaN`, all NaN are equal.
  Term differ(const Val &A, const Val &B, bool AnyNaN);
  Val resolved(const Val &V, const std::string &Why); // a value without poison

  // library.cc
  Val resultOf(llvm::StringRef Function, Sort S, const std::vector<Term> &Arguments, const std::function<Val()> &Make);

  // memory.cc: the memory at the call of the function. The bits at a constant offset from the input `P`, a pointer, are
  // the input `P.OFFSETxBYTES`.
  Memory initialMemory();
  unsigned newObject(Object O);
  unsigned objectOf(const llvm::GlobalVariable &G);
  Val load(Memory &M, const Val &Address, llvm::Type *T, const std::string &Why);
  Memory merge(llvm::ArrayRef<std::pair<Term, Memory *>> Ways);

  // stores.cc
  void store(Memory &M, const Val &Address, const Val &V, unsigned Size);
  void forget(Memory &M, const Val &Address, std::optional<uint64_t> Size); // after a write of unknown contents
  void forgetObject(Memory &M, unsigned Object);
  void removeObjectsFrom(unsigned First); // the objects must not occur in any memory or value that is used afterwards
  void forgetEscaped(Memory &M);
  void forgetAll(Memory &M);
  unsigned newEpoch() { return Pair ? Pair->epoch(++Epochs) : ++Epochs; }

private:
  std::map<const llvm::GlobalVariable *, unsigned> Globals;
  std::map<const llvm::GlobalValue *, Term> Addresses;
  std::map<Term, Term> BitsOfFloats, FloatsOfBits;
  std::map<Term, unsigned> ZerosOfNaN; // number of low bits of a computed float that are zero if it is a NaN
  std::map<std::tuple<unsigned, unsigned, int64_t, unsigned>, Term> Contents; // bits by epoch, object, offset, bytes
  std::map<const llvm::GlobalVariable *, bool> ConstantGlobals;
  unsigned Epochs = 0, Initial = 0;
  std::set<Term> Inputs; // names of values of an input: arguments, and memory that pointers lead to
  std::map<std::string, Val> Results; // of library functions, by function and arguments

  Term floatOfExtended(const Val &V);
  bool mayAlias(unsigned A, unsigned B) const;
  bool isConstant(const llvm::GlobalVariable &G);
  Term contents(Memory &M, unsigned Object, int64_t Offset, unsigned Size, const std::string &Why);
  std::optional<Term> constantBits(const llvm::GlobalVariable &G, int64_t Offset, unsigned Size);
  std::optional<Val> elementOfTable(const llvm::GlobalVariable &G, const Val &Address, llvm::Type *T);
  std::optional<Val> cellsAt(Memory &M, unsigned Object, int64_t Offset, unsigned Size);
  Val valueAt(Memory &M, std::pair<unsigned, int64_t> Place, unsigned Size);
  Val chooseBytes(const Term &When, const Val &A, const Val &B, unsigned Size);
  void storeSomewhere(Memory &M, const Val &Address, const Val &V, unsigned Size);
  std::map<int64_t, Cell> placesOf(const Memory &M, unsigned Object);
  void cut(Memory &M, unsigned Object, int64_t From, int64_t To);
  void forgetEach(Memory &M, llvm::function_ref<bool(unsigned)> IsWritten, std::optional<unsigned> Kept = std::nullopt);
  Term addressOf(const llvm::GlobalValue &G);
};

} // namespace pen::smt
