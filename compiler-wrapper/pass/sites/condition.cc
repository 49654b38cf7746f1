// Traces the condition of a site back to its comparisons, and emits code that computes the branch distances.
//
// Each part of the condition has a pair {to_true, to_false} of distances. A comparison computes one; `!` exchanges its
// parts; `&&` adds the distances to true and takes the smaller distance to false; `||` does the reverse (the usual
// rules for branch distances).
#include "../plugin.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/IntrinsicInst.h"

namespace pen {
using namespace llvm;

namespace {

// A comparison of floats: an instruction, or the call of an intrinsic with -frounding-math and similar options.
struct FloatComparison {
  CmpInst::Predicate Predicate;
  Value *L, *R;

  static std::optional<FloatComparison> of(Value *V) {
    if (auto *Cmp = dyn_cast<FCmpInst>(V))
      return FloatComparison{Cmp->getPredicate(), Cmp->getOperand(0), Cmp->getOperand(1)};
    if (auto *Cmp = dyn_cast<ConstrainedFPCmpIntrinsic>(V))
      return FloatComparison{Cmp->getPredicate(), Cmp->getArgOperand(0), Cmp->getArgOperand(1)};
    return std::nullopt;
  }
};

// The operand of `__builtin_expect` or [[likely]], else null.
Value *expected(Value *V) {
  auto *Call = dyn_cast<IntrinsicInst>(V);
  if (!Call) return nullptr;
  bool Expects =
      Call->getIntrinsicID() == Intrinsic::expect || Call->getIntrinsicID() == Intrinsic::expect_with_probability;
  return Expects ? Call->getArgOperand(0) : nullptr;
}

class ConditionTracer {
public:
  ConditionTracer(Context &X, IRBuilder<> &B, Constant *Action = nullptr) : X(X), B(B), Action(Action) {}

  Value *pairOf(Value *V, unsigned Depth = 0) {
    if (auto *Known = dyn_cast<ConstantInt>(V)) return opaqueTruth(Known);
    if (Depth < MaxDepth && Leaves < MaxLeaves)
      if (Value *P = trace(V, Depth + 1)) return P;
    return opaqueTruth(V);
  }

  Value *truthPairOf(Value *V) { return V->getType()->isIntegerTy(1) ? pairOf(V) : truthOrCompare(V, 0); }

  static bool isTruthValue(Value *V) {
    if (V->getType()->isIntegerTy(1)) return true;
    if (auto *K = dyn_cast<ConstantInt>(V)) return K->getValue().ule(1);
    if (auto *Ext = dyn_cast<ZExtInst>(V)) return Ext->getSrcTy()->isIntegerTy(1);
    if (auto *Phi = dyn_cast<PHINode>(V))
      return all_of(Phi->incoming_values(), [](Value *In) { return !isa<PHINode>(In) && isTruthValue(In); });
    return false;
  }

private:
  static constexpr unsigned MaxDepth = 12, MaxLeaves = 16;
  Context &X;
  IRBuilder<> &B;
  Constant *Action; // of the site; null if the condition belongs to no site
  unsigned Leaves = 0;

  // The distances of a truth value that is constant on the path taken. The comparisons that chose the path are sites of
  // their own. Any other path counts as closer here, whatever the distance of its comparison.
  Value *decidedTruth(bool Truth) {
    return X.pairOf(B, X.Opaque, {X.u32(PEN_OPAQUE_DECIDED | (Truth ? PEN_OPAQUE_TRUE : 0))});
  }

  static_assert(PEN_OPAQUE_TRUE == 1, "an extended truth value is the flag");
  Value *opaqueTruth(Value *V) { return X.pairOf(B, X.Opaque, {B.CreateZExt(V, X.I32)}); }

  Value *inverted(Value *P) {
    if (CallInst *Call = X.comparisonCallOf(P)) {
      // The inverse comparison has the same distances, exchanged, and the pair remains that of one comparison.
      auto Predicate = CmpInst::Predicate(cast<ConstantInt>(Call->getArgOperand(1))->getZExtValue());
      Call->setArgOperand(1, X.u32(CmpInst::getInversePredicate(Predicate)));
      return P;
    }
    Value *Q = B.CreateInsertValue(P, B.CreateExtractValue(P, ToFalse), ToTrue);
    return B.CreateInsertValue(Q, B.CreateExtractValue(P, ToTrue), ToFalse);
  }

