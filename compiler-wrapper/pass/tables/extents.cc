// Computes how many bytes after a pointer parameter the loops of a function access, as a function of its integer
// parameters: `k*n + c` or `k*n*m + c` bytes, from the trip counts of scalar evolution. The fuzzer takes the result as
// a hypothesis, which calls confirm or refute.
//
// - An access in a loop counts at the last iteration if its addresses rise, else at the first.
// - A bound `max(n, 0)` counts as n, and a quotient as a fraction: for a size, only values above 0 matter.
// - Accesses by callees are ignored. A parameter has no extent if one of its own accesses has no such bound.
#include "../plugin.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

#include <cmath>

namespace pen {
using namespace llvm;

namespace {

// A sum of products of integer parameters. The key of a term is the ascending list of its parameters' numbers; the
// empty list is the constant term.
using Product = std::vector<unsigned>;
using Polynomial = std::map<Product, double>;

constexpr unsigned MaxDegree = 2, MaxNesting = 32;
constexpr double Largest = 1 << 20; // the largest coefficient, in bytes

double valueAt(const Polynomial &P, double N) {
  double Sum = 0;
  for (auto &[Of, Times] : P) Sum += Times * std::pow(N, double(Of.size()));
  return Sum;
}

void add(Polynomial &To, const Polynomial &P, double Times = 1) {
  for (auto &[Of, By] : P) To[Of] += Times * By;
}

std::optional<Polynomial> product(const Polynomial &A, const Polynomial &B) {
  Polynomial All;
  for (auto &[Left, X] : A)
    for (auto &[Right, Y] : B) {
      if (X * Y == 0) continue;
      Product Of = Left;
      Of.insert(Of.end(), Right.begin(), Right.end());
      if (Of.size() > MaxDegree) return std::nullopt;
      llvm::sort(Of);
      All[Of] += X * Y;
    }
  return All;
}

class Reader {
public:
  Reader(ScalarEvolution &SE, const Instruction &At) : SE(SE), At(At) {}

  std::optional<Polynomial> read(const SCEV *S, unsigned Depth = 0) {
    if (Depth > MaxNesting) return std::nullopt;
    switch (S->getSCEVType()) {
    case scConstant: {
      const APInt &Value = cast<SCEVConstant>(S)->getAPInt();
      if (Value.getSignificantBits() > 31) return std::nullopt;
      return Polynomial{{{}, double(Value.getSExtValue())}};
    }
    case scUnknown: {
      auto *A = dyn_cast<Argument>(cast<SCEVUnknown>(S)->getValue());
      if (!A || !A->getType()->isIntegerTy()) return std::nullopt;
      return Polynomial{{{A->getArgNo()}, 1.0}};
    }
    case scTruncate: case scZeroExtend: case scSignExtend: return read(cast<SCEVCastExpr>(S)->getOperand(), Depth + 1);
    case scAddExpr: {
      Polynomial Sum;
      for (const SCEV *Part : cast<SCEVAddExpr>(S)->operands()) {
        auto P = read(Part, Depth + 1);
        if (!P) return std::nullopt;
        add(Sum, *P);
      }
      return Sum;
    }
    case scMulExpr: {
      Polynomial All{{{}, 1.0}};
      for (const SCEV *Part : cast<SCEVMulExpr>(S)->operands()) {
        auto P = read(Part, Depth + 1);
        auto Next = P ? product(All, *P) : std::nullopt;
        if (!Next) return std::nullopt;
        All = *Next;
      }
      return All;
    }
    case scUDivExpr: {
      auto *By = dyn_cast<SCEVConstant>(cast<SCEVUDivExpr>(S)->getRHS());
      auto P = By ? read(cast<SCEVUDivExpr>(S)->getLHS(), Depth + 1) : std::nullopt;
      if (!P || By->getAPInt().getActiveBits() > 16) return std::nullopt;
      Polynomial Quotient;
      add(Quotient, *P, 1.0 / double(By->getAPInt().getZExtValue()));
      return Quotient;
    }
    case scSMaxExpr: case scUMaxExpr: return largest(cast<SCEVMinMaxExpr>(S), Depth);
    case scAddRecExpr: return atTheEnd(cast<SCEVAddRecExpr>(S), Depth);
    default: return std::nullopt;
    }
  }

private:
  ScalarEvolution &SE;
  const Instruction &At;

  std::optional<Polynomial> largest(const SCEVMinMaxExpr *S, unsigned Depth) {
    std::optional<Polynomial> Best;
    for (const SCEV *Part : S->operands()) {
      auto P = read(Part, Depth + 1);
      if (!P) return std::nullopt;
      if (!Best || valueAt(*P, 100) > valueAt(*Best, 100)) Best = P;
    }
    return Best;
  }

