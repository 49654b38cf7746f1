// Prints values in C notation, with the names that the debug information gives to variables.
#include "code_mutants.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#if LLVM_VERSION_MAJOR >= 19
#include "llvm/IR/DebugProgramInstruction.h"
#endif

namespace pen::mutants {
using namespace llvm;

// A variable gets a value before an instruction.
struct Definition {
  Instruction *Before;
  const DILocalVariable *Variable;
  WeakTrackingVH V;
};

using Known = std::map<const DILocalVariable *, WeakTrackingVH>;

struct Variables::Tables {
  DominatorTree Dominators;
  DenseMap<const BasicBlock *, std::vector<Definition>> Definitions;
  DenseMap<const Value *, const DILocalVariable *> Names;

  // The number of dominating blocks that are examined; after these, only the entry block of the function.
  static constexpr unsigned Farthest = 64;

  void note(Instruction &I, const DILocalVariable *Variable, Value *V) {
    if (!Variable || !V || isa<UndefValue>(V) || Variable->isArtificial()) return;
    Definitions[I.getParent()].push_back({&I, Variable, WeakTrackingVH(V)});
    if (!isa<Constant>(V)) Names.try_emplace(V, Variable);
  }

  ArrayRef<Definition> in(const BasicBlock *BB) const {
    auto Found = Definitions.find(BB);
    return Found == Definitions.end() ? ArrayRef<Definition>() : ArrayRef<Definition>(Found->second);
  }

