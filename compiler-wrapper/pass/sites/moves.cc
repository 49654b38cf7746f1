// Traces where the operands of operations come from (-fpen-moves): values of floats in registers and in memory are
// written to the trace. If several operations gave the same value, the value alone does not identify its origin.
#include "../plugin.h"

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
    Table = new GlobalVariable(X.M, Bytes, false, GlobalValue::PrivateLinkage, Constant::getNullValue(Bytes),
                               "__pen_names");
  }

  // The name of a value; null if it has none.
  Constant *of(const Value *V) {
    auto At = Numbers.find(V);
    if (At == Numbers.end()) return ConstantPointerNull::get(X.Ptr);
    return ConstantExpr::getInBoundsGetElementPtr(Table->getValueType(), Table,
                                                  ArrayRef<Constant *>{X.u32(0), X.u32(At->second)});
  }

  // The name of a value that is the source of a move.
  Constant *from(const Value *V) { return isa<Constant>(V) ? place(PEN_CONSTANT_NAME) : of(V); }

  // The name of a place that holds values between functions.
  Constant *place(unsigned Number) {
    return ConstantExpr::getIntToPtr(ConstantInt::get(X.I64, Number), X.Ptr);
  }
};

// Whether a function of the program or of a library receives the arguments, and not the compiler.
bool isCall(const Instruction &I) {
  auto *Call = dyn_cast<CallInst>(&I);
  return Call && !isa<IntrinsicInst>(Call) && !Call->isInlineAsm();
}

bool passesFloats(const Instruction &I) {
  auto IsFloat = [](const Use &U) { return isScalar(U->getType()); };
  if (auto *Return = dyn_cast<ReturnInst>(&I))
    return Return->getReturnValue() && isScalar(Return->getReturnValue()->getType());
  return isCall(I) && any_of(cast<CallInst>(I).args(), IsFloat);
}

} // namespace

SmallVector<Value *, 0> floatsOf(Function &F) {
  SmallVector<Value *, 0> Floats;
  if (!WithMoves) return Floats;
  for (Argument &A : F.args())
    if (isScalar(A.getType())) Floats.push_back(&A);
  for (Instruction &I : instructions(F)) {
    auto *Store = dyn_cast<StoreInst>(&I);
    if (passesFloats(I)) {
      Floats.push_back(&I); // also if its own value is no float
      continue;
    }
    if (auto *Call = dyn_cast<CallInst>(&I); Call && Call->isMustTailCall()) continue; // no instruction may follow it
    if (!I.isTerminator() && isScalar(Store ? Store->getValueOperand()->getType() : I.getType())) Floats.push_back(&I);
  }
  return Floats;
}

// `Of` is a float. Either it has a name, or the place that it moves to gets one.
static void hookMove(Context &X, Names &All, Value *Of, uint32_t What, Value *Address, Instruction *Next,
                     Constant *Name = nullptr) {
  IRBuilder<> B(Next);
  if (auto *I = dyn_cast<Instruction>(Of)) B.SetCurrentDebugLocation(I->getDebugLoc());
  Value *At = Address ? B.CreateAddrSpaceCast(Address, X.Ptr) : ConstantPointerNull::get(X.Ptr);
  if (Of->getType()->isFloatTy()) What |= PEN_SINGLE;
  FunctionCallee Hook = RUNTIME_FUNCTION(X, __pen_on_move);
  X.call(B, Hook, {At, Name ? Name : All.of(Of), X.u32(What), bitsOf(X, B, Of, false)});
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

// The name of the value that this instruction copies; null if it copies none, or if that is not known.
static Value *sourceOf(Context &X, Names &All, Instruction &I) {
  if (auto *Phi = dyn_cast<PHINode>(&I)) {
    auto *Of = PHINode::Create(X.Ptr, Phi->getNumIncomingValues(), "", &I);
    for (unsigned N = 0; N < Phi->getNumIncomingValues(); N++)
      Of->addIncoming(All.from(Phi->getIncomingValue(N)), Phi->getIncomingBlock(N));
    return Of;
  }
  if (auto *Select = dyn_cast<SelectInst>(&I))
    return IRBuilder<>(Select).CreateSelect(Select->getCondition(), All.from(Select->getTrueValue()),
                                            All.from(Select->getFalseValue()));
  if (isa<FPExtInst>(I) || isa<FreezeInst>(I)) return All.from(I.getOperand(0));
  return nullptr;
}

// Hooks the arguments before a call, or the value that a function returns.
static void hookPassed(Context &X, Names &All, Instruction &I) {
  auto Pass = [&](Value *V, unsigned Place) {
    if (isScalar(V->getType())) hookMove(X, All, V, PEN_STORE, All.place(Place), &I, All.from(V));
  };
  if (auto *Return = dyn_cast<ReturnInst>(&I)) return Pass(Return->getReturnValue(), PEN_RETURNED);
  auto &Call = cast<CallInst>(I);
  for (unsigned N = 0; N < Call.arg_size(); N++) Pass(Call.getArgOperand(N), PEN_PASSED + N);
}

static void hookInstruction(Context &X, Names &All, Instruction &I) {
  Instruction *Next = I.getNextNode();
  if (passesFloats(I)) {
    hookPassed(X, All, I);
    auto *Call = dyn_cast<CallInst>(&I);
    // no instruction may follow it, or there is no scalar result
    if (!Call || Call->isMustTailCall() || !isScalar(I.getType())) return;
  }
  if (auto *Store = dyn_cast<StoreInst>(&I)) {
    Value *V = Store->getValueOperand();
    hookMove(X, All, V, PEN_STORE, Store->getPointerOperand(), Next, All.from(V));
  } else if (auto *Load = dyn_cast<LoadInst>(&I)) {
    hookMove(X, All, &I, PEN_LOAD, Load->getPointerOperand(), Next);
  } else if (auto O = operationOf(I)) {
    hookOperands(X, All, I, *O);
  } else if (isCall(I)) {
    hookMove(X, All, &I, PEN_LOAD, All.place(PEN_RETURNED), Next);
  } else if (isa<PHINode>(I)) {
    auto At = I.getParent()->getFirstInsertionPt();
    if (At != I.getParent()->end()) hookMove(X, All, &I, PEN_VALUE, sourceOf(X, All, I), &*At);
  } else {
    hookMove(X, All, &I, PEN_VALUE, sourceOf(X, All, I), Next);
  }
}

void hookMoves(Context &X, Function &F, ArrayRef<Value *> Floats) {
  if (Floats.empty()) return;
  Names All(X, Floats);
  Instruction *Entry = &*F.getEntryBlock().getFirstNonPHIOrDbgOrAlloca();
  for (Value *V : Floats) {
    if (auto *A = dyn_cast<Argument>(V)) hookMove(X, All, V, PEN_LOAD, All.place(PEN_PASSED + A->getArgNo()), Entry);
    else hookInstruction(X, All, *cast<Instruction>(V));
  }
}

} // namespace pen
