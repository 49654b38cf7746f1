// Finds the types that the code uses for the memory of a `void *`, for parameters and for members of structures.
//
// C passes contexts as `void *` and casts them: `struct range *r = (struct range *)params`. The declaration leaves the
// type open. The following uses of the pointer determine it:
//
// 1. a local variable of a pointer type that holds the pointer, or a copy of the memory, as the debug information
//    records them,
// 2. the structure or number type of an address computed from the pointer (the source element type of a GEP),
// 3. the numbers and pointers that are loaded or stored directly through it,
// 4. the typed parameter, member or result that receives it.
//
// The value is followed through phi, select and casts, and as an argument into functions of the module. Structures take
// precedence over numbers, and uses in the function itself over uses in its callees. If one structure begins with
// another one, it counts for both. Other contradictions leave the type open. `char *` is bytes, like `void *`.
#include "../plugin.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/GetElementPtrTypeIterator.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

namespace pen {
using namespace llvm;

namespace {

constexpr unsigned MaxCalls = 6; // limit of nested calls through which a pointer is followed
constexpr unsigned MaxPointers = 2; // limit of pointers to pointers

// The types found for the memory of one pointer, each once: in the function itself, and in its callees.
struct Findings {
  SmallVector<const DIType *, 2> Own, Called;
};

// A variable of the source, or a part of one, that holds a value.
struct Holder {
  const DIType *Type;
  uint64_t Bit; // of the variable, at which the value begins
};

// The variables of one function.
struct Variables {
  DenseMap<const Value *, SmallVector<Holder, 2>> Held; // in registers
  DenseMap<const Value *, const DIType *> Slots;        // in memory
};

const DICompositeType *compositeOf(const DIType *T) {
  auto *C = dyn_cast_or_null<DICompositeType>(bareOf(T).Type);
  return C && C->getTag() != dwarf::DW_TAG_enumeration_type && C->getTag() != dwarf::DW_TAG_array_type ? C : nullptr;
}

// The element of an array, else the type itself.
const DIType *elementOf(const DIType *T) {
  auto *Array = dyn_cast_or_null<DICompositeType>(bareOf(T).Type);
  return Array && Array->getTag() == dwarf::DW_TAG_array_type ? elementOf(Array->getBaseType()) : T;
}

// Whether a type is a pointer. Sets `To` to the type that it points to: null for `void`.
bool isPointer(const DIType *T, const DIType *&To) {
  auto *D = dyn_cast_or_null<DIDerivedType>(bareOf(T).Type);
  if (!D || (D->getTag() != dwarf::DW_TAG_pointer_type && D->getTag() != dwarf::DW_TAG_reference_type)) return false;
  To = D->getBaseType();
  return true;
}

const DIType *unqualified(const DIType *T) {
  while (auto *D = dyn_cast_or_null<DIDerivedType>(T)) {
    if (!is_contained({dwarf::DW_TAG_const_type, dwarf::DW_TAG_volatile_type, dwarf::DW_TAG_atomic_type}, D->getTag()))
      break;
    T = D->getBaseType();
  }
  return T;
}

bool isSame(const DIType *A, const DIType *B) {
  const DIType *Left = bareOf(A).Type, *Right = bareOf(B).Type;
  if (Left == Right) return true;
  if (!Left || !Right) return false;
  const DIType *ToLeft, *ToRight;
  if (isPointer(A, ToLeft) && isPointer(B, ToRight)) return isSame(ToLeft, ToRight);
  if (Left->getTag() != Right->getTag() || Left->getSizeInBits() != Right->getSizeInBits()) return false;
  auto *X = dyn_cast<DIBasicType>(Left), *Y = dyn_cast<DIBasicType>(Right);
  bool Floats = X && Y && (X->getEncoding() == dwarf::DW_ATE_float) == (Y->getEncoding() == dwarf::DW_ATE_float);
  // Structures of modules that were linked have several descriptions.
  return Floats || (compositeOf(A) && !Left->getName().empty() && Left->getName() == Right->getName());
}

// Whether the bytes of A begin with a B.
bool beginsWith(const DIType *A, const DIType *B) {
  if (isSame(A, B)) return true;
  auto *C = compositeOf(A);
  if (!C || C->getTag() == dwarf::DW_TAG_union_type) return false;
  return any_of(C->getElements(), [B](const DINode *N) {
    auto *M = dyn_cast<DIDerivedType>(N);
    return M && !M->isStaticMember() && M->getOffsetInBits() == 0 && compositeOf(M->getBaseType()) &&
           beginsWith(M->getBaseType(), B);
  });
}

void note(SmallVectorImpl<const DIType *> &To, const DIType *T) {
  T = unqualified(elementOf(T));
  const DIType *Bare = bareOf(T).Type;
  auto *Number = dyn_cast_or_null<DIBasicType>(Bare);
  const DIType *Inner;
  bool Counts = compositeOf(T) || isPointer(T, Inner) || (Number && Number->getSizeInBits() > 8) ||
                (Bare && Bare->getTag() == dwarf::DW_TAG_enumeration_type);
  if (Counts && none_of(To, [T](const DIType *Known) { return isSame(Known, T); })) To.push_back(T);
}

// A member of a structure, and its place.
struct MemberPlace {
  const DIType *Of = nullptr; // the innermost structure
  uint64_t Byte = 0;
  const DIType *Member = nullptr;
};

// The member at this byte of a type, inside of all nested structures and arrays.
MemberPlace memberAt(const DIType *T, uint64_t Byte) {
  if (const DIType *Element = elementOf(T); Element != T) {
    unsigned Size = typeBytes(Element);
    return Size > 0 ? memberAt(Element, Byte % Size) : MemberPlace{};
  }
  auto *C = compositeOf(T);
  if (!C || C->getTag() == dwarf::DW_TAG_union_type) return {};
  for (const DINode *N : C->getElements()) {
    auto *M = dyn_cast<DIDerivedType>(N);
    if (!M || M->isStaticMember() || M->isBitField()) continue;
    const DIType *Of = M->getBaseType();
    uint64_t From = M->getOffsetInBits() / 8;
    if (Byte < From || Byte >= From + typeBytes(Of)) continue;
    if (elementOf(Of) != Of || compositeOf(Of)) return memberAt(Of, Byte - From);
    return Byte == From ? MemberPlace{T, Byte, Of} : MemberPlace{};
  }
  return {};
}

const DIType *resultOf(const Function &F) {
  DISubprogram *SP = F.getSubprogram();
  DITypeRefArray Types = SP && SP->getType() ? SP->getType()->getTypeArray() : DITypeRefArray(nullptr);
  return Types && Types.size() > 0 ? Types[0] : nullptr;
}

// The declared type of an argument; null if the parameters do not correspond to the arguments of the IR.
const DIType *declaredType(const Function &F, unsigned Number) {
  DISubprogram *SP = F.getSubprogram();
  DITypeRefArray Types = SP && SP->getType() ? SP->getType()->getTypeArray() : DITypeRefArray(nullptr);
  return Types && Types.size() == F.arg_size() + 1 && Number < F.arg_size() ? Types[Number + 1] : nullptr;
}

// A pointer to this type.
const DIType *pointerTo(DIBuilder &B, const DIType *T, bool Const) {
  auto *To = const_cast<DIType *>(T);
  return B.createPointerType(Const ? B.createQualifiedType(dwarf::DW_TAG_const_type, To) : To, 64);
}

class VoidPointers {
public:
  explicit VoidPointers(Context &X) : X(X), Builder(X.M, false) { findStructures(); }

