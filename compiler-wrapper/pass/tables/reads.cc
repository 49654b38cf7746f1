// Analyses how a function uses the memory that a pointer parameter points to. If the function does not read it before
// it writes it, the memory is an output, and a search must not vary its contents. If the function uses the pointer
// without an index, the pointer leads to one object.
#include "../plugin.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BuildLibCalls.h"

namespace pen {
using namespace llvm;

namespace {

constexpr unsigned MaxDepth = 6;
constexpr int64_t Everywhere = -1;
constexpr int64_t Covered = -2; // after a write of the same bytes
constexpr char LibraryAttribute[] = "pen-library";

// One access through the pointer, at an offset in bytes, or at an unknown offset (`Everywhere`).
struct Access {
  Instruction *At;
  int64_t Offset;
};

// A call that passes the pointer to a function without a known body or meaning.
struct Handing {
  Access Call;
  Function *To;
  unsigned Argument;
};

struct Accesses {
  std::vector<Access> Reads, Writes;
  std::vector<Handing> Handed;
  bool Escapes = false, Indexes = false, NamesFile = false, IsNumber = false;
  bool MayWrite = false;
};

// A walk over the uses of one pointer.
struct Walk {
  Function &F;
  MemoryUses &Callees;
  unsigned Depth; // of calls
  Accesses &All;
  SmallPtrSetImpl<Value *> &Seen;
};

void collect(Walk &W, Value *Pointer, int64_t Offset);

// Whether the function opens a file whose name is its argument with this number.
bool opensFile(const Function &F, unsigned Number) {
  // The constructors and `open` of the C++ file streams take the object before the name. All of them have this
  // parameter.
  if (F.getName().starts_with("_ZNSt14basic_ifstreamI") || F.getName().starts_with("_ZNSt13basic_fstreamI"))
    return Number == 1 && F.getName().contains("EPKcSt13_Ios_Openmode");
  return Number == 0 && is_contained({"fopen", "fopen64", "open", "open64", "freopen", "freopen64"}, F.getName());
}

bool isOfLibrary(const Function &F) { return F.hasFnAttribute(LibraryAttribute); }

// How a function of the C library uses the memory of its argument. For most functions LLVM knows whether they only read
// or only write.
MemoryUse libraryUse(const CallBase &Call, unsigned Number) {
  bool OnlyReads = Call.onlyReadsMemory() || Call.onlyReadsMemory(Number);
  bool OnlyWrites = Call.onlyWritesMemory() || Call.onlyWritesMemory(Number);
  return {!OnlyWrites, true, false, !OnlyReads};
}

void collectCall(Walk &W, CallBase &Call, const Use &U, int64_t Offset) {
  Accesses &All = W.All;
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
  MemoryUse Inner{false, true};
  if (IsKnown && W.Depth < MaxDepth) Inner = W.Callees.of(*Callee, Number, W.Depth + 1);
  else if (Callee && isOfLibrary(*Callee)) Inner = libraryUse(Call, Number);
  else if (Callee && !Callee->isIntrinsic() && Call.isArgOperand(&U))
    All.Handed.push_back({{&Call, Offset}, Callee, Number});
  All.NamesFile |= Inner.NamesFile;
  if (Inner.Reads) All.Reads.push_back({&Call, Offset});
  for (const PassedOn &Next : Inner.Passed)
    All.Handed.push_back({{&Call, Next.IsFirst ? Offset : Covered}, Next.To, Next.Argument});
  All.Indexes |= Inner.Indexes;
  All.IsNumber |= Inner.IsNumber;
  All.MayWrite |= Inner.Writes;
  if (Inner.Writes) All.Writes.push_back({&Call, Everywhere});
}

// Adds the accesses of one use of the pointer by an instruction.
void collectUse(Walk &W, Use &U, int64_t Offset) {
  Accesses &All = W.All;
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
    bool IsConstant = Offset != Everywhere && Gep->accumulateConstantOffset(W.F.getParent()->getDataLayout(), More);
    collect(W, Gep, IsConstant ? Offset + More.getSExtValue() : Everywhere);
  } else if (isa<PtrToIntInst>(I)) {
    All.IsNumber = true;
    collect(W, I, Everywhere);
  } else if (isa<PHINode>(I) || isa<SelectInst>(I) || isa<CastInst>(I)) {
    collect(W, I, Everywhere);
  } else if (auto *Call = dyn_cast<CallBase>(I)) {
    collectCall(W, *Call, U, Offset);
  }
}

void collect(Walk &W, Value *Pointer, int64_t Offset) {
  if (!W.Seen.insert(Pointer).second) return;
  for (Use &U : Pointer->uses())
    if (isa<Instruction>(U.getUser())) collectUse(W, U, Offset);
}

// Whether a read is not preceded by a write of the same bytes.
bool comesFirst(const DominatorTree &Tree, ArrayRef<Access> Writes, const Access &Read) {
  return Read.Offset != Covered && none_of(Writes, [&](const Access &Write) {
    bool Covers = Write.Offset == Read.Offset || (Write.Offset == Everywhere && isa<CallBase>(Write.At));
    return Covers && Write.At != Read.At && Tree.dominates(Write.At, Read.At);
  });
}

// Whether any read is.
bool readsFirst(Function &F, const Accesses &All) {
  if (All.Writes.empty() || All.Reads.empty()) return !All.Reads.empty();
  DominatorTree Tree(F);
  return any_of(All.Reads, [&](const Access &Read) { return comesFirst(Tree, All.Writes, Read); });
}

std::vector<PassedOn> passedOn(Function &F, const Accesses &All) {
  std::vector<PassedOn> Passed;
  if (All.Handed.empty()) return Passed;
  DominatorTree Tree(F);
  for (const Handing &Next : All.Handed) {
    bool IsFirst = comesFirst(Tree, All.Writes, Next.Call);
    auto Known = find_if(Passed, [&](const PassedOn &P) { return P.To == Next.To && P.Argument == Next.Argument; });
    if (Known == Passed.end()) Passed.push_back({Next.To, Next.Argument, IsFirst});
    else Known->IsFirst |= IsFirst;
  }
  return Passed;
}

} // namespace

