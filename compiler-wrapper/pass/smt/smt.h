// The translation of a function to SMT-LIB: what the prover asks solvers about. docs/proofs.md has the meaning of everything.
//
// A term that is defined here is true of every execution, or it depends on a fresh value. What has no exact meaning is fresh.
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

// A value of the program. `Text` is a Bool, bits, or a float; the bits of a float may be known besides (or only they). Where
// `Poison` holds, compilers may take any value at each use.
struct Val {
  enum Kind { Unknown, Scalar, Pointer, Aggregate } K = Unknown;
  Sort S;
  Term Text;            // of a float empty if only its bits are known; of a pointer its address
  Term Bits;            // of a float: its bits, or empty
  Term Poison = "false";
  unsigned Base = 0;    // of a pointer: the object, as an index into Objects::All
  std::optional<int64_t> Offset; // in the object, if it is constant
  Term OffsetText;      // the same as 64 bits
  std::vector<Val> Parts;
  std::optional<llvm::APInt> Undefined; // bits that are any at each use (of raw values only: elsewhere such a value is poison)

  static Val scalar(Sort S, Term Text, Term Poison = "false") {
    Val V;
    V.K = Scalar, V.S = S, V.Text = std::move(Text), V.Poison = std::move(Poison);
    return V;
  }
  bool isFloat() const { return K == Scalar && S.K == Sort::Float; }
  bool isBits() const { return K == Scalar && S.K == Sort::Bits; }
  bool isBool() const { return K == Scalar && S.K == Sort::Bool; }
};

// What a pointer can lead to. An object behind an argument or a loaded pointer is foreign: it may be any other foreign object, a
// global variable, or a local variable whose address is known outside.
struct Object {
  enum Kind { Stack, Global, Foreign } K = Foreign;
  bool Captured = true;
  const llvm::GlobalVariable *Variable = nullptr;
  Term Origin; // the name of the input that is its address, if there is one
};

struct Cell {
  unsigned Size;
  Val Value;

  // Whether the bits of the value are all of its bytes: a bool has one bit in a byte.
  bool isWhole() const {
    return Value.K == Val::Pointer ? Size == 8 : Value.K == Val::Scalar && !Value.isBool() && Value.S.Width == Size * 8;
  }
};

// The memory at a point: cells by object and offset. What is not there has a value that is fixed for an epoch of the object.
struct Memory {
  std::map<std::pair<unsigned, int64_t>, Cell> Cells;
  std::set<unsigned> Clean;         // local variables that nothing unknown has written
  unsigned Epoch = 0;               // of all objects but these
  std::map<unsigned, unsigned> Own; // objects of which other places were not written since

  unsigned epochOf(unsigned Object) const {
    auto Found = Own.find(Object);
    return Found == Own.end() ? Epoch : Found->second;
  }
};

// What one activation of a function leaves to its caller.
struct Outcome {
  bool Returns = false;
  Term When = "false";
  bool CanFail = false; // it may throw or end the program
  Term Acts = "false"; // an event with an effect happens (of translations that are compared)
  Val Result;
  Memory After;
};

// Removes elements of a set or a map.
template <class Set, class Condition> void removeIf(Set &All, Condition Is) {
  for (auto It = All.begin(); It != All.end();) It = Is(*It) ? All.erase(It) : std::next(It);
}

class Translator;

// pairing.cc: two translations of one function, the original and a mutant, that are compared step by step. An event is what a step does
// that other steps depend on: a write, a call, the values with which a loop begins or closes a round. While all events before it are the same,
// memory is, what a call returns is, and so is what a loop has made of its variables: there, the translation of the mutant has the fresh values
// and epochs of that of the original. So if no event and no result can differ, no execution differs; docs/mutation.md has the argument.
class Pairing {
public:
  struct Event {
    Term When;
    bool IsEffect = true; // also that it happens is the same; else only its operands, if both happen
    std::vector<Val> Operands;
  };
  using Key = std::tuple<unsigned, const llvm::Value *, const llvm::Value *, unsigned, std::string>;
  using Events = std::map<Key, Event>;
  // What a call begins with, and the condition that there is one.
  struct Start {
    Term When;
    std::vector<Val> Args;
    Memory Before;
  };
  // A call that does the same in both translations, at other times.
  struct Moved {
    Term Original, Mutant, Acts;
  };