  Casts castsOf(Function &F) {
    Casts Found;
    for (Argument &A : F.args())
      if (A.getType()->isPointerTy())
        if (const DIType *T = chosen(of(F, A, 0)).first) Found.Arguments[A.getArgNo()] = T;
    std::vector<std::pair<MemberPlace, Findings>> Members;
    for (Instruction &I : instructions(F)) {
      auto *Load = dyn_cast<LoadInst>(&I);
      const DIType *To;
      if (!Load || !Load->getType()->isPointerTy()) continue;
      MemberPlace P = memberBehind(*Load->getPointerOperand());
      if (!P.Of || !isPointer(P.Member, To) || bareOf(To).Type) continue;
      auto Same = [&P](auto &Known) {
        return Known.first.Byte == P.Byte && bareOf(Known.first.Of).Type == bareOf(P.Of).Type;
      };
      auto Known = find_if(Members, Same);
      if (Known == Members.end()) Known = Members.insert(Known, {P, {}});
      add(Known->second, of(F, *Load, 0));
    }
    for (auto &[P, Types] : Members) {
      auto [T, Contradicts] = chosen(Types);
      if (T || Contradicts) Found.Members.push_back({P.Of, P.Byte, P.Member, T});
    }
    return Found;
  }

private:
  Context &X;
  DIBuilder Builder;
  std::map<std::string, const DIType *> Structures; // by name in the IR; null if several have the name
  std::map<const Function *, Variables> Locals;
  std::map<const Argument *, Findings> Known;