  // The value of a recurrence in the last iteration that executes the access.
  std::optional<Polynomial> atTheEnd(const SCEVAddRecExpr *S, unsigned Depth) {
    const Loop *L = S->getLoop();
    if (!S->isAffine()) return std::nullopt;
    auto Start = read(S->getStart(), Depth + 1), Step = read(S->getStepRecurrence(SE), Depth + 1);
    if (!Start || !Step) return std::nullopt;
    if (valueAt(*Step, 100) <= 0) return Start;
    const SCEV *Taken = SE.getBackedgeTakenCount(L);
    if (isa<SCEVCouldNotCompute>(Taken)) Taken = SE.getSymbolicMaxBackedgeTakenCount(L);
    if (isa<SCEVCouldNotCompute>(Taken)) return std::nullopt;
    auto Count = read(Taken, Depth + 1);
    if (!Count) return std::nullopt;
    // A loop that tests before its body evaluates the test once more than the body.
    const BasicBlock *Header = L->getHeader();
    bool TestsBefore = L->isLoopExiting(Header) && Header != L->getLoopLatch();
    if (TestsBefore && L->contains(&At) && At.getParent() != Header) (*Count)[{}] -= 1;
    auto Way = product(*Step, *Count);
    if (!Way) return std::nullopt;
    add(*Start, *Way);
    return Start;
  }
};

// The end of an access (the first byte after it), relative to a parameter. Sets `Of` to the parameter, or to null if
// the pointer does not derive from one.
std::optional<Polynomial> endOf(ScalarEvolution &SE, const Instruction &I, Value *Pointer, const SCEV *Bytes,
                                const Argument *&Of) {
  const SCEV *S = SE.getSCEV(Pointer);
  auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(S));
  Of = Base ? dyn_cast<Argument>(Base->getValue()) : nullptr;
  if (!Of) return std::nullopt;
  const SCEV *Offset = SE.getMinusSCEV(S, Base);
  if (isa<SCEVCouldNotCompute>(Offset)) return std::nullopt;
  Reader R(SE, I);
  auto From = R.read(Offset), Size = R.read(Bytes);
  if (!From || !Size) return std::nullopt;
  add(*From, *Size);
  return From;
}

// Converts a polynomial to an extent. If the leading term is a product of two parameters, the other terms are bounded
// for equal parameters.
std::optional<Extent> ruleOf(const Polynomial &P) {
  std::vector<std::pair<Product, double>> Linear, Products;
  double Constant = 0;
  for (auto &[Of, Times] : P) {
    if (std::abs(Times) < 1e-9) continue;
    if (std::abs(Times) > Largest) return std::nullopt;
    if (Of.empty()) Constant = Times;
    else (Of.size() == 1 ? Linear : Products).push_back({Of, Times});
  }
  if (Products.empty() && Linear.size() == 1 && Linear[0].second > 0)
    return Extent{Linear[0].first[0] + 1, 0, uint32_t(std::ceil(Linear[0].second)), int32_t(std::ceil(Constant))};
  if (Products.size() != 1 || Products[0].second <= 0) return std::nullopt;
  double Plus = -Largest, Times = std::ceil(Products[0].second);
  for (double N : {1.0, 2.0, 3.0, 5.0, 8.0}) Plus = std::max(Plus, valueAt(P, N) - Times * N * N);
  const Product &Of = Products[0].first;
  return Extent{Of[0] + 1, Of[1] + 1, uint32_t(Times), int32_t(std::ceil(Plus))};
}

} // namespace

std::map<unsigned, Extent> extentsOf(Function &F, FunctionAnalysisManager &FAM) {
  std::map<unsigned, std::optional<Polynomial>> Furthest;
  auto &SE = FAM.getResult<ScalarEvolutionAnalysis>(F);
  auto note = [&](const Instruction &I, Value *Pointer, const SCEV *Bytes) {
    const Argument *Of = nullptr;
    auto End = endOf(SE, I, Pointer, Bytes, Of);
    if (!Of) return;
    auto Known = Furthest.find(Of->getArgNo());
    if (Known == Furthest.end()) Furthest[Of->getArgNo()] = End;
    else if (!End) Known->second = std::nullopt;
    else if (Known->second && valueAt(*End, 6) > valueAt(*Known->second, 6)) Known->second = End;
  };
  for (Instruction &I : instructions(F)) {
    if (Value *Pointer = const_cast<Value *>(getLoadStorePointerOperand(&I))) {
      uint64_t Bytes = F.getParent()->getDataLayout().getTypeStoreSize(getLoadStoreType(&I));
      note(I, Pointer, SE.getConstant(Type::getInt64Ty(F.getContext()), Bytes));
    } else if (auto *Memory = dyn_cast<MemIntrinsic>(&I)) {
      note(I, Memory->getDest(), SE.getSCEV(Memory->getLength()));
      if (auto *Copy = dyn_cast<MemTransferInst>(Memory)) note(I, Copy->getSource(), SE.getSCEV(Copy->getLength()));
    }
  }
  std::map<unsigned, Extent> Extents;
  for (auto &[Number, End] : Furthest)
    if (auto Rule = End ? ruleOf(*End) : std::nullopt) Extents[Number] = *Rule;
  return Extents;
}

} // namespace pen
