// An exception that leaves the function under test is a normal end. The thunk catches it, as the emitted test does. No
// frame outside has a handler, so without the thunk each `throw` would end in std::terminate and count as a crash.
#include "../plugin.h"

namespace pen {
using namespace llvm;

// Declares a function of the C++ library, as weak: a C function compiled with -fexceptions may be linked without that
// library, and then nothing throws.
static FunctionCallee ofLibrary(Context &X, StringRef Name, FunctionType *Type) {
  if (!X.M.getFunction(Name)) Function::Create(Type, GlobalValue::ExternalWeakLinkage, Name, X.M);
  return X.M.getOrInsertFunction(Name, Type);
}

// catch (...): the handler destroys the exception before it leaves the evaluation by a jump, so that nothing leaks.
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
