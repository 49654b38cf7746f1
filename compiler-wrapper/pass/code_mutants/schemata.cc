// The mutation points of a function, and the code that activates their mutants. This code precedes a point:
//
//   if (the site is armed) {
//     switch (the active mutant) {
//       case k: x = mutant k;                 goto after
//       trace:  write the value;              goto the point
//       none:   report which mutants differ;  goto the point
//     }
//   }
//   x = the point
//   after:
#include "code_mutants.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace pen {
using namespace llvm;

static cl::opt<std::string> MutatedFunction("pen-mutants",
                                            cl::desc("Make mutants of this function, by its symbol; * for all"));

bool hasMutants(const Function &F) {
  return !MutatedFunction.empty() && (MutatedFunction == "*" || F.getName() == MutatedFunction) &&
         !F.callsFunctionThatReturnsTwice();
}

// Marks arithmetic that was there before locals were moved to registers. If a local is written in parts, that step adds
// arithmetic.
static constexpr const char *OfSource = "pen.source";

void markArithmetic(Function &F) {
  MDNode *Mark = MDNode::get(F.getContext(), {});
  for (Instruction &I : instructions(F))
    if (isa<BinaryOperator>(I)) I.setMetadata(OfSource, Mark);
}

namespace mutants {

// Functions with more instructions get no mutants, because they would not compile in a reasonable time.
constexpr unsigned LargestFunction = 50'000;

// The parts of an assumption restrict the inputs; they are not part of the function's computation.
static bool isPartOfAssumption(const Instruction &I) {
  return any_of(I.users(), [](const User *U) {
    auto *User = dyn_cast<Instruction>(U);
    return User && assumptionOf(*User) != 0;
  });
}

static bool isOfSource(const Instruction &I) {
  if (I.hasMetadata("nosanitize") || isPartOfAssumption(I)) return false;
  if (isa<BinaryOperator>(I) && !I.hasMetadata(OfSource)) return false;
  return !I.getFunction()->getSubprogram() || (I.getDebugLoc() && I.getDebugLoc().getLine() != 0);
}

static bool decidesLoop(const Instruction &I, const FunctionPlan &Plan) {
  auto *Br = dyn_cast<BranchInst>(I.getParent()->getTerminator());
  if (!Br || !Br->isConditional() || Br->getCondition() != &I) return false;
  if (is_contained(Plan.LoopHeaders, I.getParent())) return true;
  return any_of(successors(I.getParent()), [&](const BasicBlock *To) { return is_contained(Plan.LoopHeaders, To); });
}

// Whether constant operands are points: constants that are stored, returned, passed or merged. Constants in comparisons
// and arithmetic belong to the points of these instructions.
static bool hasConstantPoints(const Instruction &I) {
  if (auto *Call = dyn_cast<CallInst>(&I))
    return !isa<IntrinsicInst>(I) && !Call->isInlineAsm() && !Call->isMustTailCall();
  return isa<StoreInst>(I) || isa<ReturnInst>(I) || isa<PHINode>(I);
}

static bool canBeOperandPoint(const Instruction &I, unsigned Operand) {
  const Value *V = I.getOperand(Operand);
  if (!isa<ConstantInt>(V) && !isa<ConstantFP>(V)) return false;
  if (auto *Call = dyn_cast<CallInst>(&I))
    return Operand < Call->arg_size() && !Call->paramHasAttr(Operand, Attribute::ImmArg);
  if (auto *Phi = dyn_cast<PHINode>(&I)) {
    const BasicBlock *From = Phi->getIncomingBlock(Operand);
    return !From->getTerminator()->isEHPad() && Phi->getBasicBlockIndex(From) == int(Operand);
  }
  return true;
}

// Whether it is a number by which clang selects the exit of a scope, in a switch that is not in the source.
static bool choosesWayOut(const PHINode &Phi, unsigned Depth = 0) {
  return all_of(Phi.users(), [&](const User *U) {
    if (auto *Next = dyn_cast<PHINode>(U)) return Depth < 8 && choosesWayOut(*Next, Depth + 1);
    auto *Switch = dyn_cast<SwitchInst>(U);
    return Switch && !isOfSource(*Switch);
  });
}

static void findConstants(MutationPoints &Points, Instruction &I, Variables &Names) {
  auto *Phi = dyn_cast<PHINode>(&I);
  if (!hasConstantPoints(I) || (Phi && choosesWayOut(*Phi))) return;
  for (unsigned N = 0; N < I.getNumOperands(); N++)
    if (canBeOperandPoint(I, N))
      if (auto All = mutantsOfConstant(I, N, Names); !All.empty()) Points.All.push_back({&I, N, std::move(All), {}});
}

std::vector<Point> pointsOf(Function &F, const FunctionPlan &Plan) {
  MutationPoints Points;
  Variables Names(F);
  DominatorTree Tree(F);
  SmallPtrSet<BasicBlock *, 16> Live = liveBlocks(F);
  for (Instruction &I : instructions(F)) {
    if (!Live.contains(I.getParent()) || (!isa<PHINode>(I) && !isOfSource(I))) continue;
    findConstants(Points, I, Names);
    if (isa<PHINode>(I)) continue;
    if (auto All = mutantsOf(I, Names, decidesLoop(I, Plan)); !All.empty())
      Points.All.push_back({&I, ~0u, std::move(All), decisionsOf(I, Tree)});
  }
  for (Instruction &I : instructions(F)) I.setMetadata(OfSource, nullptr);
  return std::move(Points.All);
}

static std::string listOf(const Point &P) {
  std::string Text;
  for (const Mutant &M : P.All) {
    Text += M.Operator + "\t" + M.Text;
    if (M.IsOriginal) Text += "\t=";
    else if (M.SameAs) Text += "\t=" + std::to_string(M.SameAs);
    Text += "\n";
  }
  return Text;
}

// The bits of the mutants that are goals: a mutant that equals another one is not searched for.
static uint32_t possibleOf(const Point &P) {
  uint32_t Bits = 0;
  for (unsigned K = 0; K < P.All.size(); K++)
    if (!P.All[K].IsOriginal && !P.All[K].SameAs) Bits |= 1u << K;
  return Bits;
}

// ---- code -------------------------------------------------------------------------------------------------------

// A number as the bits that the runtime compares, or null.
static Value *bitsOf(Context &X, IRBuilder<> &B, Value *V) {
  Type *T = V->getType();
  if (T->isIntegerTy() && T->getIntegerBitWidth() <= 64) return B.CreateZExt(V, X.I64);
  if (T->isDoubleTy()) return B.CreateBitCast(V, X.I64);
  return T->isFloatTy() ? B.CreateZExt(B.CreateBitCast(V, X.I32), X.I64) : nullptr;
}

static uint64_t floatBits(Type *T) { return T->isDoubleTy() ? 64 : T->isFloatTy() ? 32 : 0; }

class Inserter {
public:
  Inserter(Context &X, const Site &S, Point &P, GlobalVariable *Actions) : X(X), S(S), P(P), Actions(Actions) {}

