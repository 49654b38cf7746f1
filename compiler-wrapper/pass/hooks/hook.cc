// The hook: one load and one branch before each site. The code of an armed site is in its own block, which is laid out
// as cold.
#include "../plugin.h"

#include "llvm/IR/MDBuilder.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace pen {
using namespace llvm;

// The index of the fuel if the state is an array of 64-bit integers.
static constexpr unsigned FuelIndex = offsetof(pen_state, fuel) / sizeof(int64_t);
static_assert(offsetof(pen_state, fuel) % sizeof(int64_t) == 0 && sizeof(pen_state::fuel) == sizeof(int64_t),
              "the fuel is a 64-bit integer");

Context::Context(Module &M) : M(M), C(M.getContext()) {
  I8 = Type::getInt8Ty(C);
  I32 = Type::getInt32Ty(C);
  I64 = Type::getInt64Ty(C);
  Ptr = PointerType::get(C, 0);
  Pair = StructType::get(C, {I64, I64});
  auto *StateType = ArrayType::get(I64, FuelIndex + 1); // instrumented code accesses no later field
  State = new GlobalVariable(M, StateType, false, GlobalValue::ExternalLinkage, nullptr, "__pen_state");
  State->setVisibility(GlobalValue::HiddenVisibility);
  Result = new GlobalVariable(M, Pair, false, GlobalValue::ExternalLinkage, nullptr, "__pen_pair");
  Result->setVisibility(GlobalValue::HiddenVisibility);
  ICmp = RUNTIME_FUNCTION(*this, __pen_icmp);
  FCmp64 = RUNTIME_FUNCTION(*this, __pen_fcmp64);
  FCmp32 = RUNTIME_FUNCTION(*this, __pen_fcmp32);
  FCmpWide = RUNTIME_FUNCTION(*this, __pen_fcmp_wide);
  FPClass = RUNTIME_FUNCTION(*this, __pen_fpclass);
  And = RUNTIME_FUNCTION(*this, __pen_and);
  Or = RUNTIME_FUNCTION(*this, __pen_or);
  Opaque = RUNTIME_FUNCTION(*this, __pen_opaque);
  Take = RUNTIME_FUNCTION(*this, __pen_take);
  OnICmp = RUNTIME_FUNCTION(*this, __pen_on_icmp);
  OnFCmp64 = RUNTIME_FUNCTION(*this, __pen_on_fcmp64);
  OnFCmp32 = RUNTIME_FUNCTION(*this, __pen_on_fcmp32);
  Switch = RUNTIME_FUNCTION(*this, __pen_switch);
  OnOtherICmp = RUNTIME_FUNCTION(*this, __pen_on_other_icmp);
  Condition = RUNTIME_FUNCTION(*this, __pen_condition);
  Sides = RUNTIME_FUNCTION(*this, __pen_sides);
  Sides80 = RUNTIME_FUNCTION(*this, __pen_sides80);
  OutOfFuel = RUNTIME_FUNCTION(*this, __pen_out_of_fuel);
  cast<Function>(OutOfFuel.getCallee())->removeFnAttr(Attribute::WillReturn);
}

// The functions that an armed site calls preserve all registers (KEEPS_REGISTERS in the runtime). Otherwise the code
// around the site would have to spill every value that is live across it, armed or not. They access no memory that the
// program or the hooks access, except through their pointer arguments, so that a loop can hold its fuel in a register.
FunctionCallee Context::declare(StringRef Name, FunctionType *Type) {
  FunctionCallee Callee = M.getOrInsertFunction(Name, Type);
  auto *F = cast<Function>(Callee.getCallee());
  F->setVisibility(GlobalValue::HiddenVisibility);
  for (Attribute::AttrKind Kind : {Attribute::Cold, Attribute::NoUnwind, Attribute::WillReturn}) F->addFnAttr(Kind);
  F->setMemoryEffects(MemoryEffects::inaccessibleOrArgMemOnly());
  if (Triple(M.getTargetTriple()).getArch() == Triple::x86_64) F->setCallingConv(CallingConv::PreserveAll);
  return Callee;
}

CallInst *Context::call(IRBuilder<> &B, FunctionCallee Callee, ArrayRef<Value *> Args) {
  // LLVM checks this by an assertion, which is off in its released builds.
  ArrayRef<Type *> Types = Callee.getFunctionType()->params();
  bool Fits = Args.size() == Types.size();
  for (unsigned I = 0; Fits && I < Args.size(); I++) Fits = Args[I]->getType() == Types[I];
  if (!Fits) report_fatal_error("pen pass: wrong arguments for " + Callee.getCallee()->getName());
  CallInst *Call = B.CreateCall(Callee, Args);
  Call->setCallingConv(cast<Function>(Callee.getCallee())->getCallingConv());
  return Call;
}

