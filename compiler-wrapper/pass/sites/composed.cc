// Integers that are composed of parts: the two 32-bit words of a 64-bit value, as libraries of elementary functions
// such as Fdlibm read a double, and truth values in the bits of a word.
#include "../plugin.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InstrTypes.h"

namespace pen {
using namespace llvm;

namespace {

// A word of a 64-bit value, as in `(high - K) | low`. It may be masked, and compared with a constant by a subtraction.
struct Word {
  Value *Whole = nullptr;
  bool High = false;
  Value *Left = nullptr, *Right = nullptr; // the operands of the comparison, 32 bits each
};

struct Words {
  Word High, Low;
};

BinaryOperator *withConstant(Value *V) {
  auto *Op = dyn_cast<BinaryOperator>(V);
  return Op && isa<ConstantInt>(Op->getOperand(1)) ? Op : nullptr;
}

Word wordOf(Value *V) {
  Word W;
  if (!V->getType()->isIntegerTy(32)) return W;
  W.Left = V;
  W.Right = ConstantInt::get(V->getType(), 0);
  if (auto *Op = withConstant(V)) {
    bool IsSum = Op->getOpcode() == Instruction::Add;
    if (IsSum || Op->getOpcode() == Instruction::Sub || Op->getOpcode() == Instruction::Xor) {
      W.Left = V = Op->getOperand(0);
      auto *K = cast<ConstantInt>(Op->getOperand(1));
      W.Right = IsSum ? ConstantInt::get(K->getType(), -K->getValue()) : K;
    }
  }
  if (auto *Op = withConstant(V); Op && Op->getOpcode() == Instruction::And) V = Op->getOperand(0);
  auto *Cut = dyn_cast<TruncInst>(V);
  if (!Cut || !Cut->getOperand(0)->getType()->isIntegerTy(64)) return W;
  W.Whole = Cut->getOperand(0);
  if (auto *Op = withConstant(W.Whole); Op && Op->getOpcode() == Instruction::LShr) {
    W.High = cast<ConstantInt>(Op->getOperand(1))->equalsInt(32);
    if (W.High) W.Whole = Op->getOperand(0);
  }
  // Each access to a word has a bitcast of its own.
  if (auto *Cast = dyn_cast<BitCastInst>(W.Whole)) W.Whole = Cast->getOperand(0);
  return W;
}

// The two words if L and R are the high and the low word of one value.
std::optional<Words> wordsOfOne(Value *L, Value *R) {
  Word P = wordOf(L), Q = wordOf(R);
  if (!P.Whole || P.Whole != Q.Whole || P.High == Q.High) return std::nullopt;
  return P.High ? Words{P, Q} : Words{Q, P};
}

// The number of a bit, and its truth value.
using Flag = std::pair<unsigned, Value *>;

// Whether `V << Shift` consists only of truth values in separate bits; appends them to `Found`.
bool gatherFlags(Value *V, unsigned Shift, SmallVectorImpl<Flag> &Found) {
  if (auto *Ext = dyn_cast<ZExtInst>(V); Ext && Ext->getSrcTy()->isIntegerTy(1)) {
    if (any_of(Found, [&](const Flag &F) { return F.first == Shift; })) return false;
    Found.push_back({Shift, Ext->getOperand(0)});
    return true;
  }
  if (auto *K = dyn_cast<ConstantInt>(V)) return K->isZero();
  auto *Op = dyn_cast<BinaryOperator>(V);
  if (!Op) return false;
  if (Op->getOpcode() == Instruction::Or)
    return gatherFlags(Op->getOperand(0), Shift, Found) && gatherFlags(Op->getOperand(1), Shift, Found);
  auto *By = dyn_cast<ConstantInt>(Op->getOperand(1));
  return Op->getOpcode() == Instruction::Shl && By && By->getValue().ult(64) &&
         gatherFlags(Op->getOperand(0), Shift + By->getZExtValue(), Found);
}

} // namespace

} // namespace pen