  void run() {
    At = P.ConstantOperand == ~0u ? P.At : valueOfConstant();
    Where = P.At->getDebugLoc() ? P.At->getDebugLoc() : DebugLoc();
    Instruction *Armed = whenArmed(X, At, actionsOf(X, S, Actions));
    BasicBlock *Choice = Armed->getParent();
    Original = At->getParent();
    Behind = Original->splitBasicBlock(std::next(At->getIterator()));
    mergeResults();
    auto *Watch = BasicBlock::Create(X.C, "", Original->getParent(), Original);
    emitChoice(Choice, Armed, Watch);
    emitWatch(Watch);
  }

private:
  Context &X;
  const Site &S;
  Point &P;
  GlobalVariable *Actions;
  Instruction *At = nullptr;
  BasicBlock *Original = nullptr, *Behind = nullptr;
  PHINode *Result = nullptr;
  DebugLoc Where;

  // Creates an instruction for a constant operand.
  Instruction *valueOfConstant() {
    auto *Phi = dyn_cast<PHINode>(P.At);
    Instruction *Before = Phi ? Phi->getIncomingBlock(P.ConstantOperand)->getTerminator() : P.At;
    IRBuilder<> B(Before);
    auto *Copy = cast<Instruction>(B.Insert(new FreezeInst(P.At->getOperand(P.ConstantOperand))));
    if (!Phi) {
      P.At->setOperand(P.ConstantOperand, Copy);
      return Copy;
    }
    BasicBlock *From = Before->getParent(); // all entries of a phi for one block must have one value
    for (unsigned N = 0; N < Phi->getNumIncomingValues(); N++)
      if (Phi->getIncomingBlock(N) == From) Phi->setIncomingValue(N, Copy);
    return Copy;
  }