Value *Context::pairOf(IRBuilder<> &B, FunctionCallee Callee, ArrayRef<Value *> Args) {
  SmallVector<Value *, 6> All{Result};
  All.append(Args.begin(), Args.end());
  call(B, Callee, All);
  return B.CreateLoad(Pair, Result);
}

CallInst *Context::comparisonCallOf(Value *P) {
  auto *Load = dyn_cast<LoadInst>(P);
  auto *Call = Load && Load->getPointerOperand() == Result ? dyn_cast_or_null<CallInst>(Load->getPrevNode()) : nullptr;
  if (!Call) return nullptr;
  const Value *Callee = Call->getCalledOperand();
  return Callee == ICmp.getCallee() || Callee == FCmp64.getCallee() || Callee == FCmp32.getCallee() ? Call : nullptr;
}

static MDNode *unlikely(Context &X) { return MDBuilder(X.C).createBranchWeights(1, 1u << 20); }

Constant *actionsOf(Context &X, const Site &S, GlobalVariable *Actions) {
  return ConstantExpr::getInBoundsGetElementPtr(X.I8, Actions, ArrayRef<Constant *>{X.u32(S.FirstAction)});
}

Instruction *whenArmed(Context &X, Instruction *At, Constant *Action) {
  IRBuilder<> B(At);
  B.SetCurrentDebugLocation(At->getDebugLoc());
  Value *Armed = B.CreateICmpNE(B.CreateLoad(X.I8, Action, /*isVolatile=*/false), X.u8(0));
  return SplitBlockAndInsertIfThen(Armed, At, /*Unreachable=*/false, unlikely(X));
}

// A place for code that runs only if the outcome taken has an action. The builder's code runs only if the site is
// armed.
static Instruction *whenOutcomeHasActions(Context &X, IRBuilder<> &B, Constant *Action, Value *Taken) {
  Value *Byte = B.CreateLoad(X.I8, B.CreateInBoundsGEP(X.I8, Action, Taken));
  Value *Busy = B.CreateICmpNE(B.CreateAnd(Byte, X.u8(UINT8_MAX & ~PEN_ARMED)), X.u8(0));
  return SplitBlockAndInsertIfThen(Busy, &*B.GetInsertPoint(), /*Unreachable=*/false);
}

// The runtime function for a site with this one comparison.
static FunctionCallee entryOf(Context &X, const CallInst *Call, bool AsWritten) {
  const Value *Callee = Call->getCalledOperand();
  if (Callee == X.ICmp.getCallee() && !AsWritten) return X.OnOtherICmp;
  return Callee == X.ICmp.getCallee() ? X.OnICmp : Callee == X.FCmp64.getCallee() ? X.OnFCmp64 : X.OnFCmp32;
}

// Hooks the comparison of a two-way site whose hook does not pass the comparison's operands to the runtime: if the
// comparison is armed, a call passes them. `PairAt` emits the pair of the condition.
static void hookComparison(Context &X, const Site &S, const ComparedOperands &Compared, Instruction *At, Value *Taken,
                           function_ref<Value *(IRBuilder<> &)> PairAt, GlobalVariable *Actions) {
  Constant *Bytes = actionsOf(X, S, Actions);
  IRBuilder<> B(whenArmed(X, At, Bytes));
  B.SetCurrentDebugLocation(At->getDebugLoc());
  emitSides(X, B, Compared, Bytes, Taken, PairAt(B));
}

// Hooks a condition of a decision: if the decision is armed, a call reports it. `PairAt` emits the pair of the
// condition.
static void hookCondition(Context &X, const FunctionPlan &Plan, const Site &S, Instruction *At, Value *Condition,
                          Value *Taken, function_ref<Value *(IRBuilder<> &)> PairAt, GlobalVariable *Actions) {
  if (S.Decision >= Plan.Decisions.size()) return;
  const Decision &D = Plan.Decisions[S.Decision];
  IRBuilder<> B(whenArmed(X, At, actionsOf(X, Plan.Sites[D.Site], Actions)));
  B.SetCurrentDebugLocation(At->getDebugLoc());
  Value *Pair = PairAt(B);
  Value *Other = B.CreateSelect(Condition, B.CreateExtractValue(Pair, ToFalse), B.CreateExtractValue(Pair, ToTrue));
  X.call(B, X.Condition, {D.Record, X.u32(S.Node), Taken, Other});
}