  void findStructures() {
    DebugInfoFinder Finder;
    Finder.processModule(X.M);
    auto name = [this](const DIType *T, const DIType *Of) {
      if (T->getName().empty() || T->getName().contains('<')) return;
      auto [At, IsNew] = Structures.try_emplace(scopeOf(T->getScope()) + T->getName().str(), Of);
      if (!IsNew && At->second && !isSame(At->second, Of)) At->second = nullptr;
    };
    for (DIType *T : Finder.types()) {
      auto *C = dyn_cast<DICompositeType>(T);
      if (C && compositeOf(C) && !C->isForwardDecl()) name(C, C);
      auto *D = dyn_cast<DIDerivedType>(T);
      // `typedef struct {…} range;` has the name of the typedef.
      if (D && D->getTag() == dwarf::DW_TAG_typedef)
        if (auto *Of = dyn_cast_or_null<DICompositeType>(D->getBaseType());
            Of && compositeOf(Of) && Of->getName().empty())
          name(D, D);
    }
  }

  const DIType *structure(const StructType *T) const {
    if (!T || !T->hasName()) return nullptr;
    StringRef Name = T->getName();
    Name = Name.substr(Name.find('.') + 1); // "struct.range"
    auto At = Structures.find(Name.str());
    if (At == Structures.end() && Name.rfind('.') != StringRef::npos)
      At = Structures.find(Name.substr(0, Name.rfind('.')).str());
    return At == Structures.end() ? nullptr : At->second;
  }

  // The type of a number with this type in the IR.
  const DIType *number(Type *T) {
    if (T->isFloatTy()) return Builder.createBasicType("float", 32, dwarf::DW_ATE_float);
    if (T->isDoubleTy()) return Builder.createBasicType("double", 64, dwarf::DW_ATE_float);
    if (T->isX86_FP80Ty()) return Builder.createBasicType("long double", 128, dwarf::DW_ATE_float);
    if (T->isIntegerTy(16)) return Builder.createBasicType("short", 16, dwarf::DW_ATE_signed);
    if (T->isIntegerTy(32)) return Builder.createBasicType("int", 32, dwarf::DW_ATE_signed);
    if (T->isIntegerTy(64)) return Builder.createBasicType("long", 64, dwarf::DW_ATE_signed);
    return nullptr;
  }

  const DIType *irType(Type *T) {
    while (auto *A = dyn_cast<ArrayType>(T)) T = A->getElementType();
    auto *S = dyn_cast<StructType>(T);
    return S ? structure(S) : number(T);
  }

