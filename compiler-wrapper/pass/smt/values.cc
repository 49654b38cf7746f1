// Translates instructions that compute: their exact meaning, and when compilers may choose any value (poison).
#include "smt.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/GetElementPtrTypeIterator.h"
#include "llvm/IR/Operator.h"

namespace pen::smt {
using namespace llvm;

std::string Frame::place(const Instruction &I) const {
  const DebugLoc &L = I.getDebugLoc();
  return L && L.getLine() ? " at line " + std::to_string(L.getLine()) : " in " + F.getName().str();
}

Val Frame::unknown(const Instruction &I, const std::string &Why) { return X.fresh(I.getType(), Why + place(I)); }

Val Frame::valueOf(const Value *V) {
  Val Known = rawOf(V);
  if (Known.Undefined) Known.Poison = "true", Known.Undefined.reset();
  return Known;
}

Val Frame::rawOf(const Value *V) {
  if (auto Found = Values.find(V); Found != Values.end()) return Found->second;
  if (auto *A = dyn_cast<Argument>(V)) return Args[A->getArgNo()];
  if (auto *C = dyn_cast<Constant>(V)) return Values[V] = X.constant(C);
  // No translated path defines it.
  return X.fresh(V->getType(), "value without a definition");
}

void Frame::translate(const Instruction &I) {
  if (auto *Store = dyn_cast<StoreInst>(&I)) {
    noteEvent(I);
    Val Address = valueOf(Store->getPointerOperand());
    unsigned Size = X.Layout.getTypeStoreSize(Store->getValueOperand()->getType());
    if (Store->isSimple() && !Store->getValueOperand()->getType()->isVectorTy())
      X.store(Now, Address, valueOf(Store->getValueOperand()), Size);
    else
      X.forget(Now, Address, std::nullopt);
    return;
  }
  if (I.getType()->isVoidTy() && !isa<CallBase>(I)) {
    if (I.mayWriteToMemory()) noteEvent(I), X.forgetAll(Now);
    return;
  }
  Val V = compute(I);
  if (!I.getType()->isVoidTy()) Values[&I] = std::move(V);
}

static bool isCaptured(const Value &Address) {
  for (const User *U : Address.users()) {
    if (isa<LoadInst>(U) || isa<ICmpInst>(U)) continue;
    if (auto *Store = dyn_cast<StoreInst>(U); Store && Store->getValueOperand() != &Address) continue;
    if (auto *Call = dyn_cast<IntrinsicInst>(U);
        Call && (Call->isLifetimeStartOrEnd() || isa<MemIntrinsic>(Call) || isa<DbgInfoIntrinsic>(Call)))
      continue;
    if ((isa<GEPOperator>(U) || isa<BitCastOperator>(U)) && !isCaptured(*U)) continue;
    return true;
  }
  return false;
}

Val Frame::compute(const Instruction &I) {
  if (auto *Call = dyn_cast<CallBase>(&I)) return call(*Call);
  if (I.getType()->isVectorTy()) {
    if (I.mayWriteToMemory()) noteEvent(I), X.forgetAll(Now);
    return Val();
  }
  if (auto *Op = dyn_cast<BinaryOperator>(&I)) return I.getType()->isFloatingPointTy() ? floatBinary(*Op) : binary(*Op);
  if (auto *Cmp = dyn_cast<ICmpInst>(&I)) return compare(*Cmp);
  if (auto *Cmp = dyn_cast<FCmpInst>(&I))
    return compareFloats(I, Cmp->getPredicate(), I.getOperand(0), I.getOperand(1));
  if (auto *Cast = dyn_cast<CastInst>(&I)) return convert(*Cast);
  if (auto *Gep = dyn_cast<GetElementPtrInst>(&I)) return element(*Gep);
  if (auto *Load = dyn_cast<LoadInst>(&I)) {
    if (isFill(Load->getPointerOperand())) return X.constant(UndefValue::get(I.getType()));
    if (!Load->isSimple()) {
      noteEvent(I);
      X.forgetEscaped(Now);
      return unknown(I, "volatile memory");
    }
    return X.load(Now, valueOf(Load->getPointerOperand()), I.getType(), "memory" + place(I));
  }
  if (isa<AllocaInst>(I)) {
    Val V = X.shared([&] {
      unsigned Object = X.newObject({Object::Stack, isCaptured(I), nullptr});
      Term Address = X.S.fresh(Sort::bits(64), "address of a local variable");
      X.S.require(Address, apply("not", {apply("=", {Address, literal(APInt(64, 0))})}));
      return X.pointerTo(Object, Address);
    });
    Locals.push_back(V.Base);
    Now.Clean.insert(V.Base);
    return V;
  }
  if (I.getOpcode() == Instruction::FNeg) return signChanged(valueOf(I.getOperand(0)), "fp.neg", "bvxor", true);
  if (auto *Sel = dyn_cast<SelectInst>(&I)) {
    if (!Sel->getCondition()->getType()->isIntegerTy(1)) return unknown(I, "vector");
    return X.choose(conditionOf(I), valueOf(Sel->getTrueValue()), valueOf(Sel->getFalseValue()));
  }
  if (isa<FreezeInst>(I)) return X.resolved(valueOf(I.getOperand(0)), "undefined value" + place(I));
  if (auto *Extract = dyn_cast<ExtractValueInst>(&I)) {
    Val V = valueOf(Extract->getAggregateOperand());
    for (unsigned At : Extract->indices()) {
      if (V.K != Val::Aggregate || At >= V.Parts.size()) return unknown(I, "part of a value");
      Val Part = V.Parts[At];
      V = Part;
    }
    return V.K == Val::Unknown ? unknown(I, "part of a value") : V;
  }
  if (auto *Insert = dyn_cast<InsertValueInst>(&I)) {
    Val V = valueOf(Insert->getAggregateOperand());
    if (V.K != Val::Aggregate || Insert->getNumIndices() != 1 || Insert->getIndices()[0] >= V.Parts.size())
      return unknown(I, "part of a value");
    V.Parts[Insert->getIndices()[0]] = valueOf(Insert->getInsertedValueOperand());
    return V;
  }
  if (I.mayWriteToMemory()) noteEvent(I), X.forgetAll(Now);
  return unknown(I, std::string("instruction ") + I.getOpcodeName());
}

// The condition of a branch or select.
Term Frame::conditionOf(const Instruction &I) {
  if (auto Found = Conditions.find(&I); Found != Conditions.end()) return Found->second;
  const Value *Condition = isa<SelectInst>(I) ? cast<SelectInst>(I).getCondition() : cast<BranchInst>(I).getCondition();
  Val V = X.resolved(valueOf(Condition), "undefined behaviour" + place(I));
  Term Known = V.isBool() ? V.Text : X.S.fresh(Sort::boolean(), "condition" + place(I));
  return Conditions[&I] = Known;
}

static Term zero(unsigned Width) { return literal(APInt(Width, 0)); }

// Whether a signed sum, difference or product exceeds its type.
static Term overflows(Script &S, StringRef Op, const Term &A, const Term &B, unsigned Width, bool Signed) {
  unsigned More = Op == "bvmul" ? Width : 1;
  Term Extend = indexed(Signed ? "sign_extend" : "zero_extend", {More});
  Term Wide =
      S.define(Sort::bits(Width + More), apply(Op, {"(" + Extend + " " + A + ")", "(" + Extend + " " + B + ")"}));
  Term Narrow = "(" + Extend + " " + apply(Op, {A, B}) + ")";
  return S.defineBool(apply("not", {apply("=", {Wide, Narrow})}));
}

// Logical operations on truth values.
static std::optional<Term> logical(unsigned Opcode, const Term &A, const Term &B) {
  switch (Opcode) {
  case Instruction::And: return both(A, B);
  case Instruction::Or: return either(A, B);
  case Instruction::Xor: return B == "true" ? negate(A) : apply("xor", {A, B});
  }
  return std::nullopt;
}

static const char *operatorOf(unsigned Opcode) {
  switch (Opcode) {
  case Instruction::Add: return "bvadd";
  case Instruction::Sub: return "bvsub";
  case Instruction::Mul: return "bvmul";
  case Instruction::UDiv: return "bvudiv";
  case Instruction::SDiv: return "bvsdiv";
  case Instruction::URem: return "bvurem";
  case Instruction::SRem: return "bvsrem";
  case Instruction::Shl: return "bvshl";
  case Instruction::LShr: return "bvlshr";
  case Instruction::AShr: return "bvashr";
  case Instruction::And: return "bvand";
  case Instruction::Or: return "bvor";
  case Instruction::Xor: return "bvxor";
  }
  return nullptr;
}

Val Frame::binary(const BinaryOperator &I) {
  Val L = rawOf(I.getOperand(0)), R = rawOf(I.getOperand(1));
  if (L.Undefined || R.Undefined) return bitwise(I);
  return onBits(I, L, R);
}

// A union that is written in parts starts as undefined bits; the code that joins the parts masks them out.
Val Frame::bitwise(const BinaryOperator &I) {
  Val L = rawOf(I.getOperand(0)), R = rawOf(I.getOperand(1));
  auto *Known = dyn_cast<ConstantInt>(I.getOperand(1));
  APInt Zero(L.S.Width, 0), Bits = L.Undefined.value_or(Zero) | R.Undefined.value_or(Zero);
  switch (I.getOpcode()) {
  case Instruction::And:
    if (Known) Bits &= Known->getValue();
    break;
  case Instruction::Or:
    if (Known) Bits &= ~Known->getValue();
    break;
  case Instruction::Xor: break;
  case Instruction::Shl:
  case Instruction::LShr:
    if (!Known || Known->getValue().uge(L.S.Width))
      return onBits(I, valueOf(I.getOperand(0)), valueOf(I.getOperand(1)));
    Bits = I.getOpcode() == Instruction::Shl ? Bits.shl(Known->getValue()) : Bits.lshr(Known->getValue());
    break;
  default: return onBits(I, valueOf(I.getOperand(0)), valueOf(I.getOperand(1)));
  }
  Val V = onBits(I, L, R);
  if (!Bits.isZero()) V.Undefined = Bits;
  return V;
}

Val Frame::onBits(const BinaryOperator &I, const Val &L, const Val &R) {
  Term Poison = X.S.defineBool(either(L.Poison, R.Poison));
  if (L.isBool() && R.isBool()) {
    std::optional<Term> T = logical(I.getOpcode(), L.Text, R.Text);
    return T ? Val::scalar(L.S, X.S.defineBool(*T), Poison) : unknown(I, "operation on truth values");
  }
  const char *Op = operatorOf(I.getOpcode());
  if (!L.isBits() || !R.isBits() || !Op) return unknown(I, std::string("operation ") + I.getOpcodeName());
  unsigned Width = L.S.Width;
  auto Add = [&](const Term &When) { Poison = X.S.defineBool(either(Poison, When)); };
  if (auto *Overflowing = dyn_cast<OverflowingBinaryOperator>(&I)) {
    if (I.getOpcode() == Instruction::Shl) {
      Term Shifted = apply("bvshl", {L.Text, R.Text});
      if (Overflowing->hasNoSignedWrap())
        Add(apply("not", {apply("=", {apply("bvashr", {Shifted, R.Text}), L.Text})}));
      if (Overflowing->hasNoUnsignedWrap())
        Add(apply("not", {apply("=", {apply("bvlshr", {Shifted, R.Text}), L.Text})}));
    } else {
      if (Overflowing->hasNoSignedWrap()) Add(overflows(X.S, Op, L.Text, R.Text, Width, true));
      if (Overflowing->hasNoUnsignedWrap()) Add(overflows(X.S, Op, L.Text, R.Text, Width, false));
    }
  }
  auto *Known = dyn_cast<ConstantInt>(I.getOperand(1));
  if (I.isShift() && !(Known && Known->getValue().ult(Width)))
    Add(apply("bvuge", {R.Text, literal(APInt(Width, Width))}));
  if (I.getOpcode() != Instruction::Xor && !isa<OverflowingBinaryOperator>(I) && I.hasPoisonGeneratingFlags() &&
      !I.isShift() && !I.isIntDivRem())
    return unknown(I, "operation with a promise");
  if (auto *Exact = dyn_cast<PossiblyExactOperator>(&I); Exact && Exact->isExact()) Add("true");
  if (I.isIntDivRem() && !(Known && !Known->isZero() && !Known->isMinusOne())) {
    Add(apply("=", {R.Text, zero(Width)}));
    if (I.getOpcode() == Instruction::SDiv || I.getOpcode() == Instruction::SRem)
      Add(both(apply("=", {L.Text, literal(APInt::getSignedMinValue(Width))}),
               apply("=", {R.Text, literal(APInt::getAllOnes(Width))})));
  }
  return Val::scalar(L.S, X.S.define(L.S, apply(Op, {L.Text, R.Text})), Poison);
}

Val Frame::floatBinary(const BinaryOperator &I) {
  return arithmetic(I, I.getOpcode(), I.getOperand(0), I.getOperand(1), X.mode(place(I)));
}

static bool hasFastMath(const Instruction &I) {
  auto *Op = dyn_cast<FPMathOperator>(&I);
  return Op && Op->getFastMathFlags().any();
}

// x87 rounds to the precision of its control word, and other modes of subnormals give other results.
bool Frame::isExact(const Instruction &I) const {
  if (hasFastMath(I)) return false;
  if (F.getFnAttribute("denormal-fp-math").isValid() &&
      F.getFnAttribute("denormal-fp-math").getValueAsString() != "ieee,ieee")
    return false;
  return X.HasExactFloats;
}

Val Frame::arithmetic(const Instruction &I, unsigned Opcode, const Value *Left, const Value *Right, const Term &Mode) {
  Val L = valueOf(Left), R = valueOf(Right);
  if (!isExact(I) || !L.isFloat() || !R.isFloat()) return unknown(I, "fast floating-point arithmetic");
  const char *Op = Opcode == Instruction::FAdd   ? "fp.add"
                   : Opcode == Instruction::FSub ? "fp.sub"
                   : Opcode == Instruction::FMul ? "fp.mul"
                   : Opcode == Instruction::FDiv ? "fp.div"
                                                 : nullptr;
  if (!Op) return unknown(I, "remainder");
  Term Poison = X.S.defineBool(either(L.Poison, R.Poison));
  Val Result = Val::scalar(L.S, X.S.define(L.S, apply(Op, {Mode, X.floatOf(L), X.floatOf(R)})), Poison);
  X.notePayload(Result, {L, R});
  return Result;
}

// Negation, magnitude and similar operations on the sign bit, also of a NaN.
Val Frame::signChanged(const Val &V, StringRef OnFloats, StringRef OnBits, bool Sign) {
  Val Changed = Val::scalar(V.S, "", V.Poison);
  if (!V.isFloat()) return Val();
  if (!V.Bits.empty()) {
    APInt Mask = APInt::getSignMask(V.S.Width);
    Changed.Bits = X.S.define(Sort::bits(V.S.Width), apply(OnBits, {V.Bits, literal(Sign ? Mask : ~Mask)}));
  } else {
    Changed.Text = X.S.define(V.S, apply(OnFloats, {V.Text}));
    X.notePayload(Changed, V);
  }
  return Changed;
}

Val Frame::compareFloats(const Instruction &I, unsigned Predicate, const Value *Left, const Value *Right) {
  Val L = valueOf(Left), R = valueOf(Right);
  if (!isExact(I) || !L.isFloat() || !R.isFloat()) return unknown(I, "fast floating-point comparison");
  Term A = X.floatOf(L), B = X.floatOf(R), T;
  Term Unordered = either(apply("fp.isNaN", {A}), apply("fp.isNaN", {B}));
  switch (Predicate) {
  case CmpInst::FCMP_FALSE: T = "false"; break;
  case CmpInst::FCMP_TRUE: T = "true"; break;
  case CmpInst::FCMP_OEQ: T = apply("fp.eq", {A, B}); break;
  case CmpInst::FCMP_OGT: T = apply("fp.gt", {A, B}); break;
  case CmpInst::FCMP_OGE: T = apply("fp.geq", {A, B}); break;
  case CmpInst::FCMP_OLT: T = apply("fp.lt", {A, B}); break;
  case CmpInst::FCMP_OLE: T = apply("fp.leq", {A, B}); break;
  case CmpInst::FCMP_ONE: T = both(negate(Unordered), negate(apply("fp.eq", {A, B}))); break;
  case CmpInst::FCMP_ORD: T = negate(Unordered); break;
  case CmpInst::FCMP_UNO: T = Unordered; break;
  case CmpInst::FCMP_UEQ: T = either(Unordered, apply("fp.eq", {A, B})); break;
  case CmpInst::FCMP_UGT: T = negate(apply("fp.leq", {A, B})); break;
  case CmpInst::FCMP_UGE: T = negate(apply("fp.lt", {A, B})); break;
  case CmpInst::FCMP_ULT: T = negate(apply("fp.geq", {A, B})); break;
  case CmpInst::FCMP_ULE: T = negate(apply("fp.gt", {A, B})); break;
  case CmpInst::FCMP_UNE: T = negate(apply("fp.eq", {A, B})); break;
  default: return unknown(I, "comparison");
  }
  return Val::scalar(Sort::boolean(), X.S.defineBool(T), X.S.defineBool(either(L.Poison, R.Poison)));
}

static Term comparison(CmpInst::Predicate P, const Term &A, const Term &B) {
  switch (P) {
  case CmpInst::ICMP_EQ: return apply("=", {A, B});
  case CmpInst::ICMP_NE: return negate(apply("=", {A, B}));
  case CmpInst::ICMP_UGT: return apply("bvugt", {A, B});
  case CmpInst::ICMP_UGE: return apply("bvuge", {A, B});
  case CmpInst::ICMP_ULT: return apply("bvult", {A, B});
  case CmpInst::ICMP_ULE: return apply("bvule", {A, B});
  case CmpInst::ICMP_SGT: return apply("bvsgt", {A, B});
  case CmpInst::ICMP_SGE: return apply("bvsge", {A, B});
  case CmpInst::ICMP_SLT: return apply("bvslt", {A, B});
  default: return apply("bvsle", {A, B});
  }
}

Val Frame::compare(const ICmpInst &I) {
  Val L = valueOf(I.getOperand(0)), R = valueOf(I.getOperand(1));
  Term Poison = X.S.defineBool(either(L.Poison, R.Poison));
  if (I.hasPoisonGeneratingFlags()) return unknown(I, "comparison with a promise");
  if (L.K == Val::Pointer && R.K == Val::Pointer) {
    // Compilers may assume that no address wraps around.
    bool IsPlain = I.isEquality() && L.Offset && R.Offset;
    if (!IsPlain) return unknown(I, "comparison of addresses");
    return Val::scalar(Sort::boolean(), X.S.defineBool(comparison(I.getPredicate(), L.Text, R.Text)), Poison);
  }
  if (L.isBool() && R.isBool()) {
    if (!I.isEquality()) return compareBits(I, X.bitsOf(L), X.bitsOf(R), Poison);
    Term Equal = R.Text == "true" ? L.Text : R.Text == "false" ? negate(L.Text) : apply("=", {L.Text, R.Text});
    return Val::scalar(Sort::boolean(), X.S.defineBool(I.getPredicate() == CmpInst::ICMP_EQ ? Equal : negate(Equal)),
                       Poison);
  }
  if (!L.isBits() || !R.isBits()) return unknown(I, "comparison");
  return compareBits(I, L.Text, R.Text, Poison);
}

Val Frame::compareBits(const ICmpInst &I, const Term &A, const Term &B, const Term &Poison) {
  return Val::scalar(Sort::boolean(), X.S.defineBool(comparison(I.getPredicate(), A, B)), Poison);
}

Val Frame::element(const GetElementPtrInst &I) {
  Val Base = valueOf(I.getPointerOperand());
  if (Base.K != Val::Pointer) return unknown(I, "address");
  APInt Constant(64, 0);
  if (I.accumulateConstantOffset(X.Layout, Constant))
    return X.pointerInto(Base, Constant.getSExtValue(), literal(Constant));
  Term Offset = zero(64);
  for (auto Step = gep_type_begin(I), End = gep_type_end(I); Step != End; ++Step) {
    Value *Index = Step.getOperand();
    if (StructType *Struct = Step.getStructTypeOrNull()) {
      uint64_t At = X.Layout.getStructLayout(Struct)->getElementOffset(cast<ConstantInt>(Index)->getZExtValue());
      Offset = X.S.define(Sort::bits(64), apply("bvadd", {Offset, literal(APInt(64, At))}));
      continue;
    }
    Val By = valueOf(Index);
    if (!By.isBits() || By.S.Width > 64) return unknown(I, "address");
    Term Wide = By.S.Width == 64 ? By.Text : "(" + indexed("sign_extend", {64 - By.S.Width}) + " " + By.Text + ")";
    Term Stride = literal(APInt(64, X.Layout.getTypeAllocSize(Step.getIndexedType()).getFixedValue()));
    Offset = X.S.define(Sort::bits(64), apply("bvadd", {Offset, apply("bvmul", {Wide, Stride})}));
    Base.Poison = X.S.defineBool(either(Base.Poison, By.Poison));
  }
  return X.pointerInto(Base, std::nullopt, Offset);
}

} // namespace pen::smt
