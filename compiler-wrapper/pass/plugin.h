// Declarations that the parts of the pass plugin share: sites, the plan of a function, and the module under
// instrumentation.
#pragma once

#include "tables/record.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/ValueHandle.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace pen {

enum class Kind : uint8_t {
  Branch = PEN_BRANCH,
  Switch = PEN_SWITCH,
  Select = PEN_SELECT,
  Comparison = PEN_COMPARISON,
  Operation = PEN_OPERATION,
  Decision = PEN_DECISION,
  Mutation = PEN_MUTATION,
};

// A site: one conditional, the comparison of the two-way site before it, one floating-point operation, one decision, or
// one mutation point. Sites are found before any transformation, so they are those of the code at -O0.
struct Site {
  Kind K = Kind::Branch;
  // the branch, switch, select or operation; for a comparison, that of its site; null if it was removed
  llvm::WeakTrackingVH At;
  llvm::SmallVector<llvm::BasicBlock *, 4> To; // destinations by branch number; empty for a select
  unsigned Branches = 2;
  llvm::SmallVector<unsigned, 4> CaseBranches; // branch number by case, switch only
  unsigned FirstAction = 0;        // index into the function's action bytes
  llvm::DebugLoc Where;
  llvm::GlobalVariable *Cases = nullptr; // array of struct pen_case, switch only
  uint32_t Possible = ~0u;         // bit per branch
  std::string Name; // operations only
  unsigned Operation = PEN_NO_OPERATION; // enum pen_operation
  uint8_t Width = 0; // operations only: bits of its floats
  uint32_t Assumption = 0;         // as pen_site.assumption
  unsigned Decision = ~0u, Node = 0; // conditions only: index of its decision in the plan, and its number there

  bool isConditional() const { return K == Kind::Branch || K == Kind::Switch || K == Kind::Select; }
  bool isOperation() const { return K == Kind::Operation; }
  bool isComparison() const { return K == Kind::Comparison; }
};

// A condition of a decision.
struct DecisionNode {
  llvm::WeakTrackingVH At; // its branch
  unsigned Site = 0;       // index into the function's sites
  unsigned Next[2] = {};   // by the number of the successor, as pen_node.next_true
  unsigned OnTrue = 0;     // as pen_node.on_true
};

// An expression of `&&` and `||` in which several conditions branch.
struct Decision {
  std::vector<DecisionNode> Nodes; // in the order of the source
  unsigned Vectors = 0; // number of paths through it
  unsigned Site = 0;               // index into the function's sites
  llvm::GlobalVariable *Record = nullptr; // struct pen_decision
};

// Indices of the parts of a pair of distances.
constexpr unsigned ToTrue = offsetof(pen_pair, to_true) / sizeof(uint64_t);
constexpr unsigned ToFalse = offsetof(pen_pair, to_false) / sizeof(uint64_t);
static_assert(sizeof(pen_pair) == 2 * sizeof(uint64_t), "a pair is two distances");

// What control can reach from a branch before it passes another conditional: sites, called functions, lines.
struct Edges {
  llvm::SmallVector<unsigned, 4> Next;
  llvm::SmallVector<llvm::Function *, 2> Calls;
  std::vector<unsigned> Lines; // ascending
  std::vector<std::pair<unsigned, unsigned>> Starts; // ascending: line and column where a basic block begins
};

// Functions and variables that a function or an initial value refers to.
struct References {
  std::vector<llvm::Function *> Functions;
  std::vector<llvm::GlobalVariable *> Variables;
  std::vector<unsigned> Uses; // per variable: bits of enum pen_variable_use
};

// Bytes after a pointer parameter that the loops of its function access: `Times * n + Plus`, or `Times * n * m + Plus`
// if Second is not 0. First and Second are the numbers of the integers n and m among the arguments of the IR, counted
// from 1; 0 means none.
struct Extent {
  unsigned First = 0, Second = 0;
  uint32_t Times = 0;
  int32_t Plus = 0;
};

// A pointer argument that is passed to a function which neither this translation unit nor the C library defines.
// IsFirst: nothing before this call writes the memory.
struct PassedOn {
  llvm::Function *To;
  unsigned Argument;
  bool IsFirst;
};

// How a function uses the memory of a pointer argument. Reads: it may read it before it writes it. Indexes: it may use
// it as an array. NamesFile: it is the name of a file that is opened. Writes: it may write it. IsNumber: it converts
// the address to a number.
struct MemoryUse {
  bool Reads, Indexes, NamesFile = false, Writes = true;
  std::vector<PassedOn> Passed;
  bool IsNumber = false;
};