  const Variables &variablesOf(Function &F) {
    auto [At, IsNew] = Locals.try_emplace(&F);
    if (!IsNew) return At->second;
    Variables &V = At->second;
    auto hold = [&V](auto &R, bool IsAddress) {
      if (R.getNumVariableLocationOps() != 1 || !R.getVariableLocationOp(0)) return;
      const DIExpression *E = R.getExpression();
      auto Fragment = E->getFragmentInfo();
      if (E->getNumElements() != (Fragment ? 3 : 0)) return;
      const DIType *T = R.getVariable()->getType();
      if (!IsAddress) V.Held[R.getVariableLocationOp(0)].push_back({T, Fragment ? Fragment->OffsetInBits : 0});
      else if (!Fragment) V.Slots[R.getVariableLocationOp(0)] = T;
    };
    for (Instruction &I : instructions(F)) {
      if (auto *D = dyn_cast<DbgVariableIntrinsic>(&I)) hold(*D, isa<DbgDeclareInst>(D));
#if LLVM_VERSION_MAJOR >= 19
      for (DbgVariableRecord &R : filterDbgVars(I.getDbgRecordRange())) hold(R, R.isDbgDeclare());
#endif
    }
    return V;
  }

  // The member of a structure at an address.
  MemberPlace memberBehind(Value &Address) {
    const DataLayout &DL = X.M.getDataLayout();
    if (auto *K = dyn_cast<Constant>(&Address)) {
      APInt Offset(DL.getIndexTypeSizeInBits(K->getType()), 0);
      auto *G = dyn_cast<GlobalVariable>(K->stripAndAccumulateConstantOffsets(DL, Offset, /*AllowNonInbounds=*/true));
      SmallVector<DIGlobalVariableExpression *, 1> Declared;
      if (G) G->getDebugInfo(Declared);
      if (Declared.empty() || Offset.isNegative()) return {};
      return memberAt(Declared[0]->getVariable()->getType(), Offset.getZExtValue());
    }
    auto *Gep = dyn_cast<GEPOperator>(&Address);
    const DIType *Of = nullptr;
    uint64_t Byte = 0;
    if (!Gep) return {};
    for (auto I = gep_type_begin(Gep), E = gep_type_end(Gep); I != E; ++I) {
      StructType *S = I.getStructTypeOrNull();
      if (!S) continue; // an index: all elements have one type
      if (const DIType *Named = structure(S)) {
        Of = Named;
        Byte = 0;
      }
      auto *Member = dyn_cast<ConstantInt>(I.getOperand());
      if (!Member) return {};
      Byte += static_cast<uint64_t>(DL.getStructLayout(S)->getElementOffset(Member->getZExtValue()));
    }
    return Of ? memberAt(Of, Byte) : MemberPlace{};
  }

  static void add(Findings &To, const Findings &From) {
    for (const DIType *T : From.Own) note(To.Own, T);
    for (const DIType *T : From.Called) note(To.Called, T);
  }

  Findings of(Function &F, Value &Pointer, unsigned Calls, unsigned Pointers = 0) {
    Findings Found;
    SmallPtrSet<Value *, 16> Seen;
    collect(F, Pointer, Found, Seen, Calls, Pointers);
    return Found;
  }

  void collect(Function &F, Value &V, Findings &Found, SmallPtrSetImpl<Value *> &Seen, unsigned Calls,
               unsigned Pointers) {
    if (!Seen.insert(&V).second) return;
    for (const Holder &H : variablesOf(F).Held.lookup(&V)) notePointee(Found.Own, H.Type);
    for (Use &U : V.uses())
      if (isa<Instruction>(U.getUser())) collectUse(F, U, Found, Seen, Calls, Pointers);
  }

  static void notePointee(SmallVectorImpl<const DIType *> &To, const DIType *Pointer) {
    const DIType *Pointee;
    if (isPointer(Pointer, Pointee)) note(To, Pointee);
  }

