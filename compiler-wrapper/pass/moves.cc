// Where the operands of operations come from (-fpen-moves): values of floats in registers and in memory are written to the trace. Among
// operations that gave the same value, the value does not tell.
#include "pen.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/CommandLine.h"

namespace pen {
using namespace llvm;

static cl::opt<bool> WithMoves("pen-moves", cl::desc("Write to traces of operations where operands come from, too"));

namespace {

// The names of the values of one function.
class Names {
  Context &X;
  DenseMap<const Value *, unsigned> Numbers;
  GlobalVariable *Table = nullptr;

public:
  Names(Context &X, ArrayRef<Value *> Values) : X(X) {
    for (unsigned I = 0; I < Values.size(); I++) Numbers[Values[I]] = I;
    Type *Bytes = ArrayType::get(Type::getInt8Ty(X.C), Values.size());
    Table = new GlobalVariable(X.M, Bytes, false, GlobalValue::PrivateLinkage, Constant::getNullValue(Bytes), "__pen_names");
  }

  // Null of a constant.
  Constant *of(const Value *V) {
    auto At = Numbers.find(V);
    if (At == Numbers.end()) return ConstantPointerNull::get(X.Ptr);
    return ConstantExpr::getInBoundsGetElementPtr(Table->getValueType(), Table,
                                                  ArrayRef<Constant *>{X.u32(0), X.u32(At->second)});
  }
};

} // namespace

SmallVector<Value *, 0> floatsOf(Function &F) {
  SmallVector<Value *, 0> Floats;
  if (!WithMoves) return Floats;
  for (Argument &A : F.args())
    if (isScalar(A.getType())) Floats.push_back(&A);
  for (Instruction &I : instructions(F)) {
    auto *Store = dyn_cast<StoreInst>(&I);
    if (auto *Call = dyn_cast<CallInst>(&I); Call && Call->isMustTailCall()) continue; // nothing may come after it
    if (!I.isTerminator() && isScalar(Store ? Store->getValueOperand()->getType() : I.getType())) Floats.push_back(&I);
  }
  return Floats;
}

static void hookMove(Context &X, Names &All, Value *Of, uint32_t What, Value *Address, Instruction *Next) {
  IRBuilder<> B(Next);
  if (auto *I = dyn_cast<Instruction>(Of)) B.SetCurrentDebugLocation(I->getDebugLoc());
  Value *At = Address ? B.CreateAddrSpaceCast(Address, X.Ptr) : ConstantPointerNull::get(X.Ptr);
  if (Of->getType()->isFloatTy()) What |= PEN_SINGLE;
  FunctionCallee Hook = RUNTIME_FUNCTION(X, __pen_on_move);
  X.call(B, Hook, {At, All.of(Of), X.u32(What), bitsOf(X, B, Of, false)});
}

static void hookOperands(Context &X, Names &All, Instruction &I, const Operation &O) {
  IRBuilder<> B(I.getNextNode());
  B.SetCurrentDebugLocation(I.getDebugLoc());
  Value *Words[4];
  for (unsigned N = 0; N < 3; N++) Words[N] = All.of(N < O.Operands.size() ? O.Operands[N] : nullptr);
  Words[3] = All.of(&I);
  FunctionCallee Hook = RUNTIME_FUNCTION(X, __pen_on_operands);
  X.call(B, Hook, Words);
}

void hookMoves(Context &X, Function &F, ArrayRef<Value *> Floats) {
  if (Floats.empty()) return;
  Names All(X, Floats);
  for (Value *V : Floats) {
    auto *I = dyn_cast<Instruction>(V);
    if (!I) {
      hookMove(X, All, V, PEN_VALUE, nullptr, &*F.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    } else if (auto *Store = dyn_cast<StoreInst>(I)) {
      hookMove(X, All, Store->getValueOperand(), PEN_STORE, Store->getPointerOperand(), I->getNextNode());
    } else if (auto *Load = dyn_cast<LoadInst>(I)) {
      hookMove(X, All, I, PEN_LOAD, Load->getPointerOperand(), I->getNextNode());
    } else if (auto O = operationOf(*I)) {
      hookOperands(X, All, *I, *O);
    } else if (isa<PHINode>(I)) {
      if (auto At = I->getParent()->getFirstInsertionPt(); At != I->getParent()->end()) hookMove(X, All, I, PEN_VALUE, nullptr, &*At);
    } else {
      hookMove(X, All, I, PEN_VALUE, nullptr, I->getNextNode());
    }
  }
}

} // namespace pen