  Value *combined(FunctionCallee How, Value *P, Value *Q) {
    return X.pairOf(B, How, {B.CreateExtractValue(P, ToTrue), B.CreateExtractValue(P, ToFalse),
                             B.CreateExtractValue(Q, ToTrue), B.CreateExtractValue(Q, ToFalse)});
  }

  Value *trace(Value *V, unsigned Depth) {
    if (auto *Cmp = dyn_cast<ICmpInst>(V)) return traceIntegerComparison(Cmp, Depth);
    if (auto Cmp = FloatComparison::of(V)) return compareFloats(Cmp->Predicate, Cmp->L, Cmp->R);
    if (auto *Fr = dyn_cast<FreezeInst>(V)) return pairOf(Fr->getOperand(0), Depth);
    if (auto *Tr = dyn_cast<TruncInst>(V)) return traceTruth(Tr->getOperand(0), Depth, /*LowBitOnly=*/true);
    if (auto *Op = dyn_cast<BinaryOperator>(V)) return traceLogic(Op, Depth);
    if (auto *Sel = dyn_cast<SelectInst>(V)) return traceSelect(Sel, Depth);
    if (auto *Phi = dyn_cast<PHINode>(V)) return tracePhi(Phi, Depth);
    if (auto *Call = dyn_cast<CallInst>(V)) return traceCall(Call, Depth);
    return nullptr;
  }

  // Traces isnan and other class tests, functions that have a shadow, and comparisons of strings and memory.
  Value *traceCall(CallInst *Call, unsigned Depth) {
    if (Leaves >= MaxLeaves) return nullptr;
    if (Value *Inner = expected(Call); Inner && Inner->getType()->isIntegerTy(1)) return pairOf(Inner, Depth);
    if (Call->getIntrinsicID() == Intrinsic::is_fpclass)
      return traceFloatClass(Call->getArgOperand(0), Call->getArgOperand(1));
    if (comparesBytes(*Call)) {
      Leaves++;
      // A shadow writes no memory, so the operands do not change before its end.
      if (!Action) return bytesPairOf(X, B, *Call);
      return pairBehind(X, *Call, Action, [&](IRBuilder<> &Behind) { return bytesPairOf(X, Behind, *Call); });
    }
    Function *Callee = Call->getCalledFunction(); // null if the types differ
    auto Found = X.Shadows.find(Callee);
    if (Found == X.Shadows.end() || (Found->second.ReadsMemory && !Action)) return nullptr;
    Leaves++;
    SmallVector<Value *, 4> Args(Call->args());
    Function *Copy = Found->second.Copy;
    if (!Found->second.ReadsMemory) return X.pairOf(B, Copy, Args);
    return pairBehind(X, *Call, Action, [&](IRBuilder<> &Behind) { return X.pairOf(Behind, Copy, Args); });
  }

  Value *traceFloatClass(Value *V, Value *Classes) {
    Type *T = V->getType();
    if (!T->isDoubleTy() && !T->isFloatTy()) return nullptr;
    Leaves++;
    unsigned Bits = T->getPrimitiveSizeInBits();
    Value *Raw = B.CreateZExt(B.CreateBitCast(V, B.getIntNTy(Bits)), X.I64);
    return X.pairOf(B, X.FPClass, {Raw, X.u32(Bits), Classes});
  }

  Value *traceLogic(BinaryOperator *Op, unsigned Depth) {
    Value *L = Op->getOperand(0), *R = Op->getOperand(1);
    switch (Op->getOpcode()) {
    case Instruction::Xor:
      if (auto *One = dyn_cast<ConstantInt>(R); One && One->isOne()) return inverted(pairOf(L, Depth));
      return nullptr;
    case Instruction::And: return combined(X.And, pairOf(L, Depth), pairOf(R, Depth));
    case Instruction::Or: return combined(X.Or, pairOf(L, Depth), pairOf(R, Depth));
    default: return nullptr;
    }
  }

