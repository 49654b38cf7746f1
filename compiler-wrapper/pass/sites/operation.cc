// Floating-point operations as sites (-fpen-exceptions): the exceptions that each can raise, and the hook after it.
//
// Only scalar double and float operations are sites. Before the optimizer has run, vectors come from explicit vector
// types only; long double has another format on each platform; and half is computed as float.
#include "../plugin.h"

#include "../../runtime/functions.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/CommandLine.h"
#if __has_include("llvm/TargetParser/Triple.h")
#include "llvm/TargetParser/Triple.h"
#else
#include "llvm/ADT/Triple.h"
#endif

#include <cmath>

namespace pen {
using namespace llvm;

static cl::opt<bool> WithExceptions("pen-exceptions", cl::desc("Make floating-point operations sites, too"));

namespace {

enum : uint32_t {
  Overflow = 1u << PEN_OVERFLOW,
  Underflow = 1u << PEN_UNDERFLOW,
  DivideByZero = 1u << PEN_DIVIDE_BY_ZERO,
  Invalid = 1u << PEN_INVALID,
  Inexact = 1u << PEN_INEXACT,
};

// One operation, with its operands in the order of C.
struct Operation {
  unsigned Number = PEN_NO_OPERATION;
  std::string Name;
  uint32_t Possible = 0;
  SmallVector<Value *, 3> Operands;
  Type *Float = nullptr; // double or float: of the operand for a conversion to an integer, else of the result
  unsigned Integer = 0;  // bits of the integer that is converted to or from
};

struct MathFunction {
  unsigned Number;
  StringRef Name, Operands, Raises;
};

const MathFunction Functions[] = {
#define LINE(Number, Name, Operands, Raises, Invalid, Pole) {Number, Name, Operands, Raises},
    PEN_FUNCTIONS(LINE)
#undef LINE
};

bool isScalar(Type *T) { return T->isDoubleTy() || T->isFloatTy(); }

uint32_t maskOf(StringRef Raises) {
  uint32_t Mask = 0;
  for (char C : Raises) Mask |= C == 'O' ? Overflow : C == 'U' ? Underflow : C == 'Z' ? DivideByZero : Invalid;
  return Mask;
}

// ---- exceptions that constant operands exclude ----------------------------------------------------------------------

// |V| as a double if V is a constant.
std::optional<double> magnitudeOf(Value *V) {
  auto *K = dyn_cast<ConstantFP>(V);
  if (!K) return std::nullopt;
  APFloat F = K->getValueAPF();
  bool Lossy;
  F.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &Lossy);
  F.clearSign();
  return F.convertToDouble();
}

// A sum with the largest number overflows if the other operand is at least half of that number's last bit. A sum with 0
// raises nothing. Underflow means a subnormal sum: it is no multiple of half the last bit of a number from 2^-969 on
// (2^-102 in float), since half of that bit is a normal number.
uint32_t sumPossible(Value *L, Value *R, Type *T) {
  uint32_t Mask = Overflow | Underflow | Inexact;
  for (Value *V : {L, R})
    if (auto Magnitude = magnitudeOf(V)) {
      if (*Magnitude < (T->isDoubleTy() ? 0x1p970 : 0x1p103)) Mask &= ~Overflow;
      if (*Magnitude >= (T->isDoubleTy() ? 0x1p-969 : 0x1p-102)) Mask &= ~Underflow;
      if (*Magnitude == 0) Mask = 0;
    }
  return Mask;
}

// A subnormal number times an integer, or divided by 1, 1/2, 1/4..., is exact. Times 1.1 it is inexact, so it
// underflows.
bool isInteger(double Magnitude) { return Magnitude == std::trunc(Magnitude); }

bool isPowerOfTwo(double Magnitude) {
  int Exponent;
  return std::frexp(Magnitude, &Exponent) == 0.5;
}

uint32_t productPossible(Value *L, Value *R) {
  uint32_t Mask = Overflow | Underflow | Inexact;
  for (Value *V : {L, R})
    if (auto Magnitude = magnitudeOf(V)) {
      if (*Magnitude <= 1) Mask &= ~Overflow;
      if (isInteger(*Magnitude)) Mask &= ~Underflow;
      if (*Magnitude == 0 || *Magnitude == 1) Mask = 0;
    }
  return Mask;
}

uint32_t quotientPossible(Value *L, Value *R, Type *T) {
  uint32_t Mask = Overflow | Underflow | DivideByZero | Invalid | Inexact;
  if (auto Magnitude = magnitudeOf(R)) {
    if (*Magnitude != 0) Mask &= ~(DivideByZero | Invalid);
    if (*Magnitude >= 1) Mask &= ~Overflow;
    if (*Magnitude <= 1 && isPowerOfTwo(*Magnitude)) Mask &= ~Underflow;
    if (*Magnitude == 1) Mask = 0;
  }
  if (auto Magnitude = magnitudeOf(L)) {
    Mask &= ~(*Magnitude == 0 ? Overflow | Underflow | DivideByZero | Inexact : uint32_t(Invalid));
    if (*Magnitude < (T->isDoubleTy() ? 0x1p-50 : 0x1p-21))
      Mask &= ~Overflow; // the smallest divisor is 2^-1074, 2^-149
    if (*Magnitude >= 4) Mask &= ~Underflow;                                   // the largest one is below 2^1024, 2^128
  }
  return Mask;
}

uint32_t remainderPossible(Value *R) {
  auto Magnitude = magnitudeOf(R);
  return Magnitude && *Magnitude != 0 ? 0 : uint32_t(Invalid);
}

// ---- instructions ------------------------------------------------------------------------------------------------

std::string typeName(unsigned Bits, bool Signed) {
  StringRef Name = Bits == 8 ? "char" : Bits == 16 ? "short" : Bits == 32 ? "int" : Bits == 64 ? "long" : "";
  if (Name.empty()) return ((Signed ? "(int" : "(unsigned") + Twine(Bits) + ")").str();
  if (Bits == 8) return Signed ? "(signed char)" : "(unsigned char)";
  return ((Signed ? "(" : "(unsigned ") + Name + ")").str();
}

Operation makeOperation(unsigned Number, StringRef Name, uint32_t Possible, ArrayRef<Value *> Operands, Type *Float) {
  Operation O{Number, Name.str(), Possible, {}, Float};
  O.Operands.append(Operands.begin(), Operands.end());
  for (Value *V : Operands)
    if (auto *K = dyn_cast<ConstantFP>(V); K && !K->getValueAPF().isFinite())
      O.Possible = 0; // NaN and infinity only propagate
  return O;
}

// `Kind` is the name of an instruction, or of a constrained intrinsic without its prefix.
std::optional<Operation> arithmetic(StringRef Kind, ArrayRef<Value *> Ops, Type *T) {
  if (!isScalar(T)) return std::nullopt;
  if (Kind == "fadd") return makeOperation(PEN_ADD, "+", sumPossible(Ops[0], Ops[1], T), Ops, T);
  if (Kind == "fsub") return makeOperation(PEN_SUBTRACT, "-", sumPossible(Ops[0], Ops[1], T), Ops, T);
  if (Kind == "fmul") return makeOperation(PEN_MULTIPLY, "*", productPossible(Ops[0], Ops[1]), Ops, T);
  if (Kind == "fdiv") return makeOperation(PEN_DIVIDE, "/", quotientPossible(Ops[0], Ops[1], T), Ops, T);
  if (Kind == "frem" || Kind == "fmod") return makeOperation(PEN_FMOD, "fmod", remainderPossible(Ops[1]), Ops, T);
  if (Kind == "fma" || Kind == "fmuladd") return makeOperation(PEN_FMA, "fma", Overflow | Underflow | Inexact, Ops, T);
  if (Kind == "sqrt") return makeOperation(PEN_SQRT, "sqrt", Invalid | Inexact, Ops, T);
  if (Kind == "fneg") return makeOperation(PEN_NEGATE, "-", 0, Ops, T);
  if (Kind == "fabs") return makeOperation(PEN_ABS, "fabs", 0, Ops, T);
  if (Kind == "fptrunc" && Ops[0]->getType()->isDoubleTy())
    return makeOperation(PEN_NARROW, "(float)", Overflow | Underflow | Inexact, Ops, T);
  return std::nullopt;
}

// Conversions to and from other integers are no sites: an operand of the hook has 64 bits.
bool fitsInHook(Type *T) { return T->isIntegerTy() && T->getIntegerBitWidth() >= 8 && T->getIntegerBitWidth() <= 64; }

std::optional<Operation> conversion(StringRef Kind, ArrayRef<Value *> Ops, Type *T) {
  bool Cast = Kind == "fptosi" || Kind == "fptoui";
  bool To = Cast || Kind == "lround" || Kind == "llround" || Kind == "lrint" || Kind == "llrint";
  bool Signed = Kind != "fptoui" && Kind != "uitofp";
  if (To && isScalar(Ops[0]->getType()) && fitsInHook(T)) {
    unsigned Bits = T->getIntegerBitWidth();
    std::string Name = Cast ? typeName(Bits, Signed) : Kind.str();
    Operation O = makeOperation(Signed ? PEN_TO_SIGNED : PEN_TO_UNSIGNED, Name, Invalid, Ops, Ops[0]->getType());
    O.Integer = Bits;
    return O;
  }
  if ((Kind == "sitofp" || Kind == "uitofp") && isScalar(T) && fitsInHook(Ops[0]->getType())) {
    unsigned Bits = Ops[0]->getType()->getIntegerBitWidth();
    bool Fits = Bits - Signed <= (T->isDoubleTy() ? 53u : 24u);
    Operation O = makeOperation(Signed ? PEN_FROM_SIGNED : PEN_FROM_UNSIGNED, T->isDoubleTy() ? "(double)" : "(float)",
                                Fits ? 0 : uint32_t(Inexact), Ops, T);
    O.Integer = Bits;
    return O;
  }
  return std::nullopt;
}

bool accepts(const MathFunction &F, ArrayRef<Value *> Ops, Type *T) {
  if (!isScalar(T) || Ops.size() != F.Operands.size()) return false;
  for (unsigned I = 0; I < Ops.size(); I++) {
    Type *Got = Ops[I]->getType();
    if (F.Operands[I] == 'D' ? Got != T : !fitsInHook(Got)) return false;
  }
  return true;
}

std::optional<Operation> mathFunction(StringRef Name, ArrayRef<Value *> Ops, Type *T) {
  for (const MathFunction &F : Functions)
    if (F.Name == Name && accepts(F, Ops, T)) {
      uint32_t Possible = maskOf(F.Raises);
      if (F.Number == PEN_LDEXP || F.Number == PEN_SCALBN || F.Number == PEN_SCALBLN) Possible |= Inexact;
      return makeOperation(F.Number, Name, Possible, Ops, T);
    }
  return std::nullopt;
}

std::optional<Operation> operationNamed(StringRef Name, ArrayRef<Value *> Ops, Type *T) {
  if (Ops.empty()) return std::nullopt;
  if (Name == "drem") Name = "remainder";
  if (auto O = mathFunction(Name, Ops, T)) return O;
  bool IsUnary = Name == "sqrt" || Name == "fabs" || Name == "fneg" || Name == "fptrunc";
  unsigned Arity = IsUnary ? 1 : Name == "fma" || Name == "fmuladd" ? 3 : 2;
  if (Ops.size() == Arity)
    if (auto O = arithmetic(Name, Ops, T)) return O;
  return Ops.size() == 1 ? conversion(Name, Ops, T) : std::nullopt;
}

// The operands of a call, without the rounding mode and the exception behaviour of constrained intrinsics.
SmallVector<Value *, 3> argumentsOf(const CallInst &Call) {
  SmallVector<Value *, 3> Args;
  for (Value *V : Call.args())
    if (!V->getType()->isMetadataTy()) Args.push_back(V);
  return Args;
}

// Whether the called function is of the same source. For a proof, other sources may be linked in, and the sites must
// have the same numbers then.
bool isOfSameSource(const Function &F, const CallInst &Call) {
  const DISubprogram *Own = F.getSubprogram(), *Caller = Call.getFunction()->getSubprogram();
  return !F.isDeclaration() && (!Own || !Caller || Own->getUnit() == Caller->getUnit());
}

std::optional<Operation> operationOfCall(const CallInst &Call) {
  const Function *F = Call.getCalledFunction();
  if (!F || isOfSameSource(*F, Call) || Call.isMustTailCall()) return std::nullopt;
  SmallVector<Value *, 3> Args = argumentsOf(Call);
  if (F->isIntrinsic()) {
    StringRef Name = Intrinsic::getBaseName(F->getIntrinsicID());
    Name.consume_front("llvm.");
    Name.consume_front("experimental.constrained.");
    return operationNamed(Name, Args, Call.getType());
  }
  StringRef Name = F->getName();
  bool Single = !Args.empty() && (Call.getType()->isFloatTy() || Args[0]->getType()->isFloatTy());
  if (Single && !Name.consume_back("f")) return std::nullopt;
  // A function that has the name of an instruction by coincidence.
  for (StringRef Instruction : {"fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "fptrunc", "fptosi", "fptoui", "sitofp",
                                "uitofp", "fmuladd"})
    if (Name == Instruction) return std::nullopt;
  return operationNamed(Name, Args, Call.getType());
}

std::optional<Operation> operationOf(Instruction &I) {
  if (auto *Call = dyn_cast<CallInst>(&I)) return operationOfCall(*Call);
  switch (I.getOpcode()) {
  case Instruction::FAdd:
  case Instruction::FSub:
  case Instruction::FMul:
  case Instruction::FDiv:
  case Instruction::FRem:
  case Instruction::FNeg:
  case Instruction::FPTrunc:
  case Instruction::FPToSI:
  case Instruction::FPToUI:
  case Instruction::SIToFP:
  case Instruction::UIToFP: break;
  default: return std::nullopt;
  }
  SmallVector<Value *, 3> Ops(I.operand_values());
  return operationNamed(I.getOpcodeName(), Ops, I.getType());
}

Value *bitsOf(Context &X, IRBuilder<> &B, Value *V, bool Signed) {
  if (V->getType()->isIntegerTy()) return B.CreateIntCast(V, X.I64, Signed);
  return B.CreateZExt(B.CreateBitCast(V, V->getType()->isDoubleTy() ? X.I64 : X.I32), X.I64);
}

bool hasFusedMultiplyAdd(const Function &F) {
  StringRef Features = F.getFnAttribute("target-features").getValueAsString();
  Triple Target(F.getParent()->getTargetTriple()); // a string before LLVM 21
  return Target.getArch() != Triple::x86_64 || Features.contains("+fma");
}

} // namespace