  // From now on the translation is that of a mutant, in a copy of the function: what its instructions and blocks are in the original.
  void begin(std::map<const llvm::Value *, const llvm::Value *> OriginalOf);
  // The number of the calls that lead to a frame.
  unsigned contextOf(unsigned Outer, const llvm::Value *Call);
  // Whether the original has translated a call in place; nothing if it has no such call, or is what is being translated.
  std::optional<bool> wasInlined(unsigned Outer, const llvm::Value *Call);
  // What a call of the original, in whose context this is, does whenever control comes to it.
  void record(unsigned Inside, Start From, const Outcome &Done);
  // The same of a call of the mutant, if it begins with the same. Its events are those of the original: `isRepeated`, but for `Shifted`.
  const Outcome *repeat(unsigned Inside, const Start &From);
  bool isRepeated(const Key &Event) const { return Repeated.count(std::get<0>(Event)); }
  // What is translated next.
  void at(unsigned Context, const llvm::Value *V, const llvm::Value *From = nullptr);
  // What comes next has no counterpart.
  void nowhere() { At = nullptr; }
  // A fresh value, or that of the original at the same place, and with the same `Extra`.
  Val value(const std::function<Val()> &Make, const std::string &Extra = "");
  unsigned epoch(unsigned New);
  // An object for a pointer to an address: the same for the same address.
  unsigned foreignAt(const Term &Address, const std::function<unsigned()> &Make);
  void removeObjectsFrom(unsigned First);
  void note(Event E);

  Events Original, Mutant; // the latter since begin()
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
    unsigned Last; // of the contexts in it, which come after its own
  };
  std::map<unsigned, Call> Calls; // by their contexts
  llvm::DenseSet<unsigned> Repeated; // contexts that the mutant has not translated again

  const llvm::Value *inOriginal(const llvm::Value *V) const;
  Key next(const std::string &Extra) { return {Context, At, From, Ordinal++, Extra}; }
};

bool isOnlyRead(const llvm::Value &Address);

bool same(const Val &A, const Val &B); // terms.cc

// A branch that a path takes: the number of its site in the function, and its own there.
struct Step {
  unsigned Site = 0, Branch = 0;
};

class Way; // paths.cc
using BlockEdges = std::set<std::pair<const llvm::BasicBlock *, const llvm::BasicBlock *>>;

// The numbers of the sites of a function that are conditionals.
using SiteNumbers = llvm::DenseMap<const llvm::Value *, unsigned>;
SiteNumbers numbersOf(const FunctionPlan &Plan); // proofs.cc

// Paths by their numbers.
using PathsOf = std::map<unsigned, std::vector<Step>>;

// The translation of one activation of a function.
class Frame {
public:
  Frame(Translator &X, llvm::Function &F, std::vector<Val> Args, Term Entry, Memory Start, unsigned Depth, unsigned Context = 0);
  Outcome run();
  // paths.cc: in place of run(), one path. The condition that an execution takes its branches, none other before them; none if the function
  // has no such path, or if something on it has no translation.
  std::optional<Term> follow(Way Ahead);
  // loops.cc: in place of run(), the first two rounds of a loop of these blocks. The conditions that it is left in the first round, that it is
  // left in the second, and that a third begins.
  std::array<Term, 3> firstRounds(const llvm::BasicBlock &Header, const llvm::SmallPtrSetImpl<const llvm::BasicBlock *> &Loop);
  // loops.cc: in place of run(), any round of the loop, which is cut, and its head once more. The condition that the loop is left there.
  Term leftAtHead(const llvm::BasicBlock &Header, const llvm::BasicBlock &Head, const llvm::SmallPtrSetImpl<const llvm::BasicBlock *> &Loop);
  // Called before and after the translation of each instruction, with values and memory as they are then.
  std::function<void(const llvm::Instruction &, bool IsAfter)> Watch;
  // mutants.cc: the value of mutated code in the place of an instruction, which run() has come to.
  Val valueOfScratch(llvm::BasicBlock::const_iterator From, llvm::BasicBlock::const_iterator To, const llvm::Value *Result);
  Val contentsAt(const llvm::StoreInst &Store);
  Val known(const llvm::Value *V) { return valueOf(V); }