  void mergeResults() {
    if (At->getType()->isVoidTy()) return;
    IRBuilder<> B(Behind, Behind->begin());
    Result = B.CreatePHI(At->getType(), P.All.size() + 1);
    At->replaceAllUsesWith(Result);
    Result->addIncoming(At, Original);
  }

  Constant *actionOf(unsigned Mutant) {
    return ConstantExpr::getInBoundsGetElementPtr(X.I8, Actions, ArrayRef<Constant *>{X.u32(S.FirstAction + Mutant)});
  }

  void emitChoice(BasicBlock *Choice, Instruction *End, BasicBlock *Watch) {
    IRBuilder<> B(End);
    B.SetCurrentDebugLocation(Where);
    X.call(B, RUNTIME_FUNCTION(X, __pen_mutant), {X.Result, actionsOf(X, S, Actions), X.u32(P.All.size())});
    SwitchInst *Switch = B.CreateSwitch(B.CreateLoad(X.I64, X.Result), Watch, P.All.size() + 1);
    End->eraseFromParent();
    BasicBlock *Next = Behind;
    PHINode *Mutated = Result;
    if (Result && isTraced()) {
      Next = BasicBlock::Create(X.C, "", Original->getParent(), Original);
      IRBuilder<> Tell(Next);
      Tell.SetCurrentDebugLocation(Where);
      Mutated = Tell.CreatePHI(At->getType(), P.All.size());
      trace(Tell, Mutated);
      Tell.CreateBr(Behind);
      Result->addIncoming(Mutated, Next);
    }
    for (unsigned K = 0; K < P.All.size(); K++) {
      auto *Block = BasicBlock::Create(X.C, "", Choice->getParent(), Original);
      IRBuilder<> Code(Block);
      Code.SetCurrentDebugLocation(Where);
      Value *V = P.All[K].Emit ? P.All[K].Emit(Code) : nullptr;
      Code.CreateBr(Next);
      if (Mutated) Mutated->addIncoming(V ? V : Constant::getNullValue(Mutated->getType()), Code.GetInsertBlock());
      Switch->addCase(Code.getInt64(K), Block);
    }
    Switch->addCase(B.getInt64(P.All.size() + 1), traceOfOriginal());
  }

  // Whether the value is a number that the original can compute a second time without side effects.
  bool isTraced() const {
    Type *T = isa<StoreInst>(At) ? At->getOperand(0)->getType() : At->getType();
    bool IsNumber = floatBits(T) || (T->isIntegerTy() && T->getIntegerBitWidth() <= 64);
    return IsNumber &&
           (isa<StoreInst>(At) || (!isa<CallInst>(At) && !isa<FreezeInst>(At) && isSafeToSpeculativelyExecute(At)));
  }

  void trace(IRBuilder<> &B, Value *V) {
    X.call(B, RUNTIME_FUNCTION(X, __pen_on_value),
           {actionsOf(X, S, Actions), bitsOf(X, B, V), X.u32(floatBits(V->getType()))});
  }

  BasicBlock *traceOfOriginal() {
    auto *Block = BasicBlock::Create(X.C, "", Original->getParent(), Original);
    IRBuilder<> B(Block);
    B.SetCurrentDebugLocation(Where);
    if (isTraced()) trace(B, isa<StoreInst>(At) ? At->getOperand(0) : B.Insert(At->clone()));
    B.CreateBr(Original);
    return Block;
  }

  void emitWatch(BasicBlock *Watch) {
    IRBuilder<> B(Watch);
    B.SetCurrentDebugLocation(Where);
    // Code for distances is inserted before an instruction.
    B.SetInsertPoint(B.CreateBr(Original));
    Value *Same = nullptr;
    for (unsigned K = 0; K < P.All.size(); K++) {
      const Mutant &M = P.All[K];
      if (M.Differs) {
        Value *Cmp = B.CreateCmp(*M.Differs, At->getOperand(0), At->getOperand(1));
        differs(B, K, B.CreateExtractValue(emitPair(X, B, Cmp, nullptr), ToTrue));
      } else if (isa<StoreInst>(At)) {
        watchStore(B, K, cast<StoreInst>(At));
      } else if (!M.IsPure || M.AlwaysDiffers || !bitsOf(X, B, At)) {
        differs(B, K, B.getInt64(0));
      } else {
        if (!Same) Same = B.Insert(At->clone());
        if (isa<CmpInst>(At)) compareConditions(B, K, {{Same, M.Emit(B)}});
        else if (!P.Decides.Comparisons.empty()) compareConditions(B, K, conditionsOf(B, Same, M.Emit(B)));
        else compare(B, K, Same, M.Emit(B));
      }
    }
  }

