// Translates memory: values stored at constant offsets of objects that cannot overlap (stores.cc). Every other value
// read from memory is fresh.
#include "smt.h"

#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Operator.h"

namespace pen::smt {
using namespace llvm;

// The maximum number of elements of a table that is read at a variable index.
static constexpr uint64_t MostElements = 256;

bool Translator::mayAlias(unsigned A, unsigned B) const {
  const Object &One = Objects[A], &Other = Objects[B];
  if (A == B) return true;
  if (One.K != Object::Foreign && Other.K != Object::Foreign) return false;
  // the pointers of an input lead to distinct blocks
  if (HasFewRounds && !One.Origin.empty() && !Other.Origin.empty()) return false;
  return One.Captured && Other.Captured;
}

// Whether all uses of an address in the module are reads.
bool isOnlyRead(const Value &Address) {
  for (const User *U : Address.users()) {
    if (auto *Load = dyn_cast<LoadInst>(U)) {
      if (Load->isVolatile()) return false;
    } else if (isa<GEPOperator>(U)) {
      if (!isOnlyRead(*U)) return false;
    } else {
      return false;
    }
  }
  return true;
}

// Whether a variable always has its initial value: it is constant, or this module only reads it and no other module
// writes it.
bool Translator::isConstant(const GlobalVariable &G) {
  if (!G.hasDefinitiveInitializer()) return false;
  auto [Found, IsNew] = ConstantGlobals.try_emplace(&G, false);
  if (IsNew) {
    bool IsRead = !HasGlobalInputs && (G.hasLocalLinkage() || Unwritten.count(G.getName().str())) && isOnlyRead(G);
    Found->second = G.isConstant() || IsRead;
    if (IsRead && !G.isConstant() && !G.hasLocalLinkage())
      Assumptions.insert("closed world: " + G.getName().str() + " is not written outside of these sources");
  }
  return Found->second;
}

std::optional<Term> Translator::constantBits(const GlobalVariable &G, int64_t Offset, unsigned Size) {
  if (Offset < 0 || !isConstant(G)) return std::nullopt;
  Type *T = IntegerType::get(G.getContext(), Size * 8);
  auto *Init = const_cast<Constant *>(G.getInitializer());
  Constant *Bits = ConstantFoldLoadFromConst(Init, T, APInt(64, Offset, true), Layout);
  if (auto *Int = dyn_cast_or_null<ConstantInt>(Bits)) return literal(Int->getValue());
  return std::nullopt;
}

// An element of a constant table at a variable index.
std::optional<Val> Translator::elementOfTable(const GlobalVariable &G, const Val &Address, Type *T) {
  unsigned Size = Layout.getTypeStoreSize(T);
  uint64_t All = Layout.getTypeAllocSize(G.getValueType());
  if (!isConstant(G) || Size == 0 || All / Size > MostElements) return std::nullopt;
  Term Bits = S.fresh(Sort::bits(Size * 8), "element outside of " + G.getName().str());
  for (uint64_t At = 0; At + Size <= All; At += Size) {
    std::optional<Term> Element = constantBits(G, At, Size);
    if (!Element) return std::nullopt;
    Bits = S.define(Sort::bits(Size * 8),
                    smt::choose(apply("=", {Address.OffsetText, literal(APInt(64, At))}), *Element, Bits));
  }
  return fromBits(T, Bits, Address.Poison);
}

// The value of `Size` bytes, from one cell or from adjacent cells (lower offsets first).
std::optional<Val> Translator::cellsAt(Memory &M, unsigned Object, int64_t Offset, unsigned Size) {
  std::optional<Term> Bits;
  Term Poison = "false";
  int64_t At = Offset, End = Offset + Size;
  auto It = M.Cells.upper_bound({Object, Offset});
  if (It == M.Cells.begin()) return std::nullopt;
  for (--It; At < End; ++It) {
    if (It == M.Cells.end() || It->first.first != Object) return std::nullopt;
    int64_t From = It->first.second, To = From + It->second.Size;
    const Val &V = It->second.Value;
    if (From > At || To <= At || !It->second.isWhole()) return std::nullopt;
    int64_t Last = std::min(To, End);
    Term Part = bitsOf(V);
    if (From != At || To != Last)
      Part = S.define(Sort::bits((Last - At) * 8),
                      "(" + indexed("extract", {unsigned(Last - From) * 8 - 1, unsigned(At - From) * 8}) + " " + Part +
                          ")");
    Bits = Bits ? S.define(Sort::bits((Last - Offset) * 8), apply("concat", {Part, *Bits})) : Part;
    Poison = S.defineBool(either(Poison, V.Poison));
    At = Last;
  }
  return Val::scalar(Sort::bits(Size * 8), *Bits, Poison);
}

Memory Translator::initialMemory() {
  Memory M;
  M.Epoch = Initial = newEpoch();
  return M;
}

// The contents of a place that was not stored to in the current epoch. In the first epoch they are an input, if a
// pointer of the input leads there. One place may have several names if it is read in several sizes or through several
// pointers. Then solvers may choose contradictory values, and executing the model detects it.
//
// Two objects with one origin have the same bits: a store that is executed between their creations finds the first one
// among the objects, and begins another epoch.
Term Translator::contents(Memory &M, unsigned Object, int64_t Offset, unsigned Size, const std::string &Why) {
  Term &Known = Contents[{M.epochOf(Object), Object, Offset, Size}];
  if (!Known.empty()) return Known;
  const Term &Origin = Objects[Object].Origin;
  if (M.epochOf(Object) != Initial || Origin.empty() || Offset < 0) return Known = S.fresh(Sort::bits(Size * 8), Why);
  Known = Origin + "." + std::to_string(Offset) + "x" + std::to_string(Size);
  if (Inputs.insert(Known).second) S.fresh(Sort::bits(Size * 8), Why, Known);
  return Known;
}

Val Translator::load(Memory &M, const Val &Address, Type *T, const std::string &Why) {
  if (auto *Struct = dyn_cast<StructType>(T)) {
    Val V;
    V.K = Val::Aggregate;
    for (unsigned I = 0; I < Struct->getNumElements(); I++) {
      uint64_t At = Layout.getStructLayout(Struct)->getElementOffset(I);
      V.Parts.push_back(load(M, pointerInto(Address, At, literal(APInt(64, At))), Struct->getElementType(I), Why));
    }
    return V;
  }
  std::optional<Sort> Known = sortOf(T);
  if (!Known || Address.K != Val::Pointer) return fresh(T, Why);
  unsigned Size = Layout.getTypeStoreSize(T);
  unsigned Width = Known->K == Sort::Bool ? 1 : Known->Width;
  const GlobalVariable *G = Objects[Address.Base].Variable;
  if (G && !Address.Offset && Width == Size * 8)
    if (std::optional<Val> Element = elementOfTable(*G, Address, T)) return *Element;
  if (!Address.Offset || Address.Poison != "false") {
    if (Address.Poison != "false") return fresh(T, Why);
    return shared([&] { return fresh(T, Why); }, Address.Text + " in " + std::to_string(M.epochOf(Address.Base)));
  }
  int64_t Offset = *Address.Offset;
  auto Exact = M.Cells.find({Address.Base, Offset});
  if (Exact != M.Cells.end() && Exact->second.Size == Size) {
    const Val &V = Exact->second.Value;
    if (V.K == Val::Pointer && T->isPointerTy()) return V;
    if (V.K == Val::Scalar && !T->isPointerTy() && V.S == *Known) return V;
  }
  if (Width != Size * 8) return fresh(T, Why); // bool, and bit-precise integers without a whole number of bytes
  if (std::optional<Val> Stored = cellsAt(M, Address.Base, Offset, Size))
    return fromBits(T, Stored->Text, Stored->Poison);
  if (G)
    if (std::optional<Term> Bits = constantBits(*G, Offset, Size)) return fromBits(T, *Bits, "false");
  bool IsPartlyStored = false;
  for (auto &[Place, Stored] : M.Cells)
    IsPartlyStored |=
        Place.first == Address.Base && Place.second < Offset + Size && Offset < Place.second + Stored.Size;
  if (IsPartlyStored) return fresh(T, Why);
  if (Objects[Address.Base].K == Object::Stack && M.Clean.count(Address.Base)) return undefined(T);
  return fromBits(T, contents(M, Address.Base, Offset, Size, Why), "false");
}

// The value at a place: as it was stored, or as bits.
Val Translator::valueAt(Memory &M, std::pair<unsigned, int64_t> Place, unsigned Size) {
  auto Found = M.Cells.find(Place);
  if (Found != M.Cells.end()) return Found->second.Value;
  Val Address = pointerTo(Place.first, literal(APInt(64, 0)));
  Address.Offset = Place.second;
  return load(M, Address, IntegerType::get(C, Size * 8), "memory");
}

// Chooses between two values of one place, by their bits if they have different types.
Val Translator::chooseBytes(const Term &When, const Val &A, const Val &B, unsigned Size) {
  if (A.K == Val::Unknown || B.K == Val::Unknown || (A.K == B.K && A.S == B.S)) return choose(When, A, B);
  if (!Cell{Size, A}.isWhole() || !Cell{Size, B}.isWhole()) return Val();
  Sort Bits = Sort::bits(Size * 8);
  return choose(When, Val::scalar(Bits, bitsOf(A), A.Poison), Val::scalar(Bits, bitsOf(B), B.Poison));
}

// Merges the memories of several paths that join.
Memory Translator::merge(ArrayRef<std::pair<Term, Memory *>> Ways) {
  Memory M = *Ways.front().second;
  if (Ways.size() == 1) return M;
  std::map<std::pair<unsigned, int64_t>, unsigned> Places;
  std::set<std::pair<unsigned, int64_t>> Differing;
  std::set<unsigned> Own;
  bool IsOneEpoch = true;
  for (auto &[When, From] : Ways) {
    removeIf(M.Clean, [&, From = From](unsigned Object) { return !From->Clean.count(Object); });
    IsOneEpoch &= From->Epoch == M.Epoch;
    for (auto &[Object, Epoch] : From->Own) Own.insert(Object);
    for (auto &[Place, Stored] : From->Cells)
      if (auto [Found, IsNew] = Places.try_emplace(Place, Stored.Size); !IsNew && Found->second != Stored.Size)
        Differing.insert(Place);
  }
  for (unsigned Object : Own) {
    unsigned Epoch = Ways.front().second->epochOf(Object);
    bool IsOne = all_of(Ways, [&](auto &Way) { return Way.second->epochOf(Object) == Epoch; });
    M.Own[Object] = IsOne ? Epoch : newEpoch();
  }
  if (!IsOneEpoch) M.Epoch = newEpoch();
  M.Cells.clear();
  for (auto &[Place, Size] : Places) {
    if (Differing.count(Place)) {
      M.Clean.erase(Place.first);
      M.Own[Place.first] = newEpoch();
      continue;
    }
    std::optional<Val> Merged;
    // The last path needs no condition, because control came from one of them.
    for (auto &[When, From] : reverse(Ways)) {
      Val Here = valueAt(*From, Place, Size);
      Merged = Merged ? chooseBytes(When, Here, *Merged, Size) : Here;
    }
    if (Merged && Merged->K != Val::Unknown) M.Cells[Place] = {Size, *Merged};
    else M.Clean.erase(Place.first), M.Own[Place.first] = newEpoch();
  }
  return M;
}

} // namespace pen::smt