  // The condition that control leaves a conditional for branch `K`, by the destinations or cases of its site.
  Term reachOf(const llvm::BasicBlock *BB) const;
  Term reachOf(const llvm::BasicBlock *From, const llvm::BasicBlock *To) const;
  // Control reaches the end of a block: calls in it have returned.
  Term endOf(const llvm::BasicBlock *BB) const;
  Term edgeOf(const llvm::BranchInst &Br, unsigned K);
  Term caseOf(const llvm::SwitchInst &Sw, unsigned Case); // of a case, or of the default for the number of cases
  Term conditionOf(const llvm::Instruction &I);           // of a branch or select: free where compilers may take either way
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
  llvm::DenseMap<const llvm::BasicBlock *, Term> ReturnedIn; // of the blocks with calls that may not return: all that were translated have
  bool CanFail = false;
  const llvm::BasicBlock *InRounds = nullptr; // the header of a loop that is not cut
  std::map<const llvm::BasicBlock *, Memory> Ends;
  std::map<std::pair<const llvm::BasicBlock *, const llvm::BasicBlock *>, Term> Edges;
  BlockEdges Back;
  llvm::DenseMap<const llvm::Instruction *, Term> Conditions;
  std::map<const llvm::SwitchInst *, Term> Switched; // the bits of their conditions
  struct Return {
    Term When;
    Val Result;
    Memory After;
  };
  std::vector<Return> Returns;
  std::vector<unsigned> Locals; // the objects of local variables
  // A value that a loop changes, which is fresh at the header.
  struct Cut {
    const llvm::PHINode *Phi;
    Val Changed, Initial;
    unsigned Loop;
    std::string Name;
  };
  std::vector<Cut> Cuts;
  std::map<const llvm::BasicBlock *, llvm::SmallPtrSet<const llvm::BasicBlock *, 16>> Loops; // by their headers

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

  // paths.cc
  // Where one activation comes to on a path.
  struct Walk {
    enum { Lost, Done, Returned } End = Lost; // the function has no such path, or all branches are taken, or it returns before
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
  Term Outside = "true"; // the condition that control comes to the function, where `Entry` does not have it
  Term Acts = "false";   // what happens here has an effect
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
  Val rawOf(const llvm::Value *V); // the same, where the operation treats each bit alone
  Val compute(const llvm::Instruction &I);
  Val binary(const llvm::BinaryOperator &I);
  Val bitwise(const llvm::BinaryOperator &I);
  Val onBits(const llvm::BinaryOperator &I, const Val &L, const Val &R);
  Val floatBinary(const llvm::BinaryOperator &I);
  Val arithmetic(const llvm::Instruction &I, unsigned Opcode, const llvm::Value *L, const llvm::Value *R, const Term &Mode);
  Val signChanged(const Val &V, llvm::StringRef OnFloats, llvm::StringRef OnBits, bool Sign);
  Val compare(const llvm::ICmpInst &I);
  Val compareBits(const llvm::ICmpInst &I, const Term &A, const Term &B, const Term &Poison);
  Val compareFloats(const llvm::Instruction &I, unsigned Predicate, const llvm::Value *L, const llvm::Value *R);
  Val element(const llvm::GetElementPtrInst &I);
  Val unknown(const llvm::Instruction &I, const std::string &Why);

  bool isExact(const llvm::Instruction &I) const; // floats are computed as IEEE 754 has it

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

// proofs.cc: the condition that a conditional comes out as this branch.
Term outcomeOf(Frame &Top, const Site &S, const llvm::Instruction &At, unsigned Branch);

// paths.cc
// The paths in a file (see PEN_PROOFS_PATHS), by the symbols of their functions.
std::map<std::string, PathsOf> readPaths(llvm::StringRef File);
// Goals `path_NUMBER`.
void writePaths(Translator &X, const FunctionPlan &Plan, llvm::ArrayRef<Val> Args, const Memory &Start, const PathsOf &Paths);

// loops.cc
// Goals `rounds_SITE_K` of loops, by the conditional that each round begins with: left in the first round, left in the second, a third begins.
void writeLoops(Translator &X, const FunctionPlan &Plan, llvm::ArrayRef<Val> Args, const Memory &Start);

// rounds.cc
// Peels the first rounds of each loop of the function, and of the functions that it calls.
void unfoldLoops(const FunctionPlan &Plan, unsigned Rounds);
// The copies of the conditional of a site that peeling has made, and the conditional itself.
std::vector<llvm::Instruction *> copiesOf(const FunctionPlan &Plan, unsigned Site);

// mutants.cc: which mutants are infected, and which differ from the original. True if the environment asks for them.
bool writeMutants(llvm::ArrayRef<FunctionPlan> Plans, llvm::StringRef To);

// proofs.cc: writes the translation of the functions that the environment names, and ends the process; else does nothing.
void writeProofs(llvm::ArrayRef<FunctionPlan> Plans);

// world.cc: a section that states what the module defines, calls and writes.
llvm::GlobalVariable *noteWorld(llvm::Module &M);

// The state that the frames of one function under proof share.
class Translator {
public:
  explicit Translator(llvm::Module &M) : C(M.getContext()), Layout(M.getDataLayout()) {}

