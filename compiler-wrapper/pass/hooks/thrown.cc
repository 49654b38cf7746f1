// An exception that leaves the function under test is an ordinary end. The thunk catches it, as the emitted test does: there is no
// frame with a handler outside, so without that each `throw` would end in std::terminate and count as a crash.
#include "../plugin.h"

namespace pen {
using namespace llvm;

// A function of the C++ library. Weak: a C function compiled with -fexceptions may be linked without it, and then nothing throws.
static FunctionCallee ofLibrary(Context &X, StringRef Name, FunctionType *Type) {
  if (!X.M.getFunction(Name)) Function::Create(Type, GlobalValue::ExternalWeakLinkage, Name, X.M);
  return X.M.getOrInsertFunction(Name, Type);
}

// catch (...): the exception is destroyed before the evaluation is left by a jump, so that nothing of it stays.
static void emitHandler(Context &X, BasicBlock *Handler) {
  IRBuilder<> B(Handler);
  LandingPadInst *Pad = B.CreateLandingPad(StructType::get(X.Ptr, X.I32), 1);
  Pad->addClause(X.null());
  Type *Nothing = Type::getVoidTy(X.C);
  FunctionType *Begin = FunctionType::get(X.Ptr, {X.Ptr}, false);
  B.CreateCall(ofLibrary(X, "__cxa_begin_catch", Begin), {B.CreateExtractValue(Pad, 0)});
  Value *Thrown = B.CreateCall(ofLibrary(X, "__cxa_current_exception_type", FunctionType::get(X.Ptr, false)), {});
  B.CreateCall(ofLibrary(X, "__cxa_end_catch", FunctionType::get(Nothing, false)), {});
  B.CreateCall(X.M.getOrInsertFunction("__pen_thrown", Nothing, X.Ptr), {Thrown});
  B.CreateRetVoid();
}

CallBase *callCatching(Context &X, IRBuilder<> &B, Function &F, ArrayRef<Value *> Args) {
  if (F.doesNotThrow()) return B.CreateCall(&F, Args);
  Function *Thunk = B.GetInsertBlock()->getParent();
  FunctionCallee Personality = ofLibrary(X, "__gxx_personality_v0", FunctionType::get(X.I32, true));
  Thunk->setPersonalityFn(F.hasPersonalityFn() ? F.getPersonalityFn() : cast<Constant>(Personality.getCallee()));
  auto *Returned = BasicBlock::Create(X.C, "", Thunk), *Handler = BasicBlock::Create(X.C, "", Thunk);
  InvokeInst *Call = B.CreateInvoke(&F, Returned, Handler, Args);
  emitHandler(X, Handler);
  B.SetInsertPoint(Returned);
  return Call;
}

} // namespace pen