  // `a && b` and `a || b` as selects, and other selects of truth values.
  Value *traceSelect(SelectInst *Sel, unsigned Depth) {
    Value *C = Sel->getCondition();
    if (C->getType() != B.getInt1Ty()) return nullptr;
    if (auto *F = dyn_cast<ConstantInt>(Sel->getFalseValue()); F && F->isZero())
      return combined(X.And, pairOf(C, Depth), pairOf(Sel->getTrueValue(), Depth));
    if (auto *T = dyn_cast<ConstantInt>(Sel->getTrueValue()); T && T->isOne())
      return combined(X.Or, pairOf(C, Depth), pairOf(Sel->getFalseValue(), Depth));
    Value *P = pairOf(Sel->getTrueValue(), Depth), *Q = pairOf(Sel->getFalseValue(), Depth);
    return B.CreateSelect(C, P, Q);
  }

  // The pair of `V != 0` for an integer that consists of truth values, else null.
  Value *traceTruth(Value *V, unsigned Depth, bool LowBitOnly = false) {
    if (Depth >= MaxDepth) return nullptr;
    if (auto *Ext = dyn_cast<ZExtInst>(V)) return traceTruth(Ext->getOperand(0), Depth + 1, LowBitOnly);
    if (V->getType()->isIntegerTy(1)) return pairOf(V, Depth);
    if (auto *Fr = dyn_cast<FreezeInst>(V)) return traceTruth(Fr->getOperand(0), Depth + 1, LowBitOnly);
    if (auto *Ext = dyn_cast<SExtInst>(V)) return traceTruth(Ext->getOperand(0), Depth + 1, LowBitOnly);
    if (auto *Phi = dyn_cast<PHINode>(V); Phi && isTruth(Phi)) return tracePhi(Phi, Depth);
    if (LowBitOnly) return nullptr;
    if (Value *Inner = expected(V)) return truthOrCompare(Inner, Depth);
    if (auto *Call = dyn_cast<CallInst>(V)) return traceCall(Call, Depth);
    if (auto *Op = dyn_cast<BinaryOperator>(V)) {
      Value *L = Op->getOperand(0), *R = Op->getOperand(1);
      if (Op->getOpcode() == Instruction::Or) {
        if (Value *P = wholeOfWords(L, R)) return P;
        return combined(X.Or, truthOrCompare(L, Depth), truthOrCompare(R, Depth));
      }
      if (Op->getOpcode() == Instruction::Xor || Op->getOpcode() == Instruction::Sub)
        return compareIntegers(CmpInst::ICMP_NE, L, R);
      if (Op->getOpcode() == Instruction::And && isTruth(L) && isTruth(R))
        return combined(X.And, truthOrCompare(L, Depth), truthOrCompare(R, Depth));
    }
    return nullptr;
  }

  // The pair of `V != 0` for any integer.
  Value *truthOrCompare(Value *V, unsigned Depth) {
    if (Leaves < MaxLeaves)
      if (Value *P = traceTruth(V, Depth + 1)) return P;
    return compareIntegers(CmpInst::ICMP_NE, V, ConstantInt::get(V->getType(), 0));
  }

  // Recognises `((high - K) | low) != 0` with both words of one 64-bit value, which is a comparison of the whole value.
  // In the sum of two distances the low word would hide the high one, because it takes all its values while the high
  // word changes by one.
  Value *wholeOfWords(Value *L, Value *R) {
    std::optional<Words> Both = wordsOfOne(L, R);
    if (!Both) return nullptr;
    auto Joined = [&](Value *High, Value *Low) {
      return B.CreateOr(B.CreateShl(B.CreateSExt(High, X.I64), 32), B.CreateZExt(Low, X.I64));
    };
    const auto &[High, Low] = *Both;
    return compareIntegers(CmpInst::ICMP_NE, Joined(High.Left, Low.Left), Joined(High.Right, Low.Right));
  }

  // Whether an integer can only be 0 or 1.
  bool isTruth(Value *V) const {
    if (auto *Call = dyn_cast<CallInst>(V)) {
      auto Found = X.Shadows.find(Call->getCalledFunction());
      return Found != X.Shadows.end() && Found->second.IsTruth;
    }
    return isTruthValue(V);
  }

  static bool isCallThatComparesBytes(Value *V) {
    auto *Call = dyn_cast<CallInst>(V);
    return Call && comparesBytes(*Call);
  }