  Script S;
  llvm::LLVMContext &C;
  const llvm::DataLayout &Layout;
  // Executions that take an edge which closes a loop are left out, and those in which pointers of the input lead to the same place: only a model
  // means something.
  bool HasFewRounds = false;
  bool WithInvariants = true;
  size_t LinesBefore = 0; // of the script: those of earlier translations
  Term OverflowIsPoison = "true"; // or the condition for it
  Pairing *Pair = nullptr; // of the translation that is being made
  bool HasGlobalInputs = false; // inputs change variables that the program does not
  std::set<std::string> Unwritten; // variables that no other module writes
  std::vector<Object> Objects{Object()};
  std::vector<const llvm::Function *> Active; // the functions that are being translated, outermost first
  llvm::SmallPtrSet<const llvm::Function *, 8> Inlined;
  std::set<std::string> Assumptions;
  unsigned Candidates = 0, CutLoops = 0; // for loop invariants
  bool HasExactFloats = true; // the processor computes each format in its own precision
  bool IsIrreducible = false; // a loop has several entries
  bool IsRecursive = false; // a function calls itself, perhaps through others of the slice
  bool ChangesMode = false; // something in the slice may set the rounding mode

  // values of types (terms.cc)
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
  // Says of the result of a float operation which low bits are zero if it is a NaN: those that are in each operand, and `More`.
  void notePayload(const Val &Result, llvm::ArrayRef<Val> Operands, int More = 0);
  Term truthOf(const Term &Bit);
  Val fromBits(llvm::Type *T, const Term &Bits, const Term &Poison);
  Val choose(const Term &If, const Val &Then, const Val &Else);
  Term mode(const std::string &Where);
  // The same as in the translation that this one is compared with, or what `Make` makes.
  Val shared(const std::function<Val()> &Make, const std::string &Extra = "") { return Pair ? Pair->value(Make, Extra) : Make(); }
  // That values of the same place differ; with `AnyNaN`, no two NaN do.
  Term differ(const Val &A, const Val &B, bool AnyNaN);
  Val resolved(const Val &V, const std::string &Why); // a value without poison

  // library.cc
  Val resultOf(llvm::StringRef Function, Sort S, const std::vector<Term> &Arguments, const std::function<Val()> &Make);

  // memory.cc
  // What a call of the function finds. The bits at constant places behind the input `P`, a pointer, are the input `P.OFFSETxBYTES`.
  Memory initialMemory();
  unsigned newObject(Object O);
  unsigned objectOf(const llvm::GlobalVariable &G);
  Val load(Memory &M, const Val &Address, llvm::Type *T, const std::string &Why);
  Memory merge(llvm::ArrayRef<std::pair<Term, Memory *>> Ways);

  // stores.cc
  void store(Memory &M, const Val &Address, const Val &V, unsigned Size);
  void forget(Memory &M, const Val &Address, std::optional<uint64_t> Size); // something was written there
  void forgetObject(Memory &M, unsigned Object);
  void removeObjectsFrom(unsigned First); // no memory and no value that is used after this has them
  void forgetEscaped(Memory &M);
  void forgetAll(Memory &M);
  unsigned newEpoch() { return Pair ? Pair->epoch(++Epochs) : ++Epochs; }

private:
  std::map<const llvm::GlobalVariable *, unsigned> Globals;
  std::map<const llvm::GlobalValue *, Term> Addresses;
  std::map<Term, Term> BitsOfFloats, FloatsOfBits;
  std::map<Term, unsigned> ZerosOfNaN; // how many low bits of a computed float are zero if it is a NaN
  std::map<std::tuple<unsigned, unsigned, int64_t, unsigned>, Term> Contents; // bits, by epoch, object, offset, bytes
  std::map<const llvm::GlobalVariable *, bool> ConstantGlobals;
  unsigned Epochs = 0, Initial = 0;
  std::set<Term> Inputs; // names of values that an input has: arguments, and memory that pointers lead to
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
