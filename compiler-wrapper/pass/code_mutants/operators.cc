// Mutation operators for comparisons, arithmetic, constants, stores and assignments.
#include "code_mutants.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Intrinsics.h"

#include <cmath>

namespace pen::mutants {
using namespace llvm;

StringRef symbolOf(unsigned Opcode);
StringRef symbolOf(CmpInst::Predicate P);

static std::string arrow(const std::string &From, const std::string &To) { return From + " → " + To; }

// A pure mutant.
static Mutant mutant(StringRef Operator, const std::string &Text, std::function<Value *(IRBuilder<> &)> Emit) {
  Mutant M;
  M.Operator = Operator.str();
  M.Text = Text;
  M.Emit = std::move(Emit);
  return M;
}

// ---- constants ---------------------------------------------------------------------------------------------------

// Relative changes of floating-point constants, as powers of 2: a large one, and one in the last third of a double's
// digits.
constexpr int Gross = 8, Fine = 30;

static Constant *scaled(const ConstantFP *K, int Exponent, bool Up) {
  double Factor = 1 + (Up ? 1 : -1) * std::ldexp(1, -Exponent);
  bool Lossy;
  APFloat F(Factor);
  F.convert(K->getValueAPF().getSemantics(), APFloat::rmNearestTiesToEven, &Lossy);
  APFloat V = K->getValueAPF();
  V.multiply(F, APFloat::rmNearestTiesToEven);
  return ConstantFP::get(K->getContext(), V);
}

static void changesOf(const ConstantFP *K, std::vector<Constant *> &All) {
  APFloat Up = K->getValueAPF(), Down = Up, Negated = Up;
  Negated.changeSign();
  if (!K->isZero()) All.push_back(ConstantFP::get(K->getContext(), Negated));
  else All.push_back(ConstantFP::get(K->getType(), 1));
  if (!Up.isFinite()) return;
  bool HasFine = K->getType()->isDoubleTy();
  for (int Exponent : {Gross, Fine})
    if (!K->isZero() && (Exponent == Gross || HasFine))
      for (bool IsUp : {true, false}) All.push_back(scaled(K, Exponent, IsUp));
  Up.next(false);
  Down.next(true);
  All.push_back(ConstantFP::get(K->getContext(), Up));
  All.push_back(ConstantFP::get(K->getContext(), Down));
}

static void changesOf(const ConstantInt *K, std::vector<Constant *> &All) {
  if (K->getBitWidth() == 1) return;
  All.push_back(ConstantInt::get(K->getContext(), K->getValue() + 1));
  All.push_back(ConstantInt::get(K->getContext(), K->getValue() - 1));
  if (!K->isZero() && !K->isOne() && !K->isMinusOne()) All.push_back(ConstantInt::get(K->getContext(), -K->getValue()));
}

// The constants that replace this one.
static std::vector<Constant *> changesOf(Value *V) {
  std::vector<Constant *> All;
  if (auto *K = dyn_cast<ConstantInt>(V); K && K->getBitWidth() <= 64) changesOf(K, All);
  if (auto *K = dyn_cast<ConstantFP>(V); K && !K->isNaN() && (K->getType()->isDoubleTy() || K->getType()->isFloatTy()))
    changesOf(K, All);
  erase_if(All, [&](Constant *Other) { return Other == V; }); // the smallest integer is its own negation
  return All;
}

static bool isShift(const Instruction &I) {
  auto *Op = dyn_cast<BinaryOperator>(&I);
  return Op && Op->isShift();
}

// The constants that replace an operand. Shifts by the width of the type or more are excluded, because they are
// undefined.
static std::vector<Constant *> changesOf(const Instruction &I, unsigned Operand) {
  std::vector<Constant *> All = changesOf(I.getOperand(Operand));
  if (isShift(I) && Operand == 1)
    erase_if(All, [&](Constant *C) { return cast<ConstantInt>(C)->getValue().uge(I.getType()->getIntegerBitWidth()); });
  return All;
}

std::vector<Mutant> mutantsOfConstant(Instruction &I, unsigned Operand, Variables &Names) {
  std::vector<Mutant> All;
  Value *V = I.getOperand(Operand);
  for (Constant *Other : changesOf(V))
    All.push_back(
        mutant("constant", arrow(Names.textOf(V), Names.textOf(Other)), [Other](IRBuilder<> &) { return Other; }));
  return All;
}

// ---- comparisons ----------------------------------------------------------------------------------------------------

// The cases of a predicate of integers, as bits like enum pen_predicate_bit: it holds for equal, greater, less
// operands.
static unsigned casesOf(CmpInst::Predicate P) {
  switch (P) {
    case CmpInst::ICMP_EQ: return 1;
    case CmpInst::ICMP_NE: return 6;
    case CmpInst::ICMP_UGT: case CmpInst::ICMP_SGT: return 2;
    case CmpInst::ICMP_UGE: case CmpInst::ICMP_SGE: return 3;
    case CmpInst::ICMP_ULT: case CmpInst::ICMP_SLT: return 4;
    default: return 5;
  }
}

static CmpInst::Predicate predicateOf(unsigned Cases, bool IsUnsigned) {
  switch (Cases) {
    case 1: return CmpInst::ICMP_EQ;
    case 6: return CmpInst::ICMP_NE;
    case 2: return IsUnsigned ? CmpInst::ICMP_UGT : CmpInst::ICMP_SGT;
    case 3: return IsUnsigned ? CmpInst::ICMP_UGE : CmpInst::ICMP_SGE;
    case 4: return IsUnsigned ? CmpInst::ICMP_ULT : CmpInst::ICMP_SLT;
    default: return IsUnsigned ? CmpInst::ICMP_ULE : CmpInst::ICMP_SLE;
  }
}

static bool isTruth(Value *V) { return !isa<Constant>(V) && isTruthValue(V); }

// The predicates that replace that of C, those next to it first.
static SmallVector<CmpInst::Predicate, 6> otherPredicates(const CmpInst &C) {
  CmpInst::Predicate P = C.getPredicate();
  using List = SmallVector<CmpInst::Predicate, 6>;
  if (C.getOperand(0)->getType()->isPointerTy()) return C.isEquality() ? List{C.getInversePredicate()} : List{};
  if (isa<ICmpInst>(C)) {
    if (isTruth(C.getOperand(0)) || C.getOperand(0)->getType()->isIntegerTy(1)) return {C.getInversePredicate()};
    List All;
    for (unsigned Changed : {1, 2, 4, 7, 3, 5, 6}) // the boundary first
      if (unsigned Cases = casesOf(P) ^ Changed; Cases != 0 && Cases != 7)
        All.push_back(predicateOf(Cases, CmpInst::isUnsigned(P)));
    return All;
  }
  // The predicates for which C has operators.
  const CmpInst::Predicate OfC[] = {CmpInst::FCMP_OLT, CmpInst::FCMP_OLE, CmpInst::FCMP_OGT,
                                    CmpInst::FCMP_OGE, CmpInst::FCMP_OEQ, CmpInst::FCMP_UNE};
  if (!is_contained(OfC, P)) return {C.getInversePredicate()};
  List All;
  if (P != CmpInst::FCMP_UNE && P != CmpInst::FCMP_OEQ) All.push_back(CmpInst::Predicate(P ^ CmpInst::FCMP_OEQ));
  for (CmpInst::Predicate Other : OfC)
    if (Other != P && !is_contained(All, Other)) All.push_back(Other);
  return All;
}

static void addPredicates(std::vector<Mutant> &All, CmpInst &C, Variables &Names) {
  std::string L = Names.textOf(C.getOperand(0)), R = Names.textOf(C.getOperand(1));
  CmpInst::Predicate P = C.getPredicate();
  auto Text = [&](CmpInst::Predicate Q) { return L + " " + symbolOf(Q).str() + " " + R; };
  for (CmpInst::Predicate Q : otherPredicates(C)) {
    Mutant M = mutant("comparison", arrow(Text(P), Text(Q)),
                      [&C, Q](IRBuilder<> &B) { return B.CreateCmp(Q, C.getOperand(0), C.getOperand(1)); });
    bool IsInt = isa<ICmpInst>(C);
    unsigned Cases = IsInt ? casesOf(P) ^ casesOf(Q) : unsigned(P) ^ unsigned(Q);
    M.AlwaysDiffers = Cases == (IsInt ? 7u : unsigned(CmpInst::FCMP_TRUE));
    if (!M.AlwaysDiffers) M.Differs = IsInt ? predicateOf(Cases, CmpInst::isUnsigned(P)) : CmpInst::Predicate(Cases);
    All.push_back(std::move(M));
  }
}

// Changes the bound of a loop by one.
static void addBounds(std::vector<Mutant> &All, CmpInst &C, Variables &Names) {
  Value *Bound = C.getOperand(1);
  if (!Bound->getType()->isIntegerTy() || Bound->getType()->isIntegerTy(1) || isa<Constant>(Bound) || C.isEquality())
    return;
  std::string Before =
      Names.textOf(C.getOperand(0)) + " " + symbolOf(C.getPredicate()).str() + " " + Names.textOf(Bound);
  for (int Step : {1, -1})
    All.push_back(
        mutant("loop bound", arrow(Before, Before + (Step > 0 ? " + 1" : " - 1")), [&C, Step](IRBuilder<> &B) {
          Value *Moved = B.CreateAdd(C.getOperand(1), ConstantInt::getSigned(C.getOperand(1)->getType(), Step));
          return B.CreateCmp(C.getPredicate(), C.getOperand(0), Moved);
        }));
}

// ---- operands ---------------------------------------------------------------------------------------------------

// The instruction with another operand. It must be pure; flags that the operand could violate are dropped.
static Value *withOperand(IRBuilder<> &B, Instruction &I, unsigned Operand, Value *V) {
  Instruction *Copy = I.clone();
  Copy->dropPoisonGeneratingFlags();
  Copy->setOperand(Operand, V);
  return B.Insert(Copy);
}

// The number of variables that replace an operand.
constexpr unsigned Replacements = 2;

static void addOperands(std::vector<Mutant> &All, Instruction &I, Variables &Names, bool IsPure) {
  for (unsigned N = 0; N < 2; N++) {
    Value *V = I.getOperand(N);
    for (Constant *Other : isa<CmpInst>(I) && isTruth(I.getOperand(0)) ? std::vector<Constant *>() : changesOf(I, N)) {
      Mutant M = mutant("constant", arrow(Names.textOf(V), Names.textOf(Other)) + " in " + Names.operationOf(I),
                        [&I, N, Other](IRBuilder<> &B) { return withOperand(B, I, N, Other); });
      M.IsPure = IsPure;
      All.push_back(std::move(M));
    }
  }
  for (unsigned N = 0; N < 2; N++) {
    Value *V = I.getOperand(N);
    bool IsNumber = V->getType()->isFloatingPointTy() || (V->getType()->isIntegerTy() && !V->getType()->isIntegerTy(1));
    if (isa<Constant>(V) || !IsNumber) continue;
    unsigned Left = Replacements;
    for (auto &[Name, Other] : Names.othersLike(V, &I)) {
      if (static_cast<Value *>(Other) == I.getOperand(1 - N) && N == 1) continue; // a + a once, not twice
      if (Left-- == 0) break;
      Mutant M = mutant("variable", arrow(Names.textOf(V), Name) + " in " + Names.operationOf(I),
                        [&I, N, Now = WeakTrackingVH(Other)](IRBuilder<> &B) { return withOperand(B, I, N, Now); });
      M.IsPure = IsPure;
      All.push_back(std::move(M));
    }
  }
}

// ---- arithmetic -------------------------------------------------------------------------------------------------

static SmallVector<Instruction::BinaryOps, 4> otherOperations(const BinaryOperator &Op) {
  using List = SmallVector<Instruction::BinaryOps, 4>;
  auto Without = [&](List All) {
    erase_if(All, [&](auto Other) { return Other == Op.getOpcode(); });
    return All;
  };
  switch (Op.getOpcode()) {
    case Instruction::FAdd: case Instruction::FSub: case Instruction::FMul: case Instruction::FDiv:
      return Without({Instruction::FAdd, Instruction::FSub, Instruction::FMul, Instruction::FDiv});
    case Instruction::Add: case Instruction::Sub: case Instruction::Mul:
      return Without({Instruction::Add, Instruction::Sub, Instruction::Mul, Instruction::SDiv});
    case Instruction::SDiv: case Instruction::SRem:
      return Without({Instruction::Add, Instruction::Mul, Instruction::SDiv, Instruction::SRem});
    case Instruction::UDiv: case Instruction::URem:
      return Without({Instruction::Add, Instruction::Mul, Instruction::UDiv, Instruction::URem});
    case Instruction::Shl: return {Instruction::AShr};
    case Instruction::LShr: case Instruction::AShr: return {Instruction::Shl};
    case Instruction::And: case Instruction::Or: case Instruction::Xor:
      return Without({Instruction::And, Instruction::Or, Instruction::Xor});
    default: return {};
  }
}

static bool mayTrap(unsigned Opcode) {
  return Opcode == Instruction::SDiv || Opcode == Instruction::UDiv || Opcode == Instruction::SRem ||
         Opcode == Instruction::URem;
}

static void addOperations(std::vector<Mutant> &All, BinaryOperator &Op, Variables &Names) {
  std::string L = Names.textOf(Op.getOperand(0)), R = Names.textOf(Op.getOperand(1));
  auto Text = [&](StringRef Symbol) { return L + " " + Symbol.str() + " " + R; };
  std::string Before = Text(symbolOf(Op.getOpcode()));
  bool IsPure = !mayTrap(Op.getOpcode());
  auto Add = [&](StringRef Operator, const std::string &After, auto Emit, bool Pure) {
    Mutant M = mutant(Operator, arrow(Before, After), Emit);
    M.IsPure = Pure;
    All.push_back(std::move(M));
  };
  for (Instruction::BinaryOps Other : otherOperations(Op))
    Add("arithmetic", Text(symbolOf(Other)),
        [&Op, Other](IRBuilder<> &B) { return B.CreateBinOp(Other, Op.getOperand(0), Op.getOperand(1)); },
        IsPure && !mayTrap(Other));
  if (!Op.isCommutative() && !Op.isShift())
    Add("operand swap", R + " " + symbolOf(Op.getOpcode()).str() + " " + L,
        [&Op](IRBuilder<> &B) { return B.CreateBinOp(Op.getOpcode(), Op.getOperand(1), Op.getOperand(0)); }, IsPure);
  for (unsigned N : {0, 1})
    if (!isa<Constant>(Op.getOperand(N)))
      Add("operand", N ? R : L, [&Op, N](IRBuilder<> &) { return Op.getOperand(N); }, IsPure);
}

// The next representable number above or below a floating-point result.
static Value *roundedAway(IRBuilder<> &B, Value *V, bool Up) {
  Type *T = V->getType(), *Bits = B.getIntNTy(T->getScalarSizeInBits());
  Value *AsBits = B.CreateBitCast(V, Bits), *IsNegative = B.CreateICmpSLT(AsBits, ConstantInt::get(Bits, 0));
  Value *Grows = Up ? B.CreateNot(IsNegative) : IsNegative;
  Value *Step = B.CreateSelect(Grows, ConstantInt::get(Bits, 1), ConstantInt::getSigned(Bits, -1));
  Value *Moved = B.CreateBitCast(B.CreateAdd(AsBits, Step), T);
  Value *IsZero = B.CreateFCmpOEQ(V, ConstantFP::get(T, 0));
  Value *IsFinite = B.CreateFCmpOLT(B.CreateUnaryIntrinsic(Intrinsic::fabs, V), ConstantFP::getInfinity(T));
  return B.CreateSelect(B.CreateAnd(IsFinite, B.CreateNot(IsZero)), Moved, V);
}

static Value *copyOf(IRBuilder<> &B, Instruction &I) { return B.Insert(I.clone()); }

static void addFused(std::vector<Mutant> &All, BinaryOperator &Op, Variables &Names) {
  bool IsSum = Op.getOpcode() == Instruction::FAdd, IsDifference = Op.getOpcode() == Instruction::FSub;
  if (!IsSum && !IsDifference) return;
  for (unsigned N : {0, 1}) {
    auto *Product = dyn_cast<BinaryOperator>(Op.getOperand(N));
    if (!Product || Product->getOpcode() != Instruction::FMul) continue;
    WeakTrackingVH Factors[2] = {Product->getOperand(0), Product->getOperand(1)};
    bool NegatesProduct = IsDifference && N == 1, NegatesOther = IsDifference && N == 0;
    auto Emit = [&Op, N, A = Factors[0], C = Factors[1], NegatesProduct, NegatesOther](IRBuilder<> &B) {
      Value *X = A, *Other = Op.getOperand(1 - N);
      if (NegatesProduct) X = B.CreateFNeg(X);
      if (NegatesOther) Other = B.CreateFNeg(Other);
      return static_cast<Value *>(B.CreateIntrinsic(Intrinsic::fma, {Op.getType()}, {X, C, Other}));
    };
    Mutant M = mutant("fma", Names.operationOf(Op) + " fused", Emit);
    All.push_back(std::move(M));
    return;
  }
}

static bool isScalarFloat(Type *T) { return T->isDoubleTy() || T->isFloatTy(); }

static void addResults(std::vector<Mutant> &All, Instruction &I, Variables &Names) {
  if (!isScalarFloat(I.getType())) return;
  std::string Before = Names.operationOf(I);
  All.push_back(mutant("negation", arrow(Before, "-(" + Before + ")"),
                       [&I](IRBuilder<> &B) { return B.CreateFNeg(copyOf(B, I)); }));
  for (bool Up : {true, false})
    All.push_back(mutant("rounding", Before + (Up ? " one ulp up" : " one ulp down"),
                         [&I, Up](IRBuilder<> &B) { return roundedAway(B, copyOf(B, I), Up); }));
}

// ---- statements -------------------------------------------------------------------------------------------------

// Deletes an assignment to a local variable, which then keeps its value.
static void addDeletedAssignment(std::vector<Mutant> &All, Instruction &I, Variables &Names) {
  auto [Name, Before] = Names.overwrittenBy(&I);
  if (!Before) return;
  All.push_back(mutant("statement", "assignment to " + Name + " deleted",
                       [V = WeakTrackingVH(Before)](IRBuilder<> &) { return static_cast<Value *>(V); }));
  All.back().IsPure = !isa<CallInst>(I) && !isa<LoadInst>(I) && !mayTrap(I.getOpcode());
}

static void addDeletedStore(std::vector<Mutant> &All, StoreInst &Store, Variables &Names) {
  if (!Store.isSimple()) return;
  std::string To = Names.textOf(Store.getPointerOperand());
  All.push_back(mutant("statement", "store of " + Names.textOf(Store.getValueOperand()) + " deleted", nullptr));
}

static void addRoundings(std::vector<Mutant> &All, CastInst &Cast, Variables &Names) {
  bool IsToInteger = Cast.getOpcode() == Instruction::FPToSI || Cast.getOpcode() == Instruction::FPToUI;
  if (!IsToInteger || !isScalarFloat(Cast.getOperand(0)->getType())) return;
  std::string Before = Names.textOf(Cast.getOperand(0));
  std::pair<Intrinsic::ID, StringRef> Ways[] = {
      {Intrinsic::floor, "floor"}, {Intrinsic::ceil, "ceil"}, {Intrinsic::rint, "rint"}};
  for (auto &Way : Ways) {
    std::string After = "(int)" + Way.second.str() + "(" + Before + ")";
    All.push_back(mutant("rounding", arrow("(int)" + Before, After), [&Cast, Rounds = Way.first](IRBuilder<> &B) {
      return B.CreateCast(Cast.getOpcode(), B.CreateUnaryIntrinsic(Rounds, Cast.getOperand(0)), Cast.getType());
    }));
  }
}

std::vector<Mutant> mutantsOf(Instruction &I, Variables &Names, bool DecidesLoop) {
  std::vector<Mutant> All;
  if (auto *C = dyn_cast<CmpInst>(&I)) {
    if (C->getType()->isVectorTy()) return {};
    addPredicates(All, *C, Names);
    if (DecidesLoop) addBounds(All, *C, Names);
    addOperands(All, I, Names, true);
  } else if (auto *Op = dyn_cast<BinaryOperator>(&I)) {
    bool IsInteger = I.getType()->isIntegerTy() && I.getType()->getIntegerBitWidth() > 1;
    if (!IsInteger && !isScalarFloat(I.getType())) return {};
    addOperations(All, *Op, Names);
    addFused(All, *Op, Names);
    addResults(All, I, Names);
    addOperands(All, I, Names, !mayTrap(Op->getOpcode()));
  } else if (auto *Negation = dyn_cast<UnaryOperator>(&I); Negation && isScalarFloat(I.getType())) {
    std::string Inner = Names.textOf(I.getOperand(0));
    All.push_back(mutant("negation", arrow("-" + Inner, Inner), [&I](IRBuilder<> &) { return I.getOperand(0); }));
  } else if (auto *Store = dyn_cast<StoreInst>(&I)) {
    addDeletedStore(All, *Store, Names);
  } else if (auto *Cast = dyn_cast<CastInst>(&I)) {
    addRoundings(All, *Cast, Names);
  } else if (auto *Call = dyn_cast<CallInst>(&I)) {
    addCallMutants(All, *Call, Names);
  }
  if (!I.getType()->isVoidTy() && !isa<CmpInst>(I)) addDeletedAssignment(All, I, Names);
  if (All.size() > MostMutants) All.resize(MostMutants);
  return All;
}

} // namespace pen::mutants