// A cast of a `void *` member of a structure: the type that the code gives to its pointee (voids.cc).
struct MemberCast {
  const llvm::DIType *Of; // the structure type
  uint64_t Byte;
  const llvm::DIType *Declared; // the type of the member
  const llvm::DIType *To; // the type of the pointee; null if the code contradicts itself
};
struct Casts {
  std::map<unsigned, const llvm::DIType *> Arguments; // by argument number of the IR
  std::vector<MemberCast> Members;
};

// A pointer that is compared as a place in a buffer (buffers.cc): a parameter, the pointer that a parameter points to,
// or a member of a structure.
struct BufferSide {
  enum Kind { Parameter, Behind, Member } K = Parameter;
  int Argument = -1; // the argument of the IR, or that from which the member is reached; -1 if it is unknown
  std::string Of;    // of a member: the name of the structure
  uint64_t At = 0;   // of a member: its offset in bytes

  auto key() const { return std::tie(K, Argument, Of, At); }
};

// Two pointers into one buffer. Order: above 0 if the first is the lower one, below 0 if it is the higher one.
// IsStrict: some comparison tells the higher one from the last element. IsInclusive: some comparison does not. IsLimit:
// the function does not access memory through the higher one, and does not change it. IsWeak: see buffers.cc.
struct BufferPair {
  BufferSide First, Second;
  int Order = 0;
  bool IsStrict = false, IsInclusive = false, IsLimit = false, IsWeak = false;

  const BufferSide &higher() const { return Order < 0 ? First : Second; }
};

// The facts about a function that are collected before it is instrumented.
struct FunctionPlan {
  llvm::Function *F = nullptr;
  std::vector<Site> Sites;
  std::vector<std::vector<Edges>> BranchEdges; // per site, per branch
  Edges Entry;
  References Uses;
  std::vector<llvm::BasicBlock *> LoopHeaders;
  bool BurnsFuelAtEntry = false;
  llvm::SmallVector<std::string, 4> ParameterNames;
  std::vector<uint64_t> Floats;
  std::vector<int64_t> Integers;
  std::vector<unsigned> NullParameters; // argument numbers of the IR; these are compared with null
  std::map<unsigned, MemoryUse> Memory; // by argument number of the IR
  std::map<unsigned, Extent> Extents;   // likewise
  std::vector<std::string> Tokens; // tokens.cc
  Casts Pointees;
  std::vector<BufferPair> Buffers;
  std::vector<Decision> Decisions;
  unsigned ActionBytes = 0;
};

// The comparison that is the condition of a site, for the site's record.
struct ComparedOperands {
  uint8_t Predicate = PEN_NO_PREDICATE;
  uint8_t Operand = PEN_OP_NONE; // enum pen_operand
  uint8_t Width = 0;
  llvm::Value *Left = nullptr, *Right = nullptr; // its operands; null unless the condition is exactly one comparison
};

// Types, runtime functions and constants of the module.
class Context {
public:
  explicit Context(llvm::Module &M);
  llvm::Module &M;
  llvm::LLVMContext &C;
  llvm::Type *I8, *I32, *I64;
  llvm::PointerType *Ptr;
  llvm::StructType *Pair; // struct pen_pair
  llvm::GlobalVariable *State;
  llvm::GlobalVariable *Result; // struct pen_pair: functions that compute distances write their result here
  // Functions of runtime/entries.h: distances, sites, comparisons, and the end of the fuel.
  llvm::FunctionCallee ICmp, FCmp64, FCmp32, FCmpWide, FPClass, And, Or, Opaque;
  llvm::FunctionCallee Take, OnICmp, OnFCmp64, OnFCmp32, OnOtherICmp, Switch, Condition;
  llvm::FunctionCallee Sides, Sides80, OutOfFuel;
  // Emits a call of a runtime function with its calling convention.
  llvm::CallInst *call(llvm::IRBuilder<> &B, llvm::FunctionCallee Callee, llvm::ArrayRef<llvm::Value *> Args);

  // Emits a call of a function that computes distances, and loads the pair that it wrote.
  llvm::Value *pairOf(llvm::IRBuilder<> &B, llvm::FunctionCallee Callee, llvm::ArrayRef<llvm::Value *> Args);
  // The call that computed this pair if it is one comparison, else null. Its arguments are the result, the predicate
  // and the operands.
  llvm::CallInst *comparisonCallOf(llvm::Value *Pair);