  // The values of the variables before an instruction, from the dominating blocks. Where paths with different values
  // meet, a phi with a definition of its own is present.
  Known at(Instruction *I) const {
    Known All;
    for (const Definition &D : reverse(in(I->getParent())))
      if (D.Before == I || D.Before->comesBefore(I)) All.try_emplace(D.Variable, D.V);
    const auto *Node = Dominators.getNode(I->getParent());
    for (unsigned Step = 0; Node && (Node = Node->getIDom()); Step++) {
      if (Step == Farthest) Node = Dominators.getRootNode();
      for (const Definition &D : reverse(in(Node->getBlock()))) All.try_emplace(D.Variable, D.V);
    }
    return All;
  }
};

Variables::Variables(Function &F) : T(std::make_unique<Tables>()) {
  T->Dominators.recalculate(F);
#if LLVM_VERSION_MAJOR >= 19
  for (Instruction &I : instructions(F))
    for (DbgVariableRecord &R : filterDbgVars(I.getDbgRecordRange()))
      if (R.isDbgValue() && !R.hasArgList() && R.getExpression()->getNumElements() == 0)
        T->note(I, R.getVariable(), R.getVariableLocationOp(0));
#endif
}

Variables::~Variables() = default;

static bool isUsable(Value *V) { return V && !isa<Constant>(V); }

std::vector<std::pair<std::string, WeakTrackingVH>> Variables::othersLike(Value *V, Instruction *At) {
  std::vector<std::pair<const DILocalVariable *, WeakTrackingVH>> Found;
  for (auto &[Variable, Now] : T->at(At)) {
    Value *Other = Now;
    auto *I = dyn_cast_or_null<Instruction>(Other);
    if (!isUsable(Other) || Other == V || Other->getType() != V->getType() || (I && !T->Dominators.dominates(I, At)))
      continue;
    Found.push_back({Variable, Now});
  }
  auto Order = [](const DILocalVariable *D) {
    return std::tuple(D->getArg() ? D->getArg() : ~0u, D->getLine(), D->getName());
  };
  sort(Found, [&](auto &A, auto &B) { return Order(A.first) < Order(B.first); });
  std::vector<std::pair<std::string, WeakTrackingVH>> All;
  for (auto &[Variable, Now] : Found) All.push_back({Variable->getName().str(), Now});
  return All;
}

std::pair<std::string, Value *> Variables::overwrittenBy(Instruction *I) {
  for (const Definition &D : T->in(I->getParent())) {
    if (static_cast<Value *>(D.V) != I) continue;
    Known Before = T->at(I);
    auto Found = Before.find(D.Variable);
    if (Found == Before.end()) return {};
    Value *V = Found->second;
    auto *Other = dyn_cast_or_null<Instruction>(V);
    if (!V || V == I || V->getType() != I->getType() || (Other && !T->Dominators.dominates(Other, I))) return {};
    return {D.Variable->getName().str(), V};
  }
  return {};
}

static std::string textOfConstant(const Constant *C) {
  if (auto *K = dyn_cast<ConstantInt>(C)) {
    SmallString<32> Text;
    K->getValue().toString(Text, 10, /*Signed=*/!K->getType()->isIntegerTy(1));
    return std::string(Text);
  }
  if (auto *K = dyn_cast<ConstantFP>(C)) {
    SmallString<32> Text;
    K->getValueAPF().toString(Text);
    return std::string(Text);
  }
  if (isa<ConstantPointerNull>(C)) return "NULL";
  return isa<GlobalValue>(C) ? C->getName().str() : "…";
}

StringRef symbolOf(unsigned Opcode) {
  switch (Opcode) {
    case Instruction::Add: case Instruction::FAdd: return "+";
    case Instruction::Sub: case Instruction::FSub: return "-";
    case Instruction::Mul: case Instruction::FMul: return "*";
    case Instruction::SDiv: case Instruction::UDiv: case Instruction::FDiv: return "/";
    case Instruction::SRem: case Instruction::URem: case Instruction::FRem: return "%";
    case Instruction::Shl: return "<<";
    case Instruction::LShr: case Instruction::AShr: return ">>";
    case Instruction::And: return "&";
    case Instruction::Or: return "|";
    case Instruction::Xor: return "^";
    default: return "?";
  }
}

StringRef symbolOf(CmpInst::Predicate P) {
  switch (P) {
    case CmpInst::ICMP_EQ: case CmpInst::FCMP_OEQ: case CmpInst::FCMP_UEQ: return "==";
    case CmpInst::ICMP_NE: case CmpInst::FCMP_UNE: case CmpInst::FCMP_ONE: return "!=";
    case CmpInst::ICMP_SLT: case CmpInst::ICMP_ULT: case CmpInst::FCMP_OLT: case CmpInst::FCMP_ULT: return "<";
    case CmpInst::ICMP_SLE: case CmpInst::ICMP_ULE: case CmpInst::FCMP_OLE: case CmpInst::FCMP_ULE: return "<=";
    case CmpInst::ICMP_SGT: case CmpInst::ICMP_UGT: case CmpInst::FCMP_OGT: case CmpInst::FCMP_UGT: return ">";
    case CmpInst::ICMP_SGE: case CmpInst::ICMP_UGE: case CmpInst::FCMP_OGE: case CmpInst::FCMP_UGE: return ">=";
    case CmpInst::FCMP_UNO: return "unordered";
    case CmpInst::FCMP_ORD: return "ordered";
    default: return "?";
  }
}

// "a + b"
static std::string infix(const std::string &L, StringRef Symbol, const std::string &R) {
  return L + " " + Symbol.str() + " " + R;
}

std::string Variables::operationOf(const Instruction &I) const {
  if (auto *Op = dyn_cast<BinaryOperator>(&I))
    return infix(textOf(Op->getOperand(0)), symbolOf(Op->getOpcode()), textOf(Op->getOperand(1)));
  if (auto *Cmp = dyn_cast<CmpInst>(&I))
    return infix(textOf(Cmp->getOperand(0)), symbolOf(Cmp->getPredicate()), textOf(Cmp->getOperand(1)));
  return textOf(const_cast<Instruction *>(&I));
}

std::string Variables::textOf(Value *V, unsigned Depth) const {
  if (auto *C = dyn_cast<Constant>(V)) return textOfConstant(C);
  if (const DILocalVariable *Name = T->Names.lookup(V)) return Name->getName().str();
  if (auto *Cast = dyn_cast<CastInst>(V)) return textOf(Cast->getOperand(0), Depth);
  if (auto *Load = dyn_cast<LoadInst>(V)) {
    Value *From = Load->getPointerOperand();
    if (isa<GlobalValue>(From)) return From->getName().str();
    auto *Place = dyn_cast<GetElementPtrInst>(From);
    if (Place && Depth > 0)
      return textOf(Place->getPointerOperand(), Depth - 1) + "[" + textOf(*std::prev(Place->op_end()), 0) + "]";
    return Depth > 0 ? "*" + textOf(From, Depth - 1) : "…";
  }
  if (auto *Call = dyn_cast<CallInst>(V); Call && Call->getCalledFunction()) {
    StringRef Name = Call->getCalledFunction()->getName();
    if (Name.consume_front("llvm.")) Name = Name.split('.').first;
    return Name.str() + "(…)";
  }
  if (Depth == 0) return "…";
  auto Infix = [&](const User *Op, StringRef Symbol) {
    return "(" + infix(textOf(Op->getOperand(0), Depth - 1), Symbol, textOf(Op->getOperand(1), Depth - 1)) + ")";
  };
  if (auto *Op = dyn_cast<BinaryOperator>(V)) return Infix(Op, symbolOf(Op->getOpcode()));
  if (auto *Cmp = dyn_cast<CmpInst>(V)) return Infix(Cmp, symbolOf(Cmp->getPredicate()));
  if (V->getType()->isFloatingPointTy())
    if (auto *Neg = dyn_cast<UnaryOperator>(V)) return "-" + textOf(Neg->getOperand(0), Depth - 1);
  return "…";
}

} // namespace pen::mutants
