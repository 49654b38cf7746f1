// Comparisons of strings and memory by calls: `strcmp(s, "GPGGA") == 0`. The result of the call does not show how close
// the operands are, so the distance to "equal" is computed from the operands (runtime/bytes.c).
//
// It is computed directly after the call, if the site is armed, and not at the site: until then the program may write
// to the operands or free them. The same holds for the result of a function that does nothing but compare strings
// (shadow.cc).
#include "../plugin.h"

#include "llvm/Analysis/ValueTracking.h"

namespace pen {
using namespace llvm;

namespace {

// A function that compares two operands and returns 0 if they are equal.
struct ByteFunction {
  StringLiteral Name;
  bool HasLength; // as its third argument
  unsigned How;   // enum pen_bytes_flag
};

constexpr unsigned Folded = PEN_BYTES_ENDED | PEN_BYTES_FOLDED;
constexpr ByteFunction ByteFunctions[] = {
    {"strcmp", false, PEN_BYTES_ENDED},
    {"strncmp", true, PEN_BYTES_ENDED},
    {"strcoll", false, PEN_BYTES_ENDED},
    {"g_strcmp0", false, PEN_BYTES_ENDED},
    {"strcasecmp", false, Folded},
    {"strncasecmp", true, Folded},
    {"g_ascii_strcasecmp", false, Folded},
    {"g_ascii_strncasecmp", true, Folded},
    {"memcmp", true, 0},
    {"bcmp", true, 0},
};
// std::char_traits<char>::compare. Unlike the others it is defined in the translation units that call it.
constexpr ByteFunction CharTraits = {"_ZNSt11char_traitsIcE7compareEPKcS2_m", true, 0};

bool hasType(const Function &F, bool HasLength) {
  FunctionType *T = F.getFunctionType();
  if (T->isVarArg() || T->getNumParams() != (HasLength ? 3 : 2) || !T->getReturnType()->isIntegerTy(32)) return false;
  auto IsPointer = [&](unsigned I) {
    return T->getParamType(I)->isPointerTy() && !T->getParamType(I)->getPointerAddressSpace();
  };
  return IsPointer(0) && IsPointer(1) && (!HasLength || T->getParamType(2)->isIntegerTy(64));
}

const ByteFunction *byteFunctionOf(const Function &F) {
  if (F.getName() == CharTraits.Name) return hasType(F, true) ? &CharTraits : nullptr;
  if (!F.isDeclaration()) return nullptr; // a function that the program defines may do anything
  auto *Found = find_if(ByteFunctions, [&](const ByteFunction &B) { return B.Name == F.getName(); });
  return Found != std::end(ByteFunctions) && hasType(F, Found->HasLength) ? Found : nullptr;
}

const GlobalVariable *constantBehind(const Value *V) {
  auto *G = dyn_cast<GlobalVariable>(getUnderlyingObject(V));
  return G && G->isConstant() ? G : nullptr;
}

// Whether V points into a constant, or was loaded from one: `strcmp(s, keywords[i].name)`.
bool isConstantOperand(const Value *V) {
  if (auto *Load = dyn_cast<LoadInst>(V)) V = Load->getPointerOperand();
  return constantBehind(V);
}

// The number of bytes from V on that can be read, if V points to a known place in a constant; else 0.
uint64_t readableBytes(const Context &X, Value *V) {
  const DataLayout &DL = X.M.getDataLayout();
  APInt Offset(DL.getIndexTypeSizeInBits(V->getType()), 0);
  auto *G = dyn_cast<GlobalVariable>(V->stripAndAccumulateConstantOffsets(DL, Offset, /*AllowNonInbounds=*/false));
  if (!G || !G->isConstant() || !G->hasDefinitiveInitializer()) return 0;
  uint64_t Size = DL.getTypeAllocSize(G->getValueType());
  return Offset.ule(Size) ? Size - Offset.getZExtValue() : 0;
}

// __pen_bytes, which only reads the operands.
FunctionCallee runtimeFunction(Context &X) {
  FunctionCallee Callee = RUNTIME_FUNCTION(X, __pen_bytes);
  for (unsigned Operand : {1, 2}) {
    cast<Function>(Callee.getCallee())->addParamAttr(Operand, Attribute::ReadOnly);
#if LLVM_VERSION_MAJOR >= 21
    cast<Function>(Callee.getCallee())->addParamAttr(Operand, Attribute::getWithCaptureInfo(X.C, CaptureInfo::none()));
#else
    cast<Function>(Callee.getCallee())->addParamAttr(Operand, Attribute::NoCapture);
#endif
  }
  return Callee;
}

} // namespace

bool comparesBytes(const CallInst &Call) {
  const Function *F = Call.getCalledFunction(); // null if the types differ
  return F && byteFunctionOf(*F);
}

Value *bytesPairOf(Context &X, IRBuilder<> &B, CallInst &Call) {
  const ByteFunction &Compares = *byteFunctionOf(*Call.getCalledFunction());
  Value *L = Call.getArgOperand(0), *R = Call.getArgOperand(1);
  if (isConstantOperand(L) && !isConstantOperand(R)) std::swap(L, R);
  auto U64 = [&](uint64_t V) { return ConstantInt::get(X.I64, V); };
  Value *Differ = B.CreateICmpNE(&Call, ConstantInt::get(Call.getType(), 0));
  unsigned How = Compares.How | (isConstantOperand(R) ? unsigned(PEN_BYTES_CONSTANT) : 0);
  Value *Flags = B.CreateSelect(Differ, X.u32(How | PEN_BYTES_DIFFER), X.u32(How));
  Value *Length = Compares.HasLength ? Call.getArgOperand(2) : U64(UINT64_MAX);
  return X.pairOf(B, runtimeFunction(X), {L, R, Length, U64(readableBytes(X, R)), Flags});
}

Value *pairBehind(Context &X, CallInst &Call, Constant *Action, function_ref<Value *(IRBuilder<> &)> PairAt) {
  BasicBlock *Head = Call.getParent();
  Instruction *Behind = Call.getNextNode();
  IRBuilder<> B(whenArmed(X, Behind, Action));
  B.SetCurrentDebugLocation(Call.getDebugLoc());
  Value *Pair = PairAt(B);
  IRBuilder<> AtJoin(&Behind->getParent()->front());
  PHINode *Known = AtJoin.CreatePHI(X.Pair, 2);
  Known->addIncoming(Pair, B.GetInsertBlock());
  Known->addIncoming(Constant::getNullValue(X.Pair), Head);
  return Known;
}

} // namespace pen
