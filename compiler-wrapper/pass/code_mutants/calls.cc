// Mutation operators for calls: deletion, related functions, swapped arguments.
#include "code_mutants.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/IntrinsicInst.h"

namespace pen::mutants {
using namespace llvm;

// Functions of <math.h> with equal numbers of arguments that programmers confuse.
static const std::vector<StringRef> Related[] = {
    {"sin", "cos", "tan"},    {"asin", "acos", "atan"}, {"sinh", "cosh", "tanh"}, {"asinh", "acosh", "atanh"},
    {"floor", "ceil", "trunc", "round"},                {"exp", "expm1", "exp2"}, {"log", "log1p", "log10", "log2"},
    {"rint", "nearbyint", "round", "floor"},            {"fmin", "fmax"},         {"fmod", "remainder"},
    {"sqrt", "cbrt"},         {"erf", "erfc"},          {"tgamma", "lgamma"},     {"minnum", "maxnum"},
};

// The base name, "sin" for sin, sinf and llvm.sin.f64; "" if the callee is no function of the C library.
static std::string baseName(const CallInst &Call) {
  const Function *F = Call.getCalledFunction();
  if (!F || !F->isDeclaration()) return "";
  StringRef Name = F->getName();
  if (Name.consume_front("llvm.")) return Name.split('.').first.str();
  if (Call.getType()->isFloatTy()) Name.consume_back("f");
  return Name.str();
}

// The callee with another name: a function of the library, or an intrinsic if the callee is one.
static FunctionCallee renamed(CallInst &Call, StringRef Other) {
  Function *F = Call.getCalledFunction();
  bool IsFloat = Call.getType()->isFloatTy();
  std::string Name = Other.str();
  if (Other == "minnum") Name = "fmin";
  if (Other == "maxnum") Name = "fmax";
  return F->getParent()->getOrInsertFunction(Name + (IsFloat ? "f" : ""), F->getFunctionType());
}

static void addRelated(std::vector<Mutant> &All, CallInst &Call, Variables &Names) {
  std::string Base = baseName(Call), Before = Names.textOf(&Call);
  bool IsScalar = Call.getType()->isDoubleTy() || Call.getType()->isFloatTy();
  for (auto &Group : Related) {
    if (Base.empty() || !IsScalar || !is_contained(Group, Base)) continue;
    for (StringRef Other : Group) {
      if (Other == Base) continue;
      Mutant M;
      M.Operator = "function";
      M.Text = Base + " → " + Other.str();
      M.IsPure = false;
      M.Emit = [&Call, Other = Other.str()](IRBuilder<> &B) -> Value * {
        SmallVector<Value *, 3> Args(Call.args());
        return B.CreateCall(renamed(Call, Other), Args);
      };
      All.push_back(std::move(M));
    }
    return;
  }
}

static void addSwapped(std::vector<Mutant> &All, CallInst &Call, Variables &Names) {
  if (isa<IntrinsicInst>(Call)) {
    if (baseName(Call) != "pow" && baseName(Call) != "copysign") return;
  }
  unsigned Swaps = 0;
  for (unsigned N = 0; N + 1 < Call.arg_size() && Swaps < 3; N++) {
    Value *L = Call.getArgOperand(N), *R = Call.getArgOperand(N + 1);
    if (L == R || L->getType() != R->getType() || L->getType()->isMetadataTy()) continue;
    Swaps++;
    Mutant M;
    M.Operator = "operand swap";
    M.Text = "arguments " + Names.textOf(L) + " and " + Names.textOf(R) + " of " + Names.textOf(&Call) + " swapped";
    M.IsPure = false;
    M.Emit = [&Call, N](IRBuilder<> &B) -> Value * {
      auto *Copy = cast<CallInst>(Call.clone());
      Copy->setArgOperand(N, Call.getArgOperand(N + 1));
      Copy->setArgOperand(N + 1, Call.getArgOperand(N));
      return B.Insert(Copy);
    };
    All.push_back(std::move(M));
  }
}

// The value that replaces a deleted call: the first argument of its type, else 0.
static Value *insteadOf(CallInst &Call) {
  for (Value *V : Call.args())
    if (V->getType() == Call.getType()) return V;
  return Constant::getNullValue(Call.getType());
}

static void addDeleted(std::vector<Mutant> &All, CallInst &Call, Variables &Names) {
  Type *T = Call.getType();
  bool IsNumber = T->isFloatingPointTy() || T->isIntegerTy();
  if (!T->isVoidTy() && !IsNumber) return;
  Mutant M;
  M.Operator = "call";
  M.Text = Names.textOf(&Call) + " deleted";
  M.IsPure = false;
  if (IsNumber) {
    M.Text = Names.textOf(&Call) + " → " + Names.textOf(insteadOf(Call));
    M.Emit = [&Call](IRBuilder<> &) { return insteadOf(Call); };
  }
  All.push_back(std::move(M));
}

// Intrinsics that compute a number; the others are memory, markers and debug information.
static bool isMath(const IntrinsicInst &Call) {
  return Call.getType()->isFloatingPointTy() && Call.arg_size() > 0 &&
         Call.getArgOperand(0)->getType() == Call.getType();
}

void addCallMutants(std::vector<Mutant> &All, CallInst &Call, Variables &Names) {
  if (Call.doesNotReturn() || Call.isInlineAsm() || Call.isMustTailCall() || Call.hasOperandBundles()) return;
  if (Call.hasFnAttr(Attribute::ReturnsTwice)) return;
  if (auto *Intrinsic = dyn_cast<IntrinsicInst>(&Call); Intrinsic && !isMath(*Intrinsic)) return;
  if (!Call.getCalledFunction() && !Call.getType()->isVoidTy()) return addDeleted(All, Call, Names);
  addRelated(All, Call, Names);
  addSwapped(All, Call, Names);
  addDeleted(All, Call, Names);
}

} // namespace pen::mutants