  Value *traceIntegerComparison(ICmpInst *Cmp, unsigned Depth) {
    Value *L = Cmp->getOperand(0), *R = Cmp->getOperand(1);
    if (Cmp->isEquality() && isa<ConstantInt>(L) && isCallThatComparesBytes(R)) std::swap(L, R); // `0 == strcmp(a, b)`
    auto *K = dyn_cast<ConstantInt>(R);
    if (Cmp->isEquality() && K) {
      bool Equal = Cmp->getPredicate() == CmpInst::ICMP_EQ;
      if (K->isZero())
        if (Value *P = traceTruth(L, Depth)) return Equal ? inverted(P) : P;
      if (K->isOne() && isTruth(L) && !isa<ConstantInt>(L))
        if (Value *P = traceTruth(L, Depth)) return Equal ? P : inverted(P);
      if (Value *P = traceFlags(L, K->getValue(), Depth)) return Equal ? P : inverted(P);
    }
    return compareIntegers(Cmp->getPredicate(), L, R);
  }

  // `f == 5` for truth values in the bits of `f`: the sum of the distances of these bits to the bits of 5.
  Value *traceFlags(Value *V, APInt Wanted, unsigned Depth) {
    SmallVector<Flag, 8> Found;
    if (!isa<BinaryOperator>(V) || !gatherFlags(V, 0, Found)) return nullptr;
    Value *All = nullptr;
    for (auto [Bit, Truth] : Found) {
      if (Bit >= Wanted.getBitWidth()) return nullptr;
      Value *P = pairOf(Truth, Depth);
      if (!Wanted[Bit]) P = inverted(P);
      Wanted.clearBit(Bit);
      All = All ? combined(X.And, All, P) : P;
    }
    return Wanted.isZero() ? All : nullptr;
  }

  // Emits one comparison. The signedness of the predicate decides how the operands are extended.
  Value *compareIntegers(CmpInst::Predicate Predicate, Value *L, Value *R) {
    if (L->getType()->isPointerTy()) {
      L = B.CreatePtrToInt(L, X.I64);
      R = B.CreatePtrToInt(R, X.I64);
    }
    if (!L->getType()->isIntegerTy()) return nullptr;
    if (L->getType()->getIntegerBitWidth() > 64) return compareWideIntegers(Predicate, L, R);
    Leaves++;
    bool Zero = CmpInst::isUnsigned(Predicate) || L->getType()->isIntegerTy(1);
    auto Wide = [&](Value *V) { return Zero ? B.CreateZExt(V, X.I64) : B.CreateSExt(V, X.I64); };
    return X.pairOf(B, X.ICmp, {X.u32(Predicate), Wide(L), Wide(R)});
  }

  // Compares integers of more than 64 bits, by two numbers with the same difference, limited to 63 bits.
  Value *compareWideIntegers(CmpInst::Predicate Predicate, Value *L, Value *R) {
    Leaves++;
    Type *T = L->getType();
    Value *Less = CmpInst::isSigned(Predicate) ? B.CreateICmpSLT(L, R) : B.CreateICmpULT(L, R);
    Value *Gap = B.CreateSelect(Less, B.CreateSub(R, L), B.CreateSub(L, R));
    Value *Most = ConstantInt::get(T, INT64_MAX), *Zero = ConstantInt::get(X.I64, 0);
    Value *Size = B.CreateTrunc(B.CreateSelect(B.CreateICmpULT(Gap, Most), Gap, Most), X.I64);
    return X.pairOf(B, X.ICmp, {X.u32(Predicate), B.CreateSelect(Less, Zero, Size), B.CreateSelect(Less, Size, Zero)});
  }

  // Compares floats of 80 and 128 bits by their upper 64 bits. A conversion to double would raise exceptions.
  Value *compareWideFloats(CmpInst::Predicate Predicate, Value *L, Value *R) {
    unsigned Bits = L->getType()->getPrimitiveSizeInBits();
    auto Upper = [&](Value *V) {
      return B.CreateTrunc(B.CreateLShr(B.CreateBitCast(V, B.getIntNTy(Bits)), Bits - 64), X.I64);
    };
    return X.pairOf(B, X.FCmpWide, {X.u32(Predicate), Upper(L), Upper(R), X.u32(Bits)});
  }

