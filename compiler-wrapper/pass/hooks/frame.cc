// The frame thunk: calls a function whose arguments lie in memory, so that the fuzzer can pass structures, arrays and
// strings.
#include "../plugin.h"

#include "llvm/IR/Constants.h"

namespace pen {
using namespace llvm;

// Whether the argument is the address of a copy. Large structures and classes of C++ with a copy constructor are passed
// so; otherwise a pointer is the first part of a small structure.
static bool isAddressOfCopy(const Parameter &P, const Argument &A) {
  return A.hasByValAttr() || (A.getType()->isPointerTy() && (P.Bytes > 16 || isPassedByReference(P.Declared)));
}

// The number of arguments of the IR for this parameter, as clang passes it on x86-64 and AArch64; 0 if they do not fit.
// A number or an address is one argument. A structure is its address (byval, or a plain pointer to a copy), or one or
// two registers that hold its parts of 8 bytes.
static unsigned argumentsOf(const DataLayout &DL, const Parameter &P, ArrayRef<Argument *> Rest) {
  if (Rest.empty()) return 0;
  Type *T = Rest[0]->getType();
  if (P.Pointer) return T->isPointerTy();
  if (!P.Aggregate) return !T->isPointerTy() && T->isSingleValueType();
  if (isAddressOfCopy(P, *Rest[0])) return 1;
  if (T->isAggregateType()) return DL.getTypeStoreSize(T) <= P.Bytes;
  uint64_t First = DL.getTypeStoreSize(T);
  if (First >= P.Bytes) return 1;
  // The second register has the rest, which may end with padding: struct { double x; int n; }.
  return Rest.size() < 2 || P.Bytes > 16 ? 0 : 2;
}

// Whether this translation unit refers to standard input, or takes numbers from the environment of a verification task.
// These are inputs, also of functions whose parameters are numbers only.
static bool readsInput(const Module &M) {
  if (any_of(M, [](const Function &F) { return F.isDeclaration() && F.getName().starts_with("__VERIFIER_nondet_"); }))
    return true;
  static const char *const Readers[] = {"scanf",          "vscanf",
                                        "__isoc99_scanf", "__isoc99_vscanf",
                                        "__isoc23_scanf", "__isoc23_vscanf",
                                        "getchar",        "getchar_unlocked",
                                        "gets",           "read"};
  return M.getNamedGlobal("stdin") || M.getNamedGlobal("_ZSt3cin") ||
         any_of(Readers, [&](const char *Name) { return M.getFunction(Name); });
}

void planFrame(Function &F, Signature &S) {
  const DataLayout &DL = F.getParent()->getDataLayout();
  std::vector<Argument *> Args;
  for (Argument &A : F.args())
    if (!A.hasStructRetAttr()) Args.push_back(&A);
  ArrayRef<Argument *> Rest = Args;
  S.HasFrame = false;
  for (Parameter &P : S.Parameters) {
    P.IRArguments = P.Type == "..." ? 0 : argumentsOf(DL, P, Rest);
    if (P.IRArguments == 0) return;
    Rest = Rest.drop_front(P.IRArguments);
    P.Frame = S.FrameSize;
    S.FrameSize += (P.Bytes + PEN_CELL_BYTES - 1) / PEN_CELL_BYTES * PEN_CELL_BYTES;
  }
  if (!Rest.empty()) return;
  Type *Result = F.getReturnType();
  for (Argument &A : F.args())
    if (A.hasStructRetAttr()) Result = A.getParamStructRetType();
  // clang returns an empty class of C++ as void.
  S.ResultIsAggregate &= !Result->isVoidTy();
  if (S.ResultIsAggregate) {
    uint64_t Bytes = std::max<uint64_t>(DL.getTypeAllocSize(Result), S.ResultBytes);
    S.ResultFrame = S.FrameSize;
    S.FrameSize += (Bytes + PEN_CELL_BYTES - 1) / PEN_CELL_BYTES * PEN_CELL_BYTES;
  }
  S.HasFrame =
      any_of(S.Parameters, [](const Parameter &P) { return P.Pointer || P.Aggregate || P.Kind == PEN_UNSUPPORTED; }) ||
      S.ResultIsAggregate || readsInput(*F.getParent());
}

static void loadArguments(Context &X, IRBuilder<> &B, const Parameter &P, ArrayRef<Argument *> Own, Value *Frame,
                          std::vector<Value *> &Args) {
  Value *At = B.CreateConstInBoundsGEP1_64(X.I8, Frame, P.Frame);
  Type *T = Own[0]->getType();
  if (P.Aggregate && isAddressOfCopy(P, *Own[0])) {
    Args.push_back(At);
    return;
  }
  if (T->isIntegerTy(1)) {
    Args.push_back(B.CreateTrunc(B.CreateAlignedLoad(X.I8, At, Align(1)), T));
    return;
  }
  for (unsigned I = 0; I < Own.size(); I++)
    Args.push_back(B.CreateAlignedLoad(Own[I]->getType(), B.CreateConstInBoundsGEP1_64(X.I8, At, 8 * I), Align(8)));
}

Constant *makeFrameThunk(Context &X, Function &F, const Signature &S) {
  if (!S.HasFrame) return X.null();
  using ThunkType = std::remove_pointer_t<decltype(pen_function::call_frame)>;
  Function *Thunk = newThunk(X, F, FunctionTypeOf<ThunkType>::get(X.C), "__pen_frame.");
  IRBuilder<> B(BasicBlock::Create(X.C, "", Thunk));
  Value *Frame = Thunk->getArg(0), *Out = Thunk->getArg(1);
  std::vector<Value *> Args;
  std::vector<Argument *> Plain;
  Type *Returned = nullptr;
  for (Argument &A : F.args()) {
    if (!A.hasStructRetAttr()) Plain.push_back(&A);
    else Returned = A.getParamStructRetType();
  }
  if (Returned) Args.push_back(B.CreateConstInBoundsGEP1_64(X.I8, Frame, S.ResultFrame));
  // The address for a returned structure is the first argument, or the second one of a member function in some ABIs.
  bool SecondIsResult = F.arg_size() > 1 && F.getArg(1)->hasStructRetAttr();
  Value *Result = Args.empty() ? nullptr : Args[0];
  if (SecondIsResult) Args.clear();
  ArrayRef<Argument *> Rest = Plain;
  for (const Parameter &P : S.Parameters) {
    loadArguments(X, B, P, Rest.take_front(P.IRArguments), Frame, Args);
    Rest = Rest.drop_front(P.IRArguments);
    if (SecondIsResult && Args.size() == 1) Args.push_back(Result);
  }
  CallBase *Call = callOf(X, B, F, *Thunk, Args);
  // F is inlined into the other thunk only.
  Call->addFnAttr(Attribute::NoInline);
  if (S.ResultIsAggregate && !Call->getType()->isVoidTy())
    B.CreateAlignedStore(Call, B.CreateConstInBoundsGEP1_64(X.I8, Frame, S.ResultFrame), Align(8));
  else if (!Call->getType()->isVoidTy()) storeResult(X, B, Call, Out);
  B.CreateRetVoid();
  if (Returned) fillIfAsked(Result, Returned, cast<Instruction>(Result)->getNextNode());
  return Thunk;
}

} // namespace pen