void noteLibrary(Module &M, FunctionAnalysisManager &FAM) {
  for (Function &F : M) {
    LibFunc Known;
    if (!F.isDeclaration() || F.isIntrinsic()) continue;
    const TargetLibraryInfo &Library = FAM.getResult<TargetLibraryAnalysis>(F);
    if (!Library.getLibFunc(F, Known) || !Library.has(Known)) continue;
    inferNonMandatoryLibFuncAttrs(F, Library);
    F.addFnAttr(LibraryAttribute);
  }
}

const MemoryUse &MemoryUses::of(Function &F, unsigned Number, unsigned Depth) {
  auto Key = std::tuple(&F, Number, Depth);
  if (auto Found = Known.find(Key); Found != Known.end()) return Found->second;
  Accesses All;
  SmallPtrSet<Value *, 16> Seen;
  Walk W{F, *this, Depth, All, Seen};
  collect(W, F.getArg(Number), 0);
  MemoryUse Use{All.Escapes, All.Escapes || All.Indexes, All.NamesFile, All.Escapes || All.MayWrite, passedOn(F, All)};
  Use.Reads |= readsFirst(F, All);
  Use.IsNumber = All.IsNumber;
  return Known.emplace(Key, std::move(Use)).first->second;
}

namespace {

// Adds the accesses of one use of a variable by an instruction, directly or through a constant address.
void collectConstant(Function &F, Use &U, std::map<const GlobalVariable *, Accesses> &All,
                     MemoryUses &Callees, SmallPtrSetImpl<Value *> &Seen) {
  auto *K = dyn_cast<Constant>(U.get());
  if (!K || !K->getType()->isPointerTy()) return;
  const DataLayout &DL = F.getParent()->getDataLayout();
  APInt Offset(DL.getIndexTypeSizeInBits(K->getType()), 0);
  Value *Base = K->stripAndAccumulateConstantOffsets(DL, Offset, /*AllowNonInbounds=*/true);
  auto *G = dyn_cast<GlobalVariable>(Base);
  auto Known = G ? All.find(G) : All.end();
  if (Known == All.end()) return;
  Walk W{F, Callees, 0, Known->second, Seen};
  collectUse(W, U, Offset.getSExtValue());
}

} // namespace

void noteVariableUses(Function &F, References &All, MemoryUses &Callees) {
  std::map<const GlobalVariable *, Accesses> Found;
  for (GlobalVariable *G : All.Variables) Found[G];
  SmallPtrSet<Value *, 16> Seen;
  for (Instruction &I : instructions(F))
    for (Use &U : I.operands()) collectConstant(F, U, Found, Callees, Seen);
  for (GlobalVariable *G : All.Variables) {
    const Accesses &Own = Found[G];
    // If no access is visible, another constant contains its address.
    bool IsHidden = Own.Escapes || (Own.Reads.empty() && Own.Writes.empty());
    bool Reads = IsHidden || readsFirst(F, Own), Writes = IsHidden || Own.MayWrite;
    All.Uses.push_back((Reads ? PEN_USE_READ : 0) | (Writes ? PEN_USE_WRITE : 0));
  }
}

} // namespace pen