  Value *compareFloats(CmpInst::Predicate Predicate, Value *L, Value *R) {
    if (Predicate == CmpInst::FCMP_FALSE || Predicate == CmpInst::FCMP_TRUE) return nullptr;
    Type *T = L->getType();
    if (!T->isFloatingPointTy() || T->isPPC_FP128Ty()) return nullptr;
    Leaves++;
    if (T->isX86_FP80Ty() || T->isFP128Ty()) return compareWideFloats(Predicate, L, R);
    if (T->isFloatTy()) return X.pairOf(B, X.FCmp32, {X.u32(Predicate), L, R});
    auto Double = [&](Value *V) { return T->isDoubleTy() ? V : B.CreateFPCast(V, B.getDoubleTy()); };
    return X.pairOf(B, X.FCmp64, {X.u32(Predicate), Double(L), Double(R)});
  }

  // Traces a truth value that is computed in one of several blocks (`int both = a && b;`). Phis carry the operands of
  // each comparison to the merge, and one more phi holds the number of the predecessor that control came from.
  Value *tracePhi(PHINode *Phi, unsigned Depth) {
    unsigned N = Phi->getNumIncomingValues();
    if (N > 8 || Depth >= MaxDepth) return nullptr;
    IRBuilder<> AtMerge(Phi);
    PHINode *Way = AtMerge.CreatePHI(X.I32, N);
    // Predecessors from which the phi has the same value count as one, such as those after the branch on the last
    // operand of `a && b`.
    auto FirstLike = [&](unsigned I) { return Phi->getBasicBlockIndex(firstWayWith(Phi, Phi->getIncomingValue(I))); };
    for (unsigned I = 0; I < N; I++) Way->addIncoming(X.u32(FirstLike(I)), Phi->getIncomingBlock(I));
    Value *Pair = nullptr;
    for (unsigned I = 0; I < N; I++) {
      if (FirstLike(I) != int(I)) continue;
      Value *One = traceIncoming(Phi, I);
      if (!One) return nullptr;
      Pair = Pair ? B.CreateSelect(B.CreateICmpEQ(Way, X.u32(I)), One, Pair) : One;
    }
    return Pair;
  }

  static BasicBlock *firstWayWith(PHINode *Phi, Value *V) {
    return Phi->getIncomingBlock(find(Phi->incoming_values(), V) - Phi->incoming_values().begin());
  }

  // The pair of the value from the I-th predecessor; null if it cannot be traced.
  Value *traceIncoming(PHINode *Phi, unsigned I) {
    Value *In = Phi->getIncomingValue(I);
    bool Not = false;
    while (true) {
      if (auto *Ext = dyn_cast<ZExtInst>(In)) In = Ext->getOperand(0);
      else if (auto *Op = dyn_cast<BinaryOperator>(In);
               Op && Op->getOpcode() == Instruction::Xor && isa<ConstantInt>(Op->getOperand(1)) &&
               cast<ConstantInt>(Op->getOperand(1))->isOne()) {
        In = Op->getOperand(0);
        Not = !Not;
      } else break;
    }
    Value *Pair;
    if (auto *K = dyn_cast<ConstantInt>(In)) {
      Pair = decidedTruth(!K->isZero());
    } else if (In->getType()->isVectorTy() || Leaves >= MaxLeaves) {
      return nullptr;
    } else if (auto Cmp = FloatComparison::of(In)) {
      Pair = compareFloats(Cmp->Predicate, carriedToPhi(Phi, I, Cmp->L), carriedToPhi(Phi, I, Cmp->R));
    } else if (auto *Cmp = dyn_cast<ICmpInst>(In)) {
      Value *L = carriedToPhi(Phi, I, Cmp->getOperand(0)), *R = carriedToPhi(Phi, I, Cmp->getOperand(1));
      Pair = compareIntegers(Cmp->getPredicate(), L, R);
    } else {
      return nullptr;
    }
    if (!Pair) return nullptr;
    return Not ? inverted(Pair) : Pair;
  }