  // The shadow of a function without side effects (shadow.cc). IsTruth: the function returns only 0 and 1.
  struct Shadow {
    llvm::Function *Copy;
    bool IsTruth, ReadsMemory;
  };
  std::map<const llvm::Function *, Shadow> Shadows;

  // Variant names of functions in a comdat: a hash of the plan that makeActions used.
  std::map<const llvm::Function *, std::string> Variants;

  // Type records, by the debug information of the type and the name of its typedef (types.cc).
  std::map<std::pair<const llvm::DIType *, std::string>, llvm::GlobalVariable *> TypeRecords;
  // Pointer members that are compared with null, by the name of the structure and the byte offset.
  std::set<std::pair<std::string, uint64_t>> NullMembers;

  // A private constant with a terminating zero; equal texts share one.
  llvm::Constant *text(llvm::StringRef Text);
  // A private array of items of one type, or null when empty.
  llvm::Constant *array(llvm::ArrayRef<llvm::Constant *> Items);
  llvm::Constant *u32(uint64_t V) { return llvm::ConstantInt::get(I32, V); }
  llvm::Constant *u8(uint64_t V) { return llvm::ConstantInt::get(I8, V); }
  llvm::Constant *null() { return llvm::ConstantPointerNull::get(Ptr); }

  // Declares a function of the runtime that armed sites call.
  llvm::FunctionCallee declare(llvm::StringRef Name, llvm::FunctionType *Type);

private:
  std::map<std::string, llvm::Constant *> Texts;
};

// plan.cc: addSite appends a site to a plan; findEdges computes the plan's branch graph again.
void addSite(FunctionPlan &Plan, Site S);
void findEdges(FunctionPlan &Plan);

// plan.cc: reads the sites, branch graph, loop headers, parameter names and constants of F. It changes nothing.
FunctionPlan planOf(llvm::Function &F, std::vector<Decision> Decisions);

// counters.cc: removes the counters that clang inserted.
void dropCounters(llvm::Module &M);
// Whether each label of a switch in F leads to its own block, or to the same block as its neighbouring labels.
bool hasBlocksOfLabels(const llvm::Function &F);

// plan.cc: the successors of a block, and all blocks of F, without those that a constant condition excludes.
llvm::SmallVector<llvm::BasicBlock *, 4> liveSuccessors(llvm::BasicBlock &BB);
llvm::SmallPtrSet<llvm::BasicBlock *, 16> liveBlocks(llvm::Function &F);

// made.cc: whether only the compiler made this conditional; then it is no site. branchesOfSource: the branches that are
// those of the source, as bits of pen_site.possible.
bool isMadeByCompiler(const llvm::BranchInst &Br);
uint32_t branchesOfSource(const llvm::BranchInst &Br);

// operands.cc: for the branches on operands of `&&` and `||`, the place where the operand begins.
llvm::DenseMap<const llvm::Instruction *, llvm::DebugLoc> operandsOf(llvm::Function &F);

// decision.cc: decisionsOf finds the decisions of F, before any change of its code; there are none without
// -fpen-decisions. addDecisions appends their sites, makeDecisions emits their records.
std::vector<Decision> decisionsOf(llvm::Function &F);
void addDecisions(FunctionPlan &Plan, std::vector<Decision> Decisions);
void makeDecisions(Context &X, FunctionPlan &Plan, llvm::GlobalVariable *Actions);

// assume.cc: marks the conditionals of assumptions in F and removes the calls that delimit them. Runs before the plan
// is made.
void markAssumptions(llvm::Function &F);
uint32_t assumptionOf(const llvm::Instruction &I); // as pen_site.assumption

// straighten.cc: redirects control past repeated branches.
bool straighten(llvm::Function &F);
// Whether V merges truth values that have each decided a branch before.
bool isDecided(llvm::Value *V);

// condition.cc: emits code for the distances of the i1 value `Condition` to true and to false. `Action` is the first
// action byte of its site; null if there is none.
llvm::Value *emitPair(Context &X, llvm::IRBuilder<> &B, llvm::Value *Condition, llvm::Constant *Action);
ComparedOperands operandsOfSite(const Site &S);
// The same for an integer: its distances to nonzero and to 0.
llvm::Value *emitTruthPair(Context &X, llvm::IRBuilder<> &B, llvm::Value *V);
bool isTruthValue(llvm::Value *V); // it can only be 0 or 1