// Splits fmuladd if the processor has no fused instruction, as the compiler would do later. The product and the sum are
// rounded separately, each may raise exceptions, and they are two operations of the source.
void splitMultiplyAdds(Function &F) {
  if (hasFusedMultiplyAdd(F)) return;
  SmallVector<IntrinsicInst *, 16> All;
  for (Instruction &I : instructions(F))
    if (auto *Call = dyn_cast<IntrinsicInst>(&I);
        Call && Call->getIntrinsicID() == Intrinsic::fmuladd && isScalar(Call->getType()))
      All.push_back(Call);
  for (IntrinsicInst *Call : All) {
    IRBuilder<> B(Call);
    B.setFastMathFlags(Call->getFastMathFlags());
    Value *Sum = B.CreateFAdd(B.CreateFMul(Call->getArgOperand(0), Call->getArgOperand(1)), Call->getArgOperand(2));
    Call->replaceAllUsesWith(Sum);
    Call->eraseFromParent();
  }
}

std::optional<Site> operationAt(Instruction &I) {
  if (!WithExceptions || I.hasMetadata("nosanitize")) return std::nullopt;
  auto O = operationOf(I);
  if (!O) return std::nullopt;
  Site S;
  S.K = Kind::Operation;
  S.At = WeakTrackingVH(&I);
  S.Where = I.getDebugLoc();
  S.Branches = PEN_EXCEPTIONS;
  S.Possible = O->Possible;
  S.Name = O->Name;
  S.Operation = O->Number;
  S.Width = O->Float->isDoubleTy() ? 64 : 32;
  return S;
}