static void hookTwoWay(Context &X, const FunctionPlan &Plan, const Site &S, Site &Comparison, Instruction *At,
                       Value *Condition, GlobalVariable *Actions) {
  hookGoal(X, Plan, S, At, Condition);
  ComparedOperands Compared = operandsOfSite(S);
  Comparison.Possible = possibleSides(X, Compared);
  Constant *Action = actionsOf(X, S, Actions);
  IRBuilder<> B(whenArmed(X, At, Action));
  B.SetCurrentDebugLocation(At->getDebugLoc());
  Value *Taken = B.CreateSelect(Condition, X.u32(0), X.u32(1));
  Instruction *Busy = whenOutcomeHasActions(X, B, Action, Taken);
  B.SetInsertPoint(Busy);
  B.SetCurrentDebugLocation(At->getDebugLoc());
  Value *Pair = emitPair(X, B, Condition, Action);
  if (CallInst *Call = X.comparisonCallOf(Pair)) {
    bool AsWritten = !Comparison.Possible || comparesAsWritten(Call, Compared);
    SmallVector<Value *, 3> Args(drop_begin(Call->args()));
    X.call(B, entryOf(X, Call, AsWritten), {Action, Taken, Args[0], Args[1], Args[2]});
    auto PairAgain = [&](IRBuilder<> &AtSides) { return X.pairOf(AtSides, X.ICmp, Args); };
    if (!AsWritten) hookComparison(X, Comparison, Compared, Busy, Taken, PairAgain, Actions);
    FunctionCallee Compares(cast<Function>(Call->getCalledOperand()));
    auto SameAgain = [&](IRBuilder<> &AtCondition) { return X.pairOf(AtCondition, Compares, Args); };
    hookCondition(X, Plan, S, Busy, Condition, Taken, SameAgain, Actions);
    cast<Instruction>(Pair)->eraseFromParent();
    Call->eraseFromParent();
    return;
  }
  Value *Other = B.CreateSelect(Condition, B.CreateExtractValue(Pair, ToFalse), B.CreateExtractValue(Pair, ToTrue));
  X.call(B, X.Take, {Action, Taken, Other});
  auto SamePair = [&](IRBuilder<> &) { return Pair; };
  if (Comparison.Possible) hookComparison(X, Comparison, Compared, Busy, Taken, SamePair, Actions);
  hookCondition(X, Plan, S, Busy, Condition, Taken, SamePair, Actions);
}

static void hookSwitch(Context &X, Site &S, SwitchInst *Sw, GlobalVariable *Actions) {
  Constant *Action = actionsOf(X, S, Actions);
  IRBuilder<> B(whenArmed(X, Sw, Action));
  B.SetCurrentDebugLocation(Sw->getDebugLoc());
  Value *V = B.CreateSExt(Sw->getCondition(), X.I64);
  X.call(B, X.Switch, {Action, V, makeCases(X, S, Sw)});
}

// Counts fuel: endless loops and runaway recursion end when it is used up. A counter instead of a timer, so that every
// run ends at the same place.
static void burnFuel(Context &X, Instruction *At) {
  IRBuilder<> B(At);
  B.SetCurrentDebugLocation(At->getDebugLoc() ? At->getDebugLoc() : DebugLoc());
  if (auto *SP = At->getFunction()->getSubprogram(); SP && !At->getDebugLoc())
    B.SetCurrentDebugLocation(DILocation::get(X.C, SP->getLine(), 0, SP));
  Value *Gauge = B.CreateConstInBoundsGEP1_64(X.I64, X.State, FuelIndex);
  Value *Left = B.CreateSub(B.CreateLoad(X.I64, Gauge), ConstantInt::get(X.I64, 1));
  B.CreateStore(Left, Gauge);
  Value *Empty = B.CreateICmpSLT(Left, ConstantInt::get(X.I64, 0));
  DebugLoc Loc = B.getCurrentDebugLocation();
  IRBuilder<> Then(SplitBlockAndInsertIfThen(Empty, At, false, unlikely(X)));
  Then.SetCurrentDebugLocation(Loc);
  X.call(Then, X.OutOfFuel, {});
  Then.CreateStore(ConstantInt::get(X.I64, INT64_MAX), Gauge); // outside the fuzzer the call returns
}

void instrument(Context &X, FunctionPlan &Plan, GlobalVariable *Actions) {
  SmallVector<Value *, 0> Floats = floatsOf(*Plan.F);
  for (unsigned I = 0; I < Plan.Sites.size(); I++) {
    Site &S = Plan.Sites[I];
    Value *At = S.At;
    if (S.isOperation()) {
      if (auto *I = dyn_cast_or_null<Instruction>(At)) hookOperation(X, S, I, Actions);
      continue;
    }
    if (!At || !S.isConditional()) continue; // mutants are inserted after all hooks
    if (auto *Br = dyn_cast<BranchInst>(At)) hookTwoWay(X, Plan, S, Plan.Sites[I + 1], Br, Br->getCondition(), Actions);
    else if (auto *Sel = dyn_cast<SelectInst>(At))
      hookTwoWay(X, Plan, S, Plan.Sites[I + 1], Sel, Sel->getCondition(), Actions);
    else if (auto *Sw = dyn_cast<SwitchInst>(At)) hookSwitch(X, S, Sw, Actions);
  }
  hookMoves(X, *Plan.F, Floats);
  for (BasicBlock *BB : Plan.LoopHeaders)
    if (!BB->isEHPad()) burnFuel(X, &*BB->getFirstInsertionPt());
  if (Plan.BurnsFuelAtEntry) burnFuel(X, &*Plan.F->getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
}

} // namespace pen