  void watchStore(IRBuilder<> &B, unsigned K, StoreInst *Store) {
    Type *T = Store->getValueOperand()->getType();
    bool IsNumber = T->isDoubleTy() || T->isFloatTy() || (T->isIntegerTy() && T->getIntegerBitWidth() <= 64);
    if (!IsNumber) return differs(B, K, B.getInt64(0));
    Value *Old = B.CreateFreeze(B.CreateAlignedLoad(T, Store->getPointerOperand(), Store->getAlign()));
    compare(B, K, Store->getValueOperand(), Old);
  }

  // The comparisons that use the value, each for the original and for the mutant.
  using Conditions = SmallVector<std::pair<Value *, Value *>, 4>;
  Conditions conditionsOf(IRBuilder<> &B, Value *Original, Value *Mutated) {
    Conditions All;
    auto With = [&](const CmpInst &Cmp, Value *V) { return decide(B, P.Decides, Cmp, Result, V); };
    for (const CmpInst *Cmp : P.Decides.Comparisons) All.push_back({With(*Cmp, Original), With(*Cmp, Mutated)});
    return All;
  }

  // Emits the code for a mutant that differs if one of these pairs of conditions differs: one holds and the other does
  // not. The distance is the smaller one of the two ways to that, over all pairs. If both conditions hold, or neither
  // does, one of the two summands is 0.
  void compareConditions(IRBuilder<> &B, unsigned K, const Conditions &All) {
    Value *Distance = nullptr, *Differs = nullptr;
    for (auto [Original, Mutated] : All) {
      Value *Before = emitPair(X, B, Original, nullptr), *After = emitPair(X, B, Mutated, nullptr);
      auto Way = [&](unsigned From, unsigned To) {
        return B.CreateAdd(B.CreateExtractValue(Before, From), B.CreateExtractValue(After, To));
      };
      auto Least = [&](Value *V, Value *W) { return B.CreateBinaryIntrinsic(Intrinsic::umin, V, W); };
      Value *D = Least(Way(ToTrue, ToFalse), Way(ToFalse, ToTrue)), *Is = B.CreateICmpNE(Original, Mutated);
      Distance = Distance ? Least(Distance, D) : D;
      Differs = Differs ? B.CreateOr(Differs, Is) : Is;
    }
    Value *Missed = B.CreateBinaryIntrinsic(Intrinsic::umax, Distance, B.getInt64(1));
    differs(B, K, B.CreateSelect(Differs, B.getInt64(0), Missed));
  }

  void differs(IRBuilder<> &B, unsigned K, Value *Distance) {
    X.call(B, RUNTIME_FUNCTION(X, __pen_on_mutant), {actionOf(K), Distance});
  }

  void compare(IRBuilder<> &B, unsigned K, Value *Original, Value *Mutated) {
    uint64_t Bits = floatBits(Original->getType());
    X.call(B, RUNTIME_FUNCTION(X, __pen_on_mutated),
           {actionOf(K), bitsOf(X, B, Original), bitsOf(X, B, Mutated), X.u32(Bits)});
  }
};

} // namespace mutants

MutationPoints addMutationSites(FunctionPlan &Plan) {
  MutationPoints Points;
  Points.FirstSite = Plan.Sites.size();
  if (!hasMutants(*Plan.F) || Plan.F->getInstructionCount() > mutants::LargestFunction) return Points;
  Points.All = mutants::pointsOf(*Plan.F, Plan);
  mutants::findEqual(*Plan.F, Points.All);
  for (const mutants::Point &P : Points.All) {
    Site S;
    S.K = Kind::Mutation;
    S.At = WeakTrackingVH(P.At);
    S.Where = P.At->getDebugLoc();
    S.Branches = P.All.size();
    S.Name = mutants::listOf(P);
    S.Possible = mutants::possibleOf(P);
    addSite(Plan, std::move(S));
  }
  findEdges(Plan);
  return Points;
}

void insertMutants(Context &X, const FunctionPlan &Plan, MutationPoints &Points, GlobalVariable *Actions) {
  // Operands of constants come first: replacing an instruction would remove the operand.
  for (bool IsOperand : {true, false})
    for (unsigned I = 0; I < Points.All.size(); I++)
      if ((Points.All[I].ConstantOperand != ~0u) == IsOperand)
        mutants::Inserter(X, Plan.Sites[Points.FirstSite + I], Points.All[I], Actions).run();
}

} // namespace pen
