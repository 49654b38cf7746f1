// How a function uses what a pointer parameter points to. If it does not read it before it writes it, the memory is a result, and a
// search that varied what is in it would vary nothing. If it uses the pointer without an index, there is one object.
#include "pen.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

namespace pen {
using namespace llvm;

namespace {

constexpr unsigned MaxDepth = 6;
constexpr int64_t Everywhere = -1;

// One access through the pointer, at a number of bytes behind it, or somewhere.
struct Access {
  Instruction *At;
  int64_t Offset;
};

struct Accesses {
  std::vector<Access> Reads, Writes;
  bool Escapes = false, Indexes = false, NamesFile = false;
  bool MayWrite = false;
};

void collect(Function &F, Value *Pointer, int64_t Offset, Accesses &All, SmallPtrSetImpl<Value *> &Seen, unsigned Depth);

// Does this function open a file whose name is its argument of this number?
bool opensFile(const Function &F, unsigned Number) {
  // The constructors and `open` of the file streams of C++ have the object before the name; all of them have this parameter.
  if (F.getName().starts_with("_ZNSt14basic_ifstreamI") || F.getName().starts_with("_ZNSt13basic_fstreamI"))
    return Number == 1 && F.getName().contains("EPKcSt13_Ios_Openmode");
  return Number == 0 && is_contained({"fopen", "fopen64", "open", "open64", "freopen", "freopen64"}, F.getName());
}

void collectCall(CallBase &Call, const Use &U, int64_t Offset, Accesses &All, unsigned Depth) {
  unsigned Number = Call.isArgOperand(&U) ? Call.getArgOperandNo(&U) : ~0u;
  if (auto *Copy = dyn_cast<MemTransferInst>(&Call)) {
    (Number == 1 ? All.Reads : All.Writes).push_back({Copy, Everywhere});
    All.MayWrite |= Number != 1;
    All.Indexes = true;
    return;
  }
  if (isa<IntrinsicInst>(&Call) && !isa<MemSetInst>(&Call)) return;
  Function *Callee = Call.getCalledFunction();
  if (Callee && !isInstrumented(*Callee) && opensFile(*Callee, Number)) {
    All.NamesFile = All.Indexes = true;
    All.Reads.push_back({&Call, Offset});
    return;
  }
  bool IsKnown = Callee && isInstrumented(*Callee) && Number < Callee->arg_size() && !Callee->isVarArg();
  MemoryUse Inner = IsKnown && Depth < MaxDepth ? memoryUse(*Callee, Number, Depth + 1) : MemoryUse{false, true};
  All.NamesFile |= Inner.NamesFile;
  if (Inner.Reads) All.Reads.push_back({&Call, Offset});
  All.Indexes |= Inner.Indexes;
  All.MayWrite |= Inner.Writes;
  All.Writes.push_back({&Call, Everywhere});
}

// Of one use of the pointer by an instruction of F.
void collectUse(Function &F, Use &U, int64_t Offset, Accesses &All, SmallPtrSetImpl<Value *> &Seen, unsigned Depth) {
  auto *I = cast<Instruction>(U.getUser());
  if (isa<LoadInst>(I)) {
    All.Reads.push_back({I, Offset});
  } else if (isa<StoreInst>(I)) {
    bool IsPlace = U.getOperandNo() == StoreInst::getPointerOperandIndex();
    if (IsPlace) All.Writes.push_back({I, Offset});
    All.Escapes |= !IsPlace;
    All.MayWrite |= IsPlace;
  } else if (auto *Gep = dyn_cast<GetElementPtrInst>(I)) {
    APInt More(64, 0);
    auto *First = dyn_cast<ConstantInt>(Gep->idx_begin()->get());
    All.Indexes |= !First || !First->isZero();
    bool IsConstant = Offset != Everywhere && Gep->accumulateConstantOffset(F.getParent()->getDataLayout(), More);
    collect(F, Gep, IsConstant ? Offset + More.getSExtValue() : Everywhere, All, Seen, Depth);
  } else if (isa<PHINode>(I) || isa<SelectInst>(I) || isa<CastInst>(I)) {
    collect(F, I, Everywhere, All, Seen, Depth);
  } else if (auto *Call = dyn_cast<CallBase>(I)) {
    collectCall(*Call, U, Offset, All, Depth);
  }
}

void collect(Function &F, Value *Pointer, int64_t Offset, Accesses &All, SmallPtrSetImpl<Value *> &Seen, unsigned Depth) {
  if (!Seen.insert(Pointer).second) return;
  for (Use &U : Pointer->uses())
    if (isa<Instruction>(U.getUser())) collectUse(F, U, Offset, All, Seen, Depth);
}

// Is something read before it is written?
bool readsFirst(Function &F, const Accesses &All) {
  if (All.Writes.empty() || All.Reads.empty()) return !All.Reads.empty();
  DominatorTree Tree(F);
  return any_of(All.Reads, [&](const Access &Read) {
    return none_of(All.Writes, [&](const Access &Write) {
      bool Covers = Write.Offset == Read.Offset || (Write.Offset == Everywhere && isa<CallBase>(Write.At));
      return Covers && Write.At != Read.At && Tree.dominates(Write.At, Read.At);
    });
  });
}

} // namespace

MemoryUse memoryUse(Function &F, unsigned Number, unsigned Depth) {
  Accesses All;
  SmallPtrSet<Value *, 16> Seen;
  collect(F, F.getArg(Number), 0, All, Seen, Depth);
  MemoryUse Use{All.Escapes, All.Escapes || All.Indexes, All.NamesFile, All.Escapes || All.MayWrite};
  Use.Reads |= readsFirst(F, All);
  return Use;
}

namespace {

// The use of a variable by an instruction, directly or through a constant address in it.
void collectConstant(Function &F, Use &U, std::map<const GlobalVariable *, Accesses> &All, SmallPtrSetImpl<Value *> &Seen) {
  auto *K = dyn_cast<Constant>(U.get());
  if (!K || !K->getType()->isPointerTy()) return;
  const DataLayout &DL = F.getParent()->getDataLayout();
  APInt Offset(DL.getIndexTypeSizeInBits(K->getType()), 0);
  Value *Base = K->stripAndAccumulateConstantOffsets(DL, Offset, /*AllowNonInbounds=*/true);
  auto *G = dyn_cast<GlobalVariable>(Base);
  auto Known = G ? All.find(G) : All.end();
  if (Known != All.end()) collectUse(F, U, Offset.getSExtValue(), Known->second, Seen, 0);
}

} // namespace

void noteVariableUses(Function &F, References &All) {
  std::map<const GlobalVariable *, Accesses> Found;
  for (GlobalVariable *G : All.Variables) Found[G];
  SmallPtrSet<Value *, 16> Seen;
  for (Instruction &I : instructions(F))
    for (Use &U : I.operands()) collectConstant(F, U, Found, Seen);
  for (GlobalVariable *G : All.Variables) {
    const Accesses &Own = Found[G];
    // Where nothing is seen, its address is hidden in another constant.
    bool IsHidden = Own.Escapes || (Own.Reads.empty() && Own.Writes.empty());
    bool Reads = IsHidden || readsFirst(F, Own), Writes = IsHidden || Own.MayWrite;
    All.Uses.push_back((Reads ? PEN_USE_READ : 0) | (Writes ? PEN_USE_WRITE : 0));
  }
}

} // namespace pen