  void collectUse(Function &F, Use &U, Findings &Found, SmallPtrSetImpl<Value *> &Seen, unsigned Calls,
                  unsigned Pointers) {
    auto *I = cast<Instruction>(U.getUser());
    if (auto *Load = dyn_cast<LoadInst>(I)) {
      noteLoaded(F, *Load, 0, Found, Calls, Pointers);
    } else if (auto *Store = dyn_cast<StoreInst>(I)) {
      bool IsPlace = U.getOperandNo() == StoreInst::getPointerOperandIndex();
      if (IsPlace) note(Found.Own, irType(Store->getValueOperand()->getType()));
      else collectStored(F, *Store->getPointerOperand(), Found, Seen, Calls, Pointers);
    } else if (auto *Gep = dyn_cast<GetElementPtrInst>(I)) {
      collectAddress(F, *Gep, Found, Seen, Calls, Pointers);
    } else if (isa<PHINode>(I) || isa<SelectInst>(I) || isa<CastInst>(I) || isa<FreezeInst>(I)) {
      if (I->getType()->isPointerTy()) collect(F, *I, Found, Seen, Calls, Pointers);
    } else if (isa<ReturnInst>(I)) {
      notePointee(Found.Own, resultOf(F));
    } else if (auto *Call = dyn_cast<CallBase>(I)) {
      collectCall(F, *Call, U, Found, Calls);
    }
  }

  // Notes the type of a number or pointer that is loaded at this offset.
  void noteLoaded(Function &F, LoadInst &Load, uint64_t Byte, Findings &Found, unsigned Calls, unsigned Pointers) {
    Type *T = Load.getType();
    const DIType *Declared = nullptr;
    for (const Holder &H : variablesOf(F).Held.lookup(&Load)) {
      // The load is a part of a local copy of the whole structure.
      if (compositeOf(H.Type) && H.Bit == 8 * Byte) return note(Found.Own, H.Type);
      const DIType *Bare = bareOf(H.Type).Type;
      bool IsWhole = Bare && Bare->getSizeInBits() == X.M.getDataLayout().getTypeSizeInBits(T).getFixedValue();
      if (IsWhole || (T->isPointerTy() && isa_and_nonnull<DIDerivedType>(Bare))) Declared = H.Type;
    }
    const DIType *To = nullptr;
    if (Byte > 0) return;
    if (!T->isPointerTy()) return note(Found.Own, Declared ? Declared : irType(T));
    if (Declared && isPointer(Declared, To) && bareOf(To).Type) return note(Found.Own, Declared);
    if (Pointers < MaxPointers) To = chosen(of(F, Load, Calls, Pointers + 1)).first;
    note(Found.Own, pointerTo(Builder, To, false));
  }

  // Notes the types of the places where the pointer itself is stored.
  void collectStored(Function &F, Value &Place, Findings &Found, SmallPtrSetImpl<Value *> &Seen, unsigned Calls,
                     unsigned Pointers) {
    if (isa<AllocaInst>(Place)) {
      notePointee(Found.Own, variablesOf(F).Slots.lookup(&Place));
      for (User *Reader : Place.users())
        if (auto *Load = dyn_cast<LoadInst>(Reader); Load && Load->getType()->isPointerTy())
          collect(F, *Load, Found, Seen, Calls, Pointers);
      return;
    }
    if (auto *G = dyn_cast<GlobalVariable>(&Place)) {
      SmallVector<DIGlobalVariableExpression *, 1> Declared;
      G->getDebugInfo(Declared);
      if (!Declared.empty()) notePointee(Found.Own, Declared[0]->getVariable()->getType());
    }
    if (auto P = memberBehind(Place); P.Of) notePointee(Found.Own, P.Member);
  }

  // Notes the types of an address that is computed from the pointer.
  void collectAddress(Function &F, GetElementPtrInst &Gep, Findings &Found, SmallPtrSetImpl<Value *> &Seen,
                      unsigned Calls, unsigned Pointers) {
    if (!Gep.getSourceElementType()->isIntegerTy(8)) return note(Found.Own, irType(Gep.getSourceElementType()));
    APInt Offset(64, 0);
    if (!Gep.accumulateConstantOffset(X.M.getDataLayout(), Offset) || Offset.isNegative()) return;
    if (Offset.isZero()) return collect(F, Gep, Found, Seen, Calls, Pointers);
    for (User *Reader : Gep.users())
      if (auto *Load = dyn_cast<LoadInst>(Reader)) noteLoaded(F, *Load, Offset.getZExtValue(), Found, Calls, Pointers);
  }

