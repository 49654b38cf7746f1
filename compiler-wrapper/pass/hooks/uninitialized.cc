// Local variables that may be read before they are written. Their value is undefined: the optimizer may choose another
// one at each use, and a program at -O0 reads what an earlier call left. Replays give such variables several values in
// turn (struct pen_fill): what differs between the values depends on uninitialized memory.
//
// A variable that becomes a register gets its value from the fill, at the start of its lifetime. Where a store always
// comes first, promotion removes that again, so nothing is left in the code. A variable that stays in memory is filled
// only if the fuzzer asks for it: one load and one branch. The runtime fills blocks from malloc.
#include "../plugin.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

namespace pen {
using namespace llvm;

static constexpr const char *FillName = "__pen_fill";

// Largest number of scalars of a variable that are filled one by one, and the same for a variable in memory: the code
// counts when the optimizer decides on inlining.
static constexpr unsigned MostScalars = 16, MostScalarsInMemory = 4;

bool isFill(const Value *Address) {
  auto *Global = dyn_cast<GlobalVariable>(Address->stripInBoundsConstantOffsets());
  return Global && Global->getName() == FillName;
}

static GlobalVariable *fillOf(Module &M) {
  if (GlobalVariable *Known = M.getNamedGlobal(FillName)) return Known;
  auto *T = ArrayType::get(Type::getInt8Ty(M.getContext()), sizeof(pen_fill));
  auto *Fill = new GlobalVariable(M, T, false, GlobalValue::ExternalLinkage, nullptr, FillName);
  Fill->setVisibility(GlobalValue::HiddenVisibility);
  Fill->setAlignment(Align(alignof(pen_fill)));
  return Fill;
}

static Value *part(IRBuilder<> &B, Type *T, size_t Offset) {
  GlobalVariable *Fill = fillOf(*B.GetInsertBlock()->getModule());
  Value *At = B.CreateConstInBoundsGEP1_64(B.getInt8Ty(), Fill, Offset);
  return B.CreateAlignedLoad(T, At, commonAlignment(Align(alignof(pen_fill)), Offset));
}

// Number of scalars of a type; more than MostScalars if it has a part that cannot be filled.
static unsigned scalarsOf(const DataLayout &DL, Type *T) {
  constexpr unsigned TooMany = MostScalars + 1;
  if (auto *Struct = dyn_cast<StructType>(T)) {
    unsigned N = 0;
    for (Type *Part : Struct->elements()) N = std::min(N + scalarsOf(DL, Part), TooMany);
    return N;
  }
  if (auto *Array = dyn_cast<ArrayType>(T)) {
    uint64_t N = Array->getNumElements();
    return N >= TooMany ? TooMany : std::min(unsigned(N) * scalarsOf(DL, Array->getElementType()), TooMany);
  }
  bool IsScalar = T->isIntegerTy() || T->isFloatingPointTy() || T->isPointerTy() || isa<FixedVectorType>(T);
  return IsScalar && DL.getTypeStoreSize(T).getFixedValue() <= sizeof(pen_fill::bytes) ? 1 : TooMany;
}

namespace {
// An object in memory.
struct Object {
  Value *Address;
  Align Alignment;
  Type *T;
};
} // namespace

// Stores a value in each scalar of an object, from its byte Offset on. Numbers of one function that follow each other
// differ if the fill does, so that a comparison of two of them has both outcomes. Number counts them.
static void fillScalars(IRBuilder<> &B, const DataLayout &DL, Object To, uint64_t Offset, unsigned &Number) {
  auto Part = [&](Type *T, uint64_t At) { fillScalars(B, DL, {To.Address, To.Alignment, T}, Offset + At, Number); };
  if (auto *Struct = dyn_cast<StructType>(To.T)) {
    const StructLayout *Layout = DL.getStructLayout(Struct);
    for (unsigned I = 0; I < Struct->getNumElements(); I++)
      Part(Struct->getElementType(I), Layout->getElementOffset(I));
    return;
  }
  if (auto *Array = dyn_cast<ArrayType>(To.T)) {
    uint64_t Size = DL.getTypeAllocSize(Array->getElementType()).getFixedValue();
    for (uint64_t I = 0; I < Array->getNumElements(); I++) Part(Array->getElementType(), I * Size);
    return;
  }
  unsigned At = Number++ % PEN_FILL_VALUES;
  Type *T = To.T;
  size_t From = offsetof(pen_fill, bytes);
  if (T->isPointerTy() || (T->isIntegerTy() && T->getIntegerBitWidth() <= 64))
    From = offsetof(pen_fill, integer) + At * sizeof(uint64_t);
  else if (T->isDoubleTy()) From = offsetof(pen_fill, real) + At * sizeof(double);
  else if (T->isFloatTy()) From = offsetof(pen_fill, real32) + At * sizeof(float);
  Value *Address = Offset ? B.CreateConstInBoundsGEP1_64(B.getInt8Ty(), To.Address, Offset) : To.Address;
  B.CreateAlignedStore(part(B, T, From), Address, commonAlignment(To.Alignment, Offset));
}

// Whether the first use of the variable from Start on, in its block, writes all of it. That is so for the parameters of
// a function and for a variable with an initializer.
static bool isWrittenFirst(const AllocaInst &Local, const Instruction *Start) {
  std::optional<TypeSize> Size = Local.getAllocationSize(Local.getModule()->getDataLayout());
  if (!Size || Size->isScalable()) return false;
  const DataLayout &DL = Local.getModule()->getDataLayout();
  for (const Instruction *I = Start; I; I = I->getNextNode()) {
    if (!is_contained(I->operands(), &Local) || I->isLifetimeStartOrEnd()) continue;
    if (auto *Store = dyn_cast<StoreInst>(I))
      return Store->getPointerOperand() == &Local && Store->getValueOperand() != &Local &&
             DL.getTypeStoreSize(Store->getValueOperand()->getType()) == DL.getTypeStoreSize(Local.getAllocatedType());
    auto *Written = dyn_cast<MemIntrinsic>(I);
    auto *Length = Written ? dyn_cast<ConstantInt>(Written->getLength()) : nullptr;
    return Length && Written->getRawDest() == &Local && Length->getZExtValue() == Size->getFixedValue();
  }
  return false;
}

namespace {
// A place where a variable begins to exist without a value.
struct Begin {
  AllocaInst *Local;
  Instruction *Before;
};
} // namespace

// The places where the local variables of F begin to exist, without those that a write follows.
static std::vector<Begin> uninitialized(Function &F) {
  std::vector<Begin> All;
  BasicBlock &Entry = F.getEntryBlock();
  Instruction *AfterAllocas = &*Entry.getFirstNonPHIOrDbg();
  for (Instruction &I : Entry)
    if (auto *Local = dyn_cast<AllocaInst>(&I); Local && Local->isStaticAlloca()) AfterAllocas = Local->getNextNode();
  for (Instruction &I : instructions(F)) {
    auto *Local = dyn_cast<AllocaInst>(&I);
    if (!Local || Local->isSwiftError() || Local->isUsedWithInAlloca() || Local->use_empty()) continue;
    std::vector<Instruction *> Starts;
    for (User *U : Local->users())
      if (auto *Marker = dyn_cast<IntrinsicInst>(U); Marker && Marker->getIntrinsicID() == Intrinsic::lifetime_start)
        Starts.push_back(Marker->getNextNode());
    if (Starts.empty()) Starts.push_back(Local->isStaticAlloca() ? AfterAllocas : Local->getNextNode());
    for (Instruction *Start : Starts)
      if (!isWrittenFirst(*Local, Start)) All.push_back({Local, Start});
  }
  return All;
}

void fillLocals(Function &F) {
  const DataLayout &DL = F.getParent()->getDataLayout();
  unsigned Number = 0;
  for (auto [Local, Before] : uninitialized(F)) {
    Type *T = Local->getAllocatedType();
    if (Local->isArrayAllocation() || scalarsOf(DL, T) > MostScalars) continue;
    IRBuilder<> B(Before);
    B.SetCurrentDebugLocation(DebugLoc());
    fillScalars(B, DL, {Local, Local->getAlign(), T}, 0, Number);
  }
}

// Whether a value is part of the fill, perhaps after conversions by SROA.
static bool isOfFill(const Value *V) {
  if (auto *Load = dyn_cast<LoadInst>(V)) return isFill(Load->getPointerOperand());
  auto *I = dyn_cast<Instruction>(V);
  if (!I || !(isa<CastInst>(I) || isa<BinaryOperator>(I))) return false;
  return all_of(I->operands(), [](const Use &U) { return isa<ConstantInt>(U) || isOfFill(U); });
}

// Removes the fills of variables that stay in memory, and those that nothing reads.
static void removeUnusedFills(Function &F) {
  SmallVector<WeakTrackingVH, 16> Dead;
  for (Instruction &I : make_early_inc_range(instructions(F))) {
    auto *Store = dyn_cast<StoreInst>(&I);
    if (!Store || !isa<AllocaInst>(getUnderlyingObject(Store->getPointerOperand()))) continue;
    if (!isOfFill(Store->getValueOperand())) continue;
    Dead.push_back(Store->getValueOperand());
    Dead.push_back(Store->getPointerOperand());
    Store->eraseFromParent();
  }
  for (Instruction &I : instructions(F))
    if (isOfFill(&I) && I.use_empty()) Dead.push_back(&I);
  RecursivelyDeleteTriviallyDeadInstructionsPermissive(Dead);
}

// Counts the module among those whose code reads the fill (pen_tables.fills).
static void noteFill(Module &M) {
  constexpr const char *Name = "__pen_fills";
  if (M.getNamedGlobal(Name)) return;
  auto *One = ConstantInt::get(Type::getInt8Ty(M.getContext()), 1);
  auto *Note = new GlobalVariable(M, One->getType(), true, GlobalValue::PrivateLinkage, One, Name);
  Note->setSection("pen_fills");
  appendToCompilerUsed(M, {Note});
}

void keepUsedFills(Function &F) {
  removeUnusedFills(F);
  if (any_of(instructions(F), [](const Instruction &I) { return isa<LoadInst>(I) && isOfFill(&I); }))
    noteFill(*F.getParent());
}

// Fills N objects of a type, which begin to exist before an instruction, if the fuzzer asks for it.
static void fillIfAsked(Object To, Value *N, Instruction *Before, unsigned &Number) {
  Module &M = *Before->getModule();
  const DataLayout &DL = M.getDataLayout();
  noteFill(M);
  IRBuilder<> B(Before);
  B.SetCurrentDebugLocation(DebugLoc());
  Value *On = B.CreateICmpNE(part(B, B.getInt64Ty(), offsetof(pen_fill, on)), B.getInt64(0));
  Instruction *Then =
      SplitBlockAndInsertIfThen(On, Before, false, MDBuilder(M.getContext()).createBranchWeights(1, 1 << 20));
  B.SetInsertPoint(Then);
  B.SetCurrentDebugLocation(DebugLoc());
  if (auto *One = dyn_cast<ConstantInt>(N); One && One->isOne() && scalarsOf(DL, To.T) <= MostScalarsInMemory) {
    fillScalars(B, DL, To, 0, Number);
    return;
  }
  Value *Size = B.getInt64(DL.getTypeAllocSize(To.T).getFixedValue());
  Value *Bytes = B.CreateMul(B.CreateZExtOrTrunc(N, B.getInt64Ty()), Size);
  B.CreateMemSet(To.Address, part(B, B.getInt8Ty(), offsetof(pen_fill, bytes)), Bytes, To.Alignment);
}

void fillIfAsked(Value *Address, Type *T, Instruction *Before) {
  unsigned Number = 0;
  fillIfAsked({Address, Align(1), T}, ConstantInt::get(Type::getInt64Ty(T->getContext()), 1), Before, Number);
}

// The runtime allocates in place of these functions (`--wrap`, src/link.rs). They are called by the name that they have
// there: if the optimizer knows that a block comes from malloc, it chooses values for what is read from it first.
static void callOwnAllocators(Module &M) {
  for (StringRef Name : {"malloc", "aligned_alloc", "_Znwm", "_Znam"}) {
    Function *F = M.getFunction(Name);
    if (!F || !F->isDeclaration()) continue;
    FunctionCallee Own = M.getOrInsertFunction(("__wrap_" + Name).str(), F->getFunctionType());
    cast<Function>(Own.getCallee())->setVisibility(GlobalValue::HiddenVisibility);
    for (User *U : make_early_inc_range(F->users()))
      if (auto *Call = dyn_cast<CallBase>(U); Call && Call->getCalledFunction() == F) Call->setCalledFunction(Own);
  }
}

void fillMemory(Module &M, ArrayRef<Function *> Functions) {
  for (Function *F : Functions) {
    unsigned Number = 0;
    for (auto [Local, Before] : uninitialized(*F)) {
      Type *T = Local->getAllocatedType();
      if (!T->isScalableTy()) fillIfAsked({Local, Local->getAlign(), T}, Local->getArraySize(), Before, Number);
    }
  }
  callOwnAllocators(M);
}

} // namespace pen