  // V, which is computed in the predecessor `Way`, as a phi next to this one; zero from the other predecessors.
  Value *carriedToPhi(PHINode *Phi, unsigned Way, Value *V) {
    if (isa<Constant>(V)) return V;
    IRBuilder<> AtMerge(Phi);
    PHINode *Copy = AtMerge.CreatePHI(V->getType(), Phi->getNumIncomingValues());
    for (unsigned I = 0; I < Phi->getNumIncomingValues(); I++) {
      // A block with several edges to the phi must have the same value on each. V is computed before the value of the
      // phi.
      bool Same = Phi->getIncomingBlock(I) == Phi->getIncomingBlock(Way) ||
                  Phi->getIncomingValue(I) == Phi->getIncomingValue(Way);
      Copy->addIncoming(Same ? V : Constant::getNullValue(V->getType()), Phi->getIncomingBlock(I));
    }
    return Copy;
  }
};

uint8_t operandClass(Type *T) {
  if (T->isFloatTy()) return PEN_OP_F32;
  if (T->isFloatingPointTy()) return PEN_OP_F64;
  if (T->isIntegerTy()) return PEN_OP_INT;
  return T->isPointerTy() ? PEN_OP_POINTER : PEN_OP_NONE;
}

// The truth value that is extended to `V`, else null.
Value *truthBehindExtensions(Value *V) {
  while (true) {
    if (Value *Inner = expected(V)) V = Inner;
    else if (isa<ZExtInst>(V) || isa<SExtInst>(V)) V = cast<CastInst>(V)->getOperand(0);
    else return V->getType()->isIntegerTy(1) ? V : nullptr;
  }
}

ComparedOperands operandsOfCondition(Value *V) {
  ComparedOperands S;
  bool Not = false;
  for (unsigned Step = 0; Step < 12; Step++) {
    if (auto *Cmp = dyn_cast<ICmpInst>(V)) {
      Value *L = Cmp->getOperand(0);
      auto *K = dyn_cast<ConstantInt>(Cmp->getOperand(1));
      if (Value *Truth = truthBehindExtensions(L); Truth && K && K->isZero()) {
        Not ^= Cmp->getPredicate() == CmpInst::ICMP_EQ;
        V = Truth;
        continue;
      }
      S.Predicate = Not ? Cmp->getInversePredicate() : Cmp->getPredicate();
      S.Operand = operandClass(L->getType());
      S.Width = L->getType()->isIntegerTy() ? std::min(L->getType()->getIntegerBitWidth(), 255u) : 0;
      S.Left = L;
      S.Right = Cmp->getOperand(1);
      return S;
    }
    if (auto Cmp = FloatComparison::of(V)) {
      S.Predicate = Not ? CmpInst::getInversePredicate(Cmp->Predicate) : Cmp->Predicate;
      S.Operand = operandClass(Cmp->L->getType());
      S.Left = Cmp->L;
      S.Right = Cmp->R;
      return S;
    }
    auto *Op = dyn_cast<BinaryOperator>(V);
    if (Value *Inner = expected(V)) {
      V = Inner;
    } else if (auto *Fr = dyn_cast<FreezeInst>(V)) {
      V = Fr->getOperand(0);
    } else if (Op && Op->getOpcode() == Instruction::Xor && isa<ConstantInt>(Op->getOperand(1))) {
      Not = !Not;
      V = Op->getOperand(0);
    } else if (auto *Cast = dyn_cast<CastInst>(V); Cast && (isa<TruncInst>(V) || isa<ZExtInst>(V))) {
      V = Cast->getOperand(0);
    } else if (isa<PHINode>(V) || isa<SelectInst>(V) || Op) {
      S.Operand = PEN_OP_MANY;
      return S;
    } else {
      return S;
    }
  }
  return S;
}

} // namespace

Value *emitPair(Context &X, IRBuilder<> &B, Value *Condition, Constant *Action) {
  return ConditionTracer(X, B, Action).pairOf(Condition);
}
Value *emitTruthPair(Context &X, IRBuilder<> &B, Value *V) { return ConditionTracer(X, B).truthPairOf(V); }
bool isTruthValue(Value *V) { return ConditionTracer::isTruthValue(V); }

ComparedOperands operandsOfSite(const Site &S) {
  Value *At = S.At;
  if (!At) return {};
  if (auto *Br = dyn_cast<BranchInst>(At)) return operandsOfCondition(Br->getCondition());
  if (auto *Sel = dyn_cast<SelectInst>(At)) return operandsOfCondition(Sel->getCondition());
  ComparedOperands Switched;
  Switched.Operand = PEN_OP_INT;
  if (auto *Sw = dyn_cast<SwitchInst>(At)) Switched.Width = Sw->getCondition()->getType()->getIntegerBitWidth();
  return Switched;
}

} // namespace pen