ComparedOperands operandsOfOperation(const Site &S) {
  ComparedOperands Compared;
  Compared.Operand = S.Width == 64 ? PEN_OP_F64 : PEN_OP_F32;
  Compared.Width = S.Width;
  return Compared;
}

void hookOperation(Context &X, const Site &S, Instruction *At, GlobalVariable *Actions) {
  auto O = operationOf(*At);
  if (!O || O->Number != S.Operation) return; // another value has replaced it
  Constant *Action = actionsOf(X, S, Actions);
  Instruction *Next = At->getNextNode();
  Instruction *Armed = whenArmed(X, Next, Action);
  IRBuilder<> B(Armed);
  B.SetCurrentDebugLocation(At->getDebugLoc());
  uint32_t What = O->Number | (O->Float->isFloatTy() ? PEN_SINGLE : 0) | O->Integer << PEN_INTEGER_SHIFT |
                  S.Possible << PEN_POSSIBLE_SHIFT;
  Value *Words[3] = {B.getInt64(0), B.getInt64(0), B.getInt64(0)};
  for (unsigned I = 0; I < O->Operands.size(); I++) {
    if (isa<Constant>(O->Operands[I])) What |= PEN_CONSTANT << I;
    Words[I] = bitsOf(X, B, O->Operands[I], O->Number != PEN_FROM_UNSIGNED);
  }
  Value *Result = bitsOf(X, B, At, O->Number != PEN_TO_UNSIGNED);
  FunctionCallee Hook = RUNTIME_FUNCTION(X, __pen_on_operation);
  X.call(B, Hook, {Action, X.u32(What), Words[0], Words[1], Words[2], Result});
}

} // namespace pen