// bytes.cc: comparesBytes: whether a call compares strings or memory. bytesPairOf: the distances of its result to
// nonzero and to 0; the operands must still be as the call has read them.
bool comparesBytes(const llvm::CallInst &Call);
llvm::Value *bytesPairOf(Context &X, llvm::IRBuilder<> &B, llvm::CallInst &Call);
// The pair that `PairAt` emits. It is computed directly after the call, and only if the site with this action byte is
// armed.
llvm::Value *pairBehind(Context &X, llvm::CallInst &Call, llvm::Constant *Action,
                        llvm::function_ref<llvm::Value *(llvm::IRBuilder<> &)> PairAt);

// tokens.cc: textParametersOf: the parameters that are compared with strings, by these functions or by their callees.
// tokensOf: the constant strings and characters that F compares with, without repetition. Both run after locals are in
// registers.
using TextParameters = llvm::SmallPtrSet<const llvm::Argument *, 16>;
TextParameters textParametersOf(llvm::ArrayRef<FunctionPlan> Plans);
std::vector<std::string> tokensOf(const llvm::Function &F, const TextParameters &Passed);

// boundary.cc: the sides of a comparison that some input can reach, as bits of pen_site.possible.
uint32_t possibleSides(Context &X, const ComparedOperands &S);
// Whether the operands of this call are those of the comparison in the source, and not of a comparison that it was
// traced to.
bool comparesAsWritten(const llvm::CallInst *Comparison, const ComparedOperands &S);
// Emits the call that handles the comparison with the action bytes `Bytes`. `Pair` holds the distances of the
// condition.
void emitSides(Context &X, llvm::IRBuilder<> &B, const ComparedOperands &S, llvm::Constant *Bytes, llvm::Value *Taken,
               llvm::Value *Pair);

// shadow.cc: makes the shadow of F if it can have one. Runs before F is instrumented.
void makeShadow(Context &X, llvm::Function &F);
void dropUnusedShadows(Context &X);

// operation.cc: floating-point operations as sites, only with -fpen-exceptions. splitMultiplyAdds applies where the
// processor has no fused instruction.
void splitMultiplyAdds(llvm::Function &F);
std::optional<Site> operationAt(llvm::Instruction &I);
ComparedOperands operandsOfOperation(const Site &S);
void hookOperation(Context &X, const Site &S, llvm::Instruction *At, llvm::GlobalVariable *Actions);

// Declares a function of runtime/entries.h.
#define RUNTIME_FUNCTION(X, Name) (X).declare(#Name, FunctionTypeOf<decltype(::Name)>::get((X).C))

// hook.cc: whenArmed returns a place for code that runs before `At`, only if the site is armed. actionsOf returns the
// address of a site's first action byte.
llvm::Instruction *whenArmed(Context &X, llvm::Instruction *At, llvm::Constant *Action);
llvm::Constant *actionsOf(Context &X, const Site &S, llvm::GlobalVariable *Actions);

// moves.cc: floatsOf returns the floats of F itself if they are traced: parameters, instructions, and stores. hookMoves
// inserts their hooks. It runs after the hooks of operations are inserted, so that its hooks run before them.
llvm::SmallVector<llvm::Value *, 0> floatsOf(llvm::Function &F);
void hookMoves(Context &X, llvm::Function &F, llvm::ArrayRef<llvm::Value *> Floats);

// hook.cc: inserts the hooks and the fuel counters of the plan into its function.
void instrument(Context &X, FunctionPlan &Plan, llvm::GlobalVariable *Actions);

// goal.cc: the calls of a goal of the user's own, only with -fpen-goal: at the start and the end of a run, and before
// the conditional `At`, which may be a branch or a select.
void beginGoal(Context &X, llvm::IRBuilder<> &B);
void endGoal(Context &X, llvm::IRBuilder<> &B);
void surroundHarness(Context &X, llvm::Function &F);
void hookGoal(Context &X, const FunctionPlan &Plan, const Site &S, llvm::Instruction *At, llvm::Value *Condition);

// cases.cc: emits the cases of a switch, stores them in the site, and returns its struct pen_switch.
llvm::Constant *makeCases(Context &X, Site &S, llvm::SwitchInst *Sw);

