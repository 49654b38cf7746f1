// Translates stores: the memory after a store. A store to an object may also write to any other object that may overlap
// it.
#include "smt.h"

namespace pen::smt {
using namespace llvm;

// The maximum number of cells, which limits the number of lines for joins in a long function.
static constexpr size_t MostCells = 512;
// The maximum number of places of an object that keep their values after a store at a variable offset.
static constexpr size_t MostPlaces = 32;

// Removes the range [From, To) of an object. The rest of a cell that overlaps it stays.
void Translator::cut(Memory &M, unsigned Object, int64_t From, int64_t To) {
  std::vector<std::pair<int64_t, Cell>> Left;
  for (auto It = M.Cells.lower_bound({Object, INT64_MIN}); It != M.Cells.end() && It->first.first == Object;) {
    int64_t Start = It->first.second, End = Start + It->second.Size;
    if (End <= From || To <= Start) {
      ++It;
      continue;
    }
    const Val &V = It->second.Value;
    auto Keep = [&](int64_t A, int64_t B) {
      if (A >= B) return;
      Term Bits =
          "(" + indexed("extract", {unsigned(B - Start) * 8 - 1, unsigned(A - Start) * 8}) + " " + bitsOf(V) + ")";
      Sort Part = Sort::bits((B - A) * 8);
      Left.push_back({A, {unsigned(B - A), Val::scalar(Part, S.define(Part, Bits), V.Poison)}});
    };
    if (It->second.isWhole()) Keep(Start, From), Keep(To, End);
    else if (Start < From || To < End) M.Own[Object] = newEpoch();
    It = M.Cells.erase(It);
  }
  for (auto &[At, C] : Left) M.Cells[{Object, At}] = C;
}

// Unknown code may have written to these objects. The cells of the object `Kept` stay.
void Translator::forgetEach(Memory &M, function_ref<bool(unsigned)> IsWritten, std::optional<unsigned> Kept) {
  removeIf(M.Cells, [&](auto &Each) { return Each.first.first != Kept && IsWritten(Each.first.first); });
  removeIf(M.Own, [&](auto &Each) { return IsWritten(Each.first); });
  removeIf(M.Clean, IsWritten);
  M.Epoch = newEpoch();
}

void Translator::forgetObject(Memory &M, unsigned Object) {
  forgetEach(M, [&](unsigned O) { return O == Object; });
}

static bool isEscaped(const Object &O) { return O.K != Object::Stack || O.Captured; }

void Translator::forgetEscaped(Memory &M) {
  forgetEach(M, [&](unsigned O) { return isEscaped(Objects[O]); });
}

void Translator::forgetAll(Memory &M) {
  forgetEach(M, [](unsigned) { return true; });
}

void Translator::forget(Memory &M, const Val &Address, std::optional<uint64_t> Size) {
  if (Address.K != Val::Pointer || Address.Poison != "false") return forgetAll(M);
  bool IsPart = Address.Offset && Size;
  if (IsPart) cut(M, Address.Base, *Address.Offset, *Address.Offset + *Size);
  forgetEach(
      M, [&](unsigned O) { return mayAlias(Address.Base, O); }, IsPart ? std::optional(Address.Base) : std::nullopt);
}

// Stores at a variable offset. A place that the store overlaps gets a fresh value, or the stored one if it is the same
// place; any other place keeps its value.
void Translator::storeSomewhere(Memory &M, const Val &Address, const Val &V, unsigned Size) {
  std::map<int64_t, Cell> Known = placesOf(M, Address.Base);
  forget(M, Address, std::nullopt);
  if (Known.size() > MostPlaces) return;
  for (auto &[At, Old] : Known) {
    Term From = literal(APInt(PointerBits, At, true));
    auto IsBelow = [&](const Term &A, const Term &B, unsigned Bytes) {
      return apply("bvult", {apply("bvsub", {A, B}), literal(APInt(PointerBits, Bytes))});
    };
    Term Overlap =
        S.defineBool(either(IsBelow(Address.OffsetText, From, Old.Size), IsBelow(From, Address.OffsetText, Size)));
    Sort Kind = Old.Value.S;
    Val Any = shared([&] { return Val::scalar(Kind, S.fresh(Kind, "store to an element")); }, std::to_string(At));
    Any.Poison = V.Poison;
    Val New = chooseBytes(Overlap, Any, Old.Value, Old.Size);
    if (Old.Size == Size && Cell{Size, V}.isWhole())
      New = chooseBytes(apply("=", {Address.OffsetText, From}), V, New, Size);
    if (New.K != Val::Unknown) M.Cells[{Address.Base, At}] = {Old.Size, New};
  }
}

// The known places of an object: values that were stored, and values that were read and not overwritten.
std::map<int64_t, Cell> Translator::placesOf(const Memory &M, unsigned Object) {
  std::map<int64_t, Cell> All;
  for (auto It = M.Cells.lower_bound({Object, INT64_MIN}); It != M.Cells.end() && It->first.first == Object; ++It)
    if (It->second.isWhole()) All.insert({It->first.second, It->second});
  unsigned Epoch = M.epochOf(Object);
  for (auto It = Contents.lower_bound({Epoch, Object, INT64_MIN, 0}); It != Contents.end(); ++It) {
    auto [From, Of, Offset, Size] = It->first;
    if (From != Epoch || Of != Object) break;
    int64_t At = Offset, End = Offset + Size;
    bool IsStored = any_of(M.Cells, [&, O = Object](auto &Each) {
      auto [Place, Start] = Each.first;
      return Place == O && Start < End && At < Start + int64_t(Each.second.Size);
    });
    auto Next = All.lower_bound(At);
    bool IsInPart = (Next != All.end() && Next->first < End) ||
                    (Next != All.begin() && std::prev(Next)->first + std::prev(Next)->second.Size > At);
    if (!IsStored && !IsInPart) All.insert({At, {Size, Val::scalar(Sort::bits(Size * 8), It->second)}});
  }
  return All;
}

void Translator::store(Memory &M, const Val &Address, const Val &V, unsigned Size) {
  bool IsKnown = Address.K == Val::Pointer && Address.Poison == "false" && V.K != Val::Unknown &&
                 V.K != Val::Aggregate && M.Cells.size() < MostCells;
  if (!IsKnown) return forget(M, Address, Size);
  if (!Address.Offset) return storeSomewhere(M, Address, V, Size);
  bool IsAlone = true;
  for (unsigned O = 0; O < Objects.size(); O++) IsAlone &= O == Address.Base || !mayAlias(Address.Base, O);
  cut(M, Address.Base, *Address.Offset, *Address.Offset + Size);
  if (!IsAlone) {
    unsigned Epoch = M.epochOf(Address.Base); // a new one if the cut removed bits that are no whole bytes
    forget(M, Address, Size);
    M.Own[Address.Base] = Epoch;
  }
  M.Cells[{Address.Base, *Address.Offset}] = {Size, V};
}

void Translator::removeObjectsFrom(unsigned First) {
  Objects.resize(First);
  removeIf(Globals, [&](auto &Each) { return Each.second >= First; });
  removeIf(Contents, [&](auto &Each) { return std::get<1>(Each.first) >= First; });
  if (Pair) Pair->removeObjectsFrom(First);
}

} // namespace pen::smt
