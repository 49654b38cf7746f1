// Makes an integer division that traps on the processor trap in the campaign, too. Such a division is undefined
// behaviour: at -O2 the optimizer removes it if its quotient is not used, or moves it after a branch. Then an input
// returns normally in the campaign, although the emitted test, compiled at -O0, crashes on it. So the operands are
// compared before each division, and the trap is explicit.
//
// Only on x86-64: other processors do not trap.
#include "../plugin.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#if __has_include("llvm/TargetParser/Triple.h")
#include "llvm/TargetParser/Triple.h"
#else
#include "llvm/ADT/Triple.h"
#endif

namespace pen {
using namespace llvm;

static bool isSignedDivision(const Instruction &I) {
  return I.getOpcode() == Instruction::SDiv || I.getOpcode() == Instruction::SRem;
}

static bool mayTrap(const Instruction &I) {
  if (!isSignedDivision(I) && I.getOpcode() != Instruction::UDiv && I.getOpcode() != Instruction::URem) return false;
  if (!I.getType()->isIntegerTy()) return false;
  auto *Divisor = dyn_cast<ConstantInt>(I.getOperand(1));
  return !Divisor || Divisor->isZero();
}

// Whether the divisor is 0, or the quotient is one more than the largest integer.
static Value *traps(IRBuilder<> &B, Instruction &I) {
  Value *Dividend = I.getOperand(0), *Divisor = I.getOperand(1);
  Type *T = I.getType();
  Value *IsZero = B.CreateICmpEQ(Divisor, ConstantInt::get(T, 0));
  unsigned Bits = T->getIntegerBitWidth();
  if (!isSignedDivision(I) || (Bits != 32 && Bits != 64)) return IsZero;
  Value *IsLeast = B.CreateICmpEQ(Dividend, ConstantInt::get(T, APInt::getSignedMinValue(Bits)));
  Value *IsMinusOne = B.CreateICmpEQ(Divisor, ConstantInt::getSigned(T, -1));
  return B.CreateOr(IsZero, B.CreateAnd(IsLeast, IsMinusOne));
}

void keepDivisionTraps(Context &X, Function &F) {
  if (Triple(X.M.getTargetTriple()).getArch() != Triple::x86_64) return;
  SmallVector<Instruction *, 8> Divisions;
  for (Instruction &I : instructions(F))
    if (mayTrap(I)) Divisions.push_back(&I);
  auto *Trap = InlineAsm::get(FunctionType::get(Type::getVoidTy(X.C), false), "xorl %eax, %eax\n\tdivl %eax",
                              "~{eax},~{edx},~{dirflag},~{fpsr},~{flags}", true);
  for (Instruction *I : Divisions) {
    IRBuilder<> B(I);
    Instruction *Then =
        SplitBlockAndInsertIfThen(traps(B, *I), I, true, MDBuilder(X.C).createBranchWeights(1, 1 << 20));
    CallInst *Call = IRBuilder<>(Then).CreateCall(Trap);
    Call->setDebugLoc(I->getDebugLoc());
    Call->addFnAttr(Attribute::NoMerge);
  }
}

} // namespace pen