// tables.cc: a variable in a section. The variable of an inline function or of a template instance is in a comdat, so
// that the linker keeps one of several copies. The optimizer copies such a function, with its hooks, into others, also
// in files from which the linker drops the function. So the variable has a global name, and a comdat other than the
// function's.
llvm::GlobalVariable *placed(Context &X, llvm::Function &F, llvm::Constant *Init, llvm::StringRef Name,
                             llvm::StringRef Section, llvm::GlobalValue::LinkageTypes Linkage, bool Constant);
// tables.cc: makeActions emits the action bytes of a function, makeRecords the records of the function and its sites.
llvm::GlobalVariable *makeActions(Context &X, const FunctionPlan &Plan);
void makeRecords(Context &X, const FunctionPlan &Plan, llvm::ArrayRef<ComparedOperands> Compared,
                 llvm::GlobalVariable *Actions, llvm::SmallVectorImpl<llvm::GlobalValue *> &Used);

// plugin.cc: whether the pass inserts hooks into F and gives it a record.
bool isInstrumented(const llvm::Function &F);

// tables.cc: the record of a function, the type of that record, and the path of a file as in the debug information.
llvm::Constant *functionRecordOf(Context &X, llvm::Function &F, llvm::StructType *T);
llvm::StructType *functionRecordType(Context &X);
std::string pathOf(const llvm::DIFile *F);
// The absolute path of the source file that was compiled.
std::string unitOf(const llvm::Module &M);

// references.cc: referencesOf: what a function refers to, before it is instrumented. makeReferences: a struct
// pen_references. makeVariableRecords: the records of the module's variables.
References referencesOf(const llvm::Function &F);
llvm::Constant *makeReferences(Context &X, const References &R, llvm::StructType *FunctionType);
void makeVariableRecords(Context &X, llvm::StructType *FunctionType, llvm::SmallVectorImpl<llvm::GlobalValue *> &Used);

// division.cc: makes the integer divisions of F trap, whatever the optimizer does. Runs after F is instrumented.
void keepDivisionTraps(Context &X, llvm::Function &F);

// uninitialized.cc: gives the local variables of F that may be read before they are written the value of __pen_fill.
// The first and the second function are for those that become registers, before and after that; the third is for those
// that stay in memory, after the functions are instrumented, and for blocks of the heap. The last one is for another
// object that begins to exist at Before.
void fillLocals(llvm::Function &F);
void keepUsedFills(llvm::Function &F);
void fillMemory(llvm::Module &M, llvm::ArrayRef<llvm::Function *> Functions);
void fillIfAsked(llvm::Value *Address, llvm::Type *T, llvm::Instruction *Before);
// Whether this is the address of a part of the fill. What is loaded from there is undefined.
bool isFill(const llvm::Value *Address);

// thrown.cc: calls F in a thunk that returns nothing. An exception that leaves F ends the evaluation (__pen_thrown).
llvm::CallBase *callCatching(Context &X, llvm::IRBuilder<> &B, llvm::Function &F, llvm::ArrayRef<llvm::Value *> Args);

// signature.cc: the parameters as C declares them, and the thunk that decodes an input and calls the function.
struct Parameter {
  std::string Name, Type;
  unsigned Kind = PEN_UNSUPPORTED; // enum pen_kind
  bool Pointer = false;
  unsigned Offset = 0, Size = 0, Cell = 0;
  // For the frame: the declared type (null without debug information), whether it is a structure, array or complex
  // number, its size in bytes, its offset in the frame, and its number of arguments in the IR.
  const llvm::DIType *Declared = nullptr;
  bool Aggregate = false;
  unsigned Bytes = 0, Frame = 0, IRArguments = 0;
  bool Nullable = false, Reads = false, Indexes = false, NamesFile = false, IsNumber = false;
  Extent Reach; // with parameter numbers
  unsigned Argument = 0; // the first argument of the IR
  std::vector<PassedOn> Passed;
  const llvm::DIType *Pointee = nullptr; // for a `void *`: the pointee type that the code shows
  uint64_t Dereferenceable = 0; // bytes that the declaration guarantees
};
struct Signature {
  std::vector<Parameter> Parameters;
  std::string ResultType;
  unsigned ResultKind = PEN_UNSUPPORTED;
  unsigned InputSize = 0, OutputSize = PEN_CELL_BYTES; // the result has the first cell
  unsigned Blocks = 0; // one for each pointer parameter
  bool Supported = true;
  const llvm::DIType *DeclaredResult = nullptr;
  bool ResultIsAggregate = false, ResultIsPointer = false, HasFrame = false;
  unsigned ResultBytes = 0, FrameSize = 0, ResultFrame = 0;
};
Signature signatureOf(llvm::Function &F, llvm::ArrayRef<std::string> Names);
unsigned integerKind(uint64_t Bits, bool Signed);
llvm::Constant *makeThunk(Context &X, llvm::Function &F, const Signature &S);
// signature.cc: the parts common to all thunks: the function itself, the call of F in it, and the store of the result
// in the first cell of `Out`.
llvm::Function *newThunk(Context &X, llvm::Function &F, llvm::FunctionType *Type, llvm::StringRef Prefix);
llvm::CallBase *callOf(Context &X, llvm::IRBuilder<> &B, llvm::Function &F, llvm::Function &Thunk,
                       llvm::ArrayRef<llvm::Value *> Args);
