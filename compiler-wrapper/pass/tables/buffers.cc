// Finds pairs of pointers that lead into one buffer: the code subtracts them, orders them, or compares them at the end
// of a loop. A structure with a begin, a cursor and a limit holds such pointers, and `f(begin, end)` takes them.
//
// - Each side is traced through additions, casts and merges to one origin: a parameter, the pointer that a parameter
//   points to, or a member of a structure. Two members count if they belong to one object.
// - Ranges are also compared to find out whether they overlap. So two parameters count only if a loop advances one of
//   them, or if the function does not access the memory of one of them: the limit.
// - Two members that are only compared for equality, and never moved, make a weak pair: it counts if one of the two
//   belongs to another pair.
// - A comparison votes for an order: `p < end` and `end - p` say p <= end.
#include "../plugin.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"

namespace pen {
using namespace llvm;

namespace {

// The maximum number of values that a pointer is traced through: generated code merges thousands.
constexpr unsigned MaxTraced = 256;

// What a pointer was computed from.
struct Origin {
  BufferSide Side;
  const Value *Object = nullptr; // of a member: the address of its structure
  bool Moves = false, Merges = false; // an offset was added; it was merged with another value, as in a loop
};

bool isSameObject(const Value *A, const Value *B) {
  if (A == B) return true;
  auto *LoadA = dyn_cast<LoadInst>(A), *LoadB = dyn_cast<LoadInst>(B);
  if (LoadA && LoadB) return isSameObject(LoadA->getPointerOperand(), LoadB->getPointerOperand());
  auto *GepA = dyn_cast<GetElementPtrInst>(A), *GepB = dyn_cast<GetElementPtrInst>(B);
  if (!GepA || !GepB || GepA->getSourceElementType() != GepB->getSourceElementType()) return false;
  return equal(GepA->indices(), GepB->indices()) && isSameObject(GepA->getPointerOperand(), GepB->getPointerOperand());
}

bool isSame(const Origin &A, const Origin &B) {
  if (A.Side.key() != B.Side.key()) return false;
  return A.Side.K != BufferSide::Member || isSameObject(A.Object, B.Object);
}

// The parameter that an object is reached from; null if there is none.
const Argument *rootOf(const Value *V) {
  while (true) {
    if (auto *Gep = dyn_cast<GetElementPtrInst>(V)) V = Gep->getPointerOperand();
    else if (auto *Load = dyn_cast<LoadInst>(V)) V = Load->getPointerOperand();
    else if (auto *Cast = dyn_cast<CastInst>(V)) V = Cast->getOperand(0);
    else return dyn_cast<Argument>(V);
  }
}

bool isMemberAddress(const GetElementPtrInst &Gep) {
  return isa<StructType>(Gep.getSourceElementType()) && Gep.getNumIndices() > 1;
}

// The origin of a pointer that is loaded from memory.
std::optional<Origin> loadedOrigin(const LoadInst &Load) {
  const Value *From = Load.getPointerOperand();
  Origin Found;
  if (auto *A = dyn_cast<Argument>(From)) {
    Found.Side = {BufferSide::Behind, int(A->getArgNo()), "", 0};
    return Found;
  }
  auto *Gep = dyn_cast<GetElementPtrInst>(From);
  if (!Gep || !isMemberAddress(*Gep)) return std::nullopt;
  auto *Of = cast<StructType>(Gep->getSourceElementType());
  APInt Offset(64, 0);
  if (!Of->hasName() || !Gep->accumulateConstantOffset(Load.getModule()->getDataLayout(), Offset)) return std::nullopt;
  const Argument *Root = rootOf(Gep->getPointerOperand());
  StringRef Name = Of->getName();
  Name = Name.substr(Name.find('.') + 1); // "struct.node"
  Found.Side = {BufferSide::Member, Root ? int(Root->getArgNo()) : -1, Name.str(), Offset.getZExtValue()};
  Found.Object = Gep->getPointerOperand();
  return Found;
}

// The origins of a pointer; empty if one is unknown, or if it merges too many values.
std::vector<Origin> originsOf(Value *Pointer) {
  SmallVector<Value *, 8> Open{Pointer};
  SmallPtrSet<Value *, 16> Seen;
  std::vector<Origin> All;
  bool Moves = false, Merges = false;
  while (!Open.empty()) {
    Value *V = Open.pop_back_val();
    if (!Seen.insert(V).second || isa<ConstantPointerNull>(V) || isa<UndefValue>(V)) continue;
    if (Seen.size() > MaxTraced) return {};
    std::optional<Origin> Found;
    if (auto *A = dyn_cast<Argument>(V)) {
      Found.emplace();
      Found->Side = {BufferSide::Parameter, int(A->getArgNo()), "", 0};
    } else if (auto *Gep = dyn_cast<GetElementPtrInst>(V)) {
      if (isMemberAddress(*Gep)) return {};
      Moves |= !Gep->hasAllZeroIndices();
      Open.push_back(Gep->getPointerOperand());
      continue;
    } else if (auto *Phi = dyn_cast<PHINode>(V)) {
      Merges = true;
      Open.append(Phi->op_begin(), Phi->op_end());
      continue;
    } else if (auto *Choice = dyn_cast<SelectInst>(V)) {
      Open.append({Choice->getTrueValue(), Choice->getFalseValue()});
      continue;
    } else if (isa<CastInst>(V) || isa<FreezeInst>(V)) {
      Open.push_back(cast<Instruction>(V)->getOperand(0));
      continue;
    } else if (auto *Load = dyn_cast<LoadInst>(V)) {
      if (isFill(Load->getPointerOperand())) continue;
      if (auto *Local = dyn_cast<AllocaInst>(Load->getPointerOperand())) {
        // Its address is passed on, so it stays in memory.
        for (User *U : Local->users())
          if (auto *Store = dyn_cast<StoreInst>(U); Store && Store->getPointerOperand() == Local)
            Open.push_back(Store->getValueOperand());
        Merges = true;
        continue;
      }
      Found = loadedOrigin(*Load);
    }
    if (!Found) return {};
    if (none_of(All, [&](const Origin &O) { return isSame(O, *Found); })) All.push_back(*Found);
  }
  for (Origin &O : All) O.Moves = Moves, O.Merges = Merges;
  return All;
}

// The one origin of a pointer; none if there are several.
std::optional<Origin> originOf(Value *Pointer) {
  std::vector<Origin> All = originsOf(Pointer);
  return All.size() == 1 ? std::optional(All[0]) : std::nullopt;
}

// The origins of two pointers that are compared. A binary search sets its limit to a place that it has computed from
// its begin, so the limit may also be the origin of the other pointer.
std::optional<std::pair<Origin, Origin>> originsOfBoth(Value *Left, Value *Right) {
  std::vector<Origin> A = originsOf(Left), B = originsOf(Right);
  auto dropCommon = [](std::vector<Origin> &From, const std::vector<Origin> &Other) {
    if (From.size() == 2 && Other.size() == 1) erase_if(From, [&](const Origin &O) { return isSame(O, Other[0]); });
  };
  dropCommon(A, B);
  dropCommon(B, A);
  if (A.size() != 1 || B.size() != 1) return std::nullopt;
  return std::pair(A[0], B[0]);
}

bool isAccessed(Function &F, const Origin &O, MemoryUses &Memory) {
  if (O.Side.K != BufferSide::Parameter) return true;
  MemoryUse Use = Memory.of(F, O.Side.Argument);
  return Use.Reads || Use.Writes;
}

// Whether the comparison, an equality if `IsEquality`, shows that both lead into one buffer.
bool isPair(Function &F, const Origin &A, const Origin &B, bool IsEquality, MemoryUses &Memory) {
  auto KA = A.Side.K, KB = B.Side.K;
  if (KA == BufferSide::Member && KB == BufferSide::Member)
    return A.Side.Of == B.Side.Of && A.Side.At != B.Side.At && isSameObject(A.Object, B.Object);
  // A member, or a pointer behind a parameter, must be reached from another parameter.
  if (A.Side.Argument < 0 || B.Side.Argument < 0 || A.Side.Argument == B.Side.Argument) return false;
  if (KA != BufferSide::Parameter && KB != BufferSide::Parameter) return false;
  if (A.Merges || B.Merges) return true;
  return !IsEquality && (KA != KB || !isAccessed(F, A, Memory) || !isAccessed(F, B, Memory));
}

// The pairs of a function, each once; `Order` and the strictness are added up.
class BufferPairs {
public:
  void add(BufferPair P) {
    if (P.Second.key() < P.First.key()) {
      std::swap(P.First, P.Second);
      P.Order = -P.Order;
    }
    for (BufferPair &Known : All)
      if (Known.First.key() == P.First.key() && Known.Second.key() == P.Second.key()) {
        Known.Order += P.Order;
        Known.IsStrict |= P.IsStrict;
        Known.IsInclusive |= P.IsInclusive;
        Known.IsLimit |= P.IsLimit;
        Known.IsWeak &= P.IsWeak;
        return;
      }
    All.push_back(std::move(P));
  }
  std::vector<BufferPair> All;
};

void addSubtraction(Function &F, BinaryOperator &Sub, MemoryUses &Memory, BufferPairs &Pairs) {
  auto *From = dyn_cast<PtrToIntInst>(Sub.getOperand(0)), *By = dyn_cast<PtrToIntInst>(Sub.getOperand(1));
  if (!From || !By) return;
  auto Both = originsOfBoth(By->getPointerOperand(), From->getPointerOperand());
  if (Both && isPair(F, Both->first, Both->second, false, Memory)) Pairs.add({Both->first.Side, Both->second.Side, 2});
}

void addComparison(Function &F, ICmpInst &Compared, MemoryUses &Memory, BufferPairs &Pairs) {
  Value *Left = Compared.getOperand(0), *Right = Compared.getOperand(1);
  if (!Left->getType()->isPointerTy() || isa<Constant>(Left) || isa<Constant>(Right) || Compared.isSigned()) return;
  auto Both = originsOfBoth(Left, Right);
  if (!Both || !isPair(F, Both->first, Both->second, Compared.isEquality(), Memory)) return;
  bool IsOffset = isa<GetElementPtrInst>(Left) || isa<GetElementPtrInst>(Right);
  auto &[A, B] = *Both;
  BufferPair P{A.Side, B.Side, 0, !Compared.isEquality()};
  P.IsWeak = Compared.isEquality() && !A.Moves && !B.Moves && !A.Merges && !B.Merges;
  switch (Compared.getPredicate()) {
  case CmpInst::ICMP_ULT: P.Order = 2; break;
  case CmpInst::ICMP_UGE: P.Order = 1; break; // the end of a loop, or too little room
  case CmpInst::ICMP_ULE:
    P.Order = 2;
    P.IsStrict = IsOffset;
    P.IsInclusive = !IsOffset;
    break;
  case CmpInst::ICMP_UGT: // `p + n > end` is too little room, `top > begin` a stack that is not empty
    P.Order = isa<GetElementPtrInst>(Left) ? 2 : -1;
    P.IsStrict = IsOffset;
    break;
  default: break;
  }
  Pairs.add(P);
}

// A side of a pair of the callee, as the caller passes it; none if it is no origin there.
std::optional<Origin> passedSide(const CallBase &Call, const BufferSide &S) {
  if (S.Argument < 0 || unsigned(S.Argument) >= Call.arg_size()) return std::nullopt;
  Value *Passed = Call.getArgOperand(S.Argument);
  if (S.K == BufferSide::Parameter) return originOf(Passed);
  Origin Found;
  if (S.K == BufferSide::Behind) {
    if (auto *Local = dyn_cast<AllocaInst>(Passed)) {
      std::optional<Origin> Only;
      for (User *U : Local->users()) {
        auto *Store = dyn_cast<StoreInst>(U);
        if (!Store || Store->getPointerOperand() != Local) continue;
        auto One = originOf(Store->getValueOperand());
        if (!One || (Only && !isSame(*Only, *One))) return std::nullopt;
        Only = One;
      }
      return Only;
    }
    auto *A = dyn_cast<Argument>(Passed);
    if (!A) return std::nullopt;
    Found.Side = {BufferSide::Behind, int(A->getArgNo()), "", 0};
    return Found;
  }
  const Argument *Root = rootOf(Passed);
  if (!Root) return std::nullopt;
  Found.Side = {BufferSide::Member, int(Root->getArgNo()), S.Of, S.At};
  return Found;
}

// Whether the function accesses memory through a pointer with this origin, itself or by a call, or stores such a
// pointer.
bool isUsed(Function &F, const BufferSide &S, MemoryUses &Memory) {
  auto leads = [&S](Value *V) {
    if (!V->getType()->isPointerTy() || isa<Constant>(V)) return false;
    return any_of(originsOf(V), [&S](const Origin &O) { return O.Side.key() == S.key(); });
  };
  return any_of(instructions(F), [&](Instruction &I) {
    if (Value *Address = const_cast<Value *>(getLoadStorePointerOperand(&I)); Address && leads(Address)) return true;
    if (auto *Store = dyn_cast<StoreInst>(&I)) return leads(Store->getValueOperand());
    auto *Call = dyn_cast<CallBase>(&I);
    auto isAccessedBy = [&](Use &U) {
      Function *Callee = Call->getCalledFunction();
      unsigned Number = Call->getArgOperandNo(&U);
      if (!Callee || !isInstrumented(*Callee) || Number >= Callee->arg_size()) return true;
      MemoryUse Use = Memory.of(*Callee, Number);
      return Use.Reads || Use.Writes;
    };
    return Call && any_of(Call->args(), [&](Use &U) { return leads(U.get()) && isAccessedBy(U); });
  });
}

} // namespace

std::vector<BufferPair> bufferPairsOf(Function &F, MemoryUses &Memory) {
  BufferPairs Pairs;
  for (Instruction &I : instructions(F)) {
    if (auto *Compared = dyn_cast<ICmpInst>(&I)) addComparison(F, *Compared, Memory, Pairs);
    else if (auto *Sub = dyn_cast<BinaryOperator>(&I); Sub && Sub->getOpcode() == Instruction::Sub)
      addSubtraction(F, *Sub, Memory, Pairs);
  }
  for (BufferPair &P : Pairs.All) P.IsLimit = !isUsed(F, P.higher(), Memory);
  return Pairs.All;
}

void passBufferPairs(MutableArrayRef<FunctionPlan> Plans) {
  constexpr unsigned MaxCalls = 3;
  std::map<const Function *, unsigned> Number;
  for (unsigned I = 0; I < Plans.size(); I++) Number[Plans[I].F] = I;
  for (unsigned Round = 0; Round < MaxCalls; Round++)
    for (FunctionPlan &Plan : Plans) {
      BufferPairs Pairs;
      for (Instruction &I : instructions(*Plan.F)) {
        auto *Call = dyn_cast<CallBase>(&I);
        auto Callee = Call ? Number.find(Call->getCalledFunction()) : Number.end();
        if (Callee == Number.end()) continue;
        for (const BufferPair &P : Plans[Callee->second].Buffers) {
          auto First = passedSide(*Call, P.First), Second = passedSide(*Call, P.Second);
          if (First && Second && First->Side.key() != Second->Side.key())
            Pairs.add({First->Side, Second->Side, P.Order, P.IsStrict, P.IsInclusive, P.IsLimit, P.IsWeak});
        }
      }
      for (const BufferPair &P : Pairs.All) {
        auto IsKnown = [&](const BufferPair &Known) {
          return (Known.First.key() == P.First.key() && Known.Second.key() == P.Second.key()) ||
                 (Known.First.key() == P.Second.key() && Known.Second.key() == P.First.key());
        };
        if (none_of(Plan.Buffers, IsKnown)) Plan.Buffers.push_back(P);
      }
    }
}

namespace {

// The parameter that an argument belongs to, from 1; 0 if there is none. `Part` is its number among the arguments of
// that parameter.
unsigned parameterOf(const Signature &S, int Argument, unsigned &Part) {
  for (unsigned I = 0; I < S.Parameters.size() && Argument >= 0; I++) {
    unsigned First = S.Parameters[I].Argument, N = std::max(S.Parameters[I].IRArguments, 1u);
    Part = unsigned(Argument) - First;
    if (unsigned(Argument) >= First && Part < N) return I + 1;
  }
  return 0;
}

struct EmittedSide {
  std::optional<std::string> Of;
  unsigned Parameter = 0;
  uint64_t At = 0;
};

// A structure that is passed in registers has an argument for each of its words.
EmittedSide emittedSide(const Signature &S, const BufferSide &Side) {
  unsigned Part = 0;
  EmittedSide E{std::nullopt, parameterOf(S, Side.Argument, Part), Side.At};
  if (Side.K == BufferSide::Member) E.Of = Side.Of;
  if (Side.K == BufferSide::Behind) E.Of = "";
  if (Side.K == BufferSide::Parameter && E.Parameter && S.Parameters[E.Parameter - 1].Aggregate) {
    E.Of = structureName(S.Parameters[E.Parameter - 1].Declared);
    E.At = 8 * Part;
  }
  return E;
}

} // namespace

std::vector<Constant *> bufferRecords(Context &X, ArrayRef<BufferPair> Pairs, const Signature &S) {
  std::vector<Constant *> Items;
  auto name = [&](const EmittedSide &E) { return E.Of ? X.text(*E.Of) : X.null(); };
  for (const BufferPair &P : Pairs) {
    EmittedSide Low = emittedSide(S, P.First), High = emittedSide(S, P.Second);
    if (P.Order < 0) std::swap(Low, High);
    auto isKnown = [](const EmittedSide &E) { return E.Parameter || (E.Of && !E.Of->empty()); };
    if (!isKnown(Low) || !isKnown(High)) continue;
    Record R(X.C,
             FIELD(pen_buffer_pair, first_of, name(Low)),
             FIELD(pen_buffer_pair, second_of, name(High)),
             FIELD(pen_buffer_pair, first_at, Low.At),
             FIELD(pen_buffer_pair, second_at, High.At),
             FIELD(pen_buffer_pair, first_parameter, Low.Parameter),
             FIELD(pen_buffer_pair, second_parameter, High.Parameter),
             FIELD(pen_buffer_pair, votes, unsigned(std::abs(P.Order))),
             FIELD(pen_buffer_pair, flags,
                   (P.IsInclusive && !P.IsStrict ? PEN_BUFFER_INCLUSIVE : 0) | (P.IsLimit ? PEN_BUFFER_LIMIT : 0) |
                       (P.IsWeak ? PEN_BUFFER_WEAK : 0)));
    Items.push_back(R.Init);
  }
  return Items;
}

} // namespace pen