  void collectCall(Function &F, CallBase &Call, const Use &U, Findings &Found, unsigned Calls) {
    if (auto *Copy = dyn_cast<MemTransferInst>(&Call)) {
      Value *Other = Copy->getArgOperand(U.getOperandNo() == 0 ? 1 : 0)->stripPointerCasts();
      const DIType *T = variablesOf(F).Slots.lookup(Other);
      auto *Bytes = dyn_cast<ConstantInt>(Copy->getLength());
      if (compositeOf(T) && Bytes && Bytes->getZExtValue() == typeBytes(T)) note(Found.Own, T);
      return;
    }
    Function *Callee = Call.getCalledFunction();
    unsigned Number = Call.isArgOperand(&U) ? Call.getArgOperandNo(&U) : ~0u;
    if (!Callee || Callee->isIntrinsic() || Number >= Callee->arg_size()) return;
    notePointee(Found.Called, declaredType(*Callee, Number));
    if (!isInstrumented(*Callee) || Calls >= MaxCalls) return;
    const Findings &Inner = ofArgument(*Callee, Number, Calls + 1);
    for (const DIType *T : Inner.Own) note(Found.Called, T);
    for (const DIType *T : Inner.Called) note(Found.Called, T);
  }

  const Findings &ofArgument(Function &F, unsigned Number, unsigned Calls) {
    Argument *A = F.getArg(Number);
    auto [At, IsNew] = Known.try_emplace(A); // entered before it is found, because a function may call itself
    if (!IsNew) return At->second;
    Findings Found = of(F, *A, Calls);
    return Known[A] = std::move(Found);
  }

  // The type that the findings agree on, and whether they contradict each other.
  static std::pair<const DIType *, bool> chosen(const Findings &Found) {
    for (bool Structures : {true, false})
      for (auto *All : {&Found.Own, &Found.Called}) {
        SmallVector<const DIType *, 2> Types;
        copy_if(*All, std::back_inserter(Types), [=](const DIType *T) { return bool(compositeOf(T)) == Structures; });
        if (Types.empty()) continue;
        for (const DIType *T : Types)
          if (all_of(Types, [T](const DIType *Other) { return beginsWith(T, Other); })) return {T, false};
        return {nullptr, true};
      }
    return {nullptr, false};
  }
};

} // namespace

void findCasts(Context &X, MutableArrayRef<FunctionPlan> Plans) {
  VoidPointers Pointers(X);
  for (FunctionPlan &Plan : Plans) Plan.Pointees = Pointers.castsOf(*Plan.F);
}

bool isVoidPointer(const DIType *T) {
  const DIType *To;
  return isPointer(T, To) && !bareOf(To).Type;
}

std::vector<Constant *> castRecords(Context &X, const Casts &Found, const Signature &S) {
  DIBuilder B(X.M, false);
  std::vector<Constant *> Items;
  auto add = [&](Constant *Of, uint64_t At, const DIType *Declared, const DIType *T) {
    const DIType *To = nullptr;
    isPointer(Declared, To);
    Record R(X.C,
             FIELD(pen_cast, of, Of),
             FIELD(pen_cast, to, T ? typeRecordOf(X, pointerTo(B, T, bareOf(To).Const)) : X.null()),
             FIELD(pen_cast, at, At));
    Items.push_back(R.Init);
  };
  for (unsigned I = 0; I < S.Parameters.size(); I++)
    if (const Parameter &P = S.Parameters[I]; P.Pointee) add(X.null(), I, P.Declared, P.Pointee);
  for (const MemberCast &M : Found.Members) add(typeRecordOf(X, M.Of), M.Byte, M.Declared, M.To);
  return Items;
}

} // namespace pen