void storeResult(Context &X, llvm::IRBuilder<> &B, llvm::CallBase *Call, llvm::Value *Out);

// frame.cc: planFrame assigns the offsets of the parameters in a frame; makeFrameThunk emits the thunk that calls F
// with a frame.
void planFrame(llvm::Function &F, Signature &S);
llvm::Constant *makeFrameThunk(Context &X, llvm::Function &F, const Signature &S);

// types.cc: a type without its typedefs and qualifiers.
struct Bare {
  const llvm::DIType *Type = nullptr; // null: void
  llvm::StringRef Typedef; // the name that the outermost typedef gives, or ""
  bool Const = false;
};
Bare bareOf(const llvm::DIType *T);

// types.cc: the struct pen_type of a type; its size in bytes; whether C++ passes it by reference; whether it is an
// aggregate. nullComparisonsOf returns the numbers of F's arguments that are compared with null and adds such members
// to the context. It runs before F is instrumented.
llvm::Constant *typeRecordOf(Context &X, const llvm::DIType *T);
unsigned typeBytes(const llvm::DIType *T);
bool isPassedByReference(const llvm::DIType *T);
bool isAggregate(const llvm::DIType *T);
std::vector<unsigned> nullComparisonsOf(Context &X, llvm::Function &F);
// The name of a structure as LLVM has it, without "struct.".
std::string structureName(const llvm::DIType *T);
// The namespaces and classes around a type or a variable: "ns::".
std::string scopeOf(const llvm::DIScope *S);

// reads.cc: has LLVM infer what functions of the C library do with their arguments, as it does when it optimizes.
void noteLibrary(llvm::Module &M, llvm::FunctionAnalysisManager &FAM);
// How functions use the memory of their arguments. Each argument is analysed once per depth of calls, so the time is
// linear in the number of calls. Valid while no function changes: until the first one is instrumented.
class MemoryUses {
public:
  const MemoryUse &of(llvm::Function &F, unsigned Argument, unsigned Depth = 0);

private:
  std::map<std::tuple<llvm::Function *, unsigned, unsigned>, MemoryUse> Known;
};
// Fills in how F uses the variables that it refers to.
void noteVariableUses(llvm::Function &F, References &All, MemoryUses &Callees);

// voids.cc: findCasts infers the pointee types of `void *` pointers. It runs once locals are in registers and before
// any function is instrumented. castRecords emits the struct pen_cast records of a function.
void findCasts(Context &X, llvm::MutableArrayRef<FunctionPlan> Plans);
bool isVoidPointer(const llvm::DIType *T);
std::vector<llvm::Constant *> castRecords(Context &X, const Casts &Found, const Signature &S);

// buffers.cc: bufferPairsOf: pointers that F compares as places in one buffer. passBufferPairs adds the pairs of
// callees to the functions that call them. Both run before any function is instrumented. bufferRecords emits the
// struct pen_buffer_pair records of a function.
std::vector<BufferPair> bufferPairsOf(llvm::Function &F, MemoryUses &Memory);
void passBufferPairs(llvm::MutableArrayRef<FunctionPlan> Plans);
std::vector<llvm::Constant *> bufferRecords(Context &X, llvm::ArrayRef<BufferPair> Pairs, const Signature &S);

// extents.cc: how many bytes after its pointer arguments the loops of F access. Runs once locals are in registers and
// before F is instrumented.
std::map<unsigned, Extent> extentsOf(llvm::Function &F, llvm::FunctionAnalysisManager &FAM);

} // namespace pen
