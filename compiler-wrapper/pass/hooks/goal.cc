// The calls of a goal of the user's own (-fpen-goal, include/pen_goal.h): at the start and the end of a run, and before
// each conditional, with its operands and distances.
//
// They are calls of ordinary functions in code that is compiled for this goal only, so no other build is slower. r at
// the end of a run becomes the condition of one more site, which a campaign searches for like any other branch.
#include "../../include/pen_goal.h"
#include "../plugin.h"

#include "llvm/IR/Constants.h"
#include "llvm/Support/CommandLine.h"

namespace pen {
using namespace llvm;

static cl::opt<bool> WithGoal("pen-goal", cl::desc("Call the goal of a file that includes pen_goal.h"));

static FunctionCallee ofGoal(Context &X, StringRef Name, ArrayRef<Type *> Types) {
  return X.M.getOrInsertFunction(Name, FunctionType::get(Type::getVoidTy(X.C), Types, false));
}

void beginGoal(Context &X, IRBuilder<> &B) {
  if (WithGoal) B.CreateCall(ofGoal(X, "__pen_goal_begin", {}));
}

void endGoal(Context &X, IRBuilder<> &B) {
  if (WithGoal) B.CreateCall(ofGoal(X, "__pen_goal_end", {}));
}

// A harness is called directly, not by a thunk.
void surroundHarness(Context &X, Function &F) {
  if (!WithGoal || F.getName() != "LLVMFuzzerTestOneInput") return;
  if (!F.getSubprogram()) return;
  DebugLoc Where = DILocation::get(X.C, F.getSubprogram()->getLine(), 0, F.getSubprogram());
  SmallVector<Instruction *, 4> Returns;
  for (BasicBlock &BB : F)
    if (isa<ReturnInst>(BB.getTerminator())) Returns.push_back(BB.getTerminator());
  IRBuilder<> AtStart(&*F.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  AtStart.SetCurrentDebugLocation(Where);
  beginGoal(X, AtStart);
  for (Instruction *Return : Returns) {
    IRBuilder<> AtEnd(Return);
    AtEnd.SetCurrentDebugLocation(Where);
    endGoal(X, AtEnd);
  }
}

static unsigned relationOf(unsigned Predicate) {
  switch (Predicate) {
  case CmpInst::FCMP_OEQ: case CmpInst::FCMP_UEQ: case CmpInst::ICMP_EQ: return PEN_EQ;
  case CmpInst::FCMP_ONE: case CmpInst::FCMP_UNE: case CmpInst::ICMP_NE: return PEN_NE;
  case CmpInst::FCMP_OLT: case CmpInst::FCMP_ULT: case CmpInst::ICMP_ULT: case CmpInst::ICMP_SLT: return PEN_LT;
  case CmpInst::FCMP_OLE: case CmpInst::FCMP_ULE: case CmpInst::ICMP_ULE: case CmpInst::ICMP_SLE: return PEN_LE;
  case CmpInst::FCMP_OGT: case CmpInst::FCMP_UGT: case CmpInst::ICMP_UGT: case CmpInst::ICMP_SGT: return PEN_GT;
  case CmpInst::FCMP_OGE: case CmpInst::FCMP_UGE: case CmpInst::ICMP_UGE: case CmpInst::ICMP_SGE: return PEN_GE;
  default: return PEN_OTHER_RELATION;
  }
}

static unsigned operandTypeOf(const ComparedOperands &S) {
  if (!S.Left) return PEN_OF_TRUTH;
  switch (S.Operand) {
  case PEN_OP_F32: return PEN_OF_FLOAT;
  case PEN_OP_F64: return PEN_OF_DOUBLE;
  case PEN_OP_POINTER: return PEN_OF_POINTER;
  default: return CmpInst::isUnsigned(CmpInst::Predicate(S.Predicate)) ? PEN_OF_UNSIGNED : PEN_OF_SIGNED;
  }
}

// The operand as a double; null if it has no number.
static Value *asDouble(Context &X, IRBuilder<> &B, Value *V, bool IsUnsigned) {
  Type *T = V->getType(), *Double = B.getDoubleTy();
  if (T->isFloatingPointTy()) return B.CreateFPCast(V, Double);
  if (T->isPointerTy()) return B.CreateUIToFP(B.CreatePtrToInt(V, X.I64), Double);
  if (!T->isIntegerTy()) return nullptr;
  return IsUnsigned ? B.CreateUIToFP(V, Double) : B.CreateSIToFP(V, Double);
}

// The struct pen_condition of a site. The goal writes the distances that it is called with there.
static GlobalVariable *makeCondition(Context &X, const FunctionPlan &Plan, const Site &S, unsigned Relation,
                                     unsigned Operands, StructType *T) {
  DISubprogram *SP = Plan.F->getSubprogram();
  StringRef Name = SP ? SP->getName() : Plan.F->getName();
  DebugLoc Where = S.Where;
  std::string File = Where ? pathOf(cast<DIScope>(Where.getScope())->getFile()) : "";
  Constant *Zero = ConstantFP::get(Type::getDoubleTy(X.C), 0);
  Constant *Line = X.u32(Where ? Where.getLine() : 0), *Column = X.u32(Where ? Where.getCol() : 0);
  Constant *Fields[] = {X.text(Name), X.text(File), Line, Column, X.u32(Relation), X.u32(Operands), Zero, Zero};
  Constant *Init = ConstantStruct::get(T, Fields);
  return new GlobalVariable(X.M, T, false, GlobalValue::PrivateLinkage, Init, "pen_condition");
}

void hookGoal(Context &X, const FunctionPlan &Plan, const Site &S, Instruction *At, Value *Condition) {
  if (!WithGoal || S.Assumption) return;
  Type *Double = Type::getDoubleTy(X.C);
  StructType *T = StructType::get(X.C, {X.Ptr, X.Ptr, X.I32, X.I32, X.I32, X.I32, Double, Double});
  static_assert(offsetof(pen_condition, line) == 16 && offsetof(pen_condition, to_true) == 32 &&
                    offsetof(pen_condition, to_false) == 40 && sizeof(pen_condition) == 48,
                "the fields above");
  IRBuilder<> B(At);
  B.SetCurrentDebugLocation(At->getDebugLoc());
  ComparedOperands Compared = operandsOfSite(S);
  unsigned Relation = Compared.Left ? relationOf(Compared.Predicate) : static_cast<unsigned>(PEN_OTHER_RELATION);
  bool IsUnsigned = Compared.Left && CmpInst::isUnsigned(CmpInst::Predicate(Compared.Predicate));
  bool IsNumber = Relation != PEN_OTHER_RELATION;
  Value *Left = IsNumber ? asDouble(X, B, Compared.Left, IsUnsigned) : nullptr;
  Value *Right = IsNumber ? asDouble(X, B, Compared.Right, IsUnsigned) : nullptr;
  if (!Left || !Right) {
    Relation = PEN_OTHER_RELATION;
    Left = B.CreateUIToFP(Condition, Double);
    Right = ConstantFP::get(Double, 0);
  }
  unsigned Operands = Relation == PEN_OTHER_RELATION ? static_cast<unsigned>(PEN_OF_TRUTH) : operandTypeOf(Compared);
  GlobalVariable *Record = makeCondition(X, Plan, S, Relation, Operands, T);
  Value *Pair = emitPair(X, B, Condition, nullptr);
  Type *Types[] = {X.Ptr, Double, Double, X.I64, X.I64};
  Value *Args[] = {Record, Left, Right, B.CreateExtractValue(Pair, ToTrue), B.CreateExtractValue(Pair, ToFalse)};
  B.CreateCall(ofGoal(X, "__pen_goal_condition", Types), Args);
}

} // namespace pen
