// Emits records of the types of parameters, and of the types that they lead to, as the debug information describes
// them. The fuzzer builds the memory of structures, arrays and strings from these records.
#include "../plugin.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"

namespace pen {
using namespace llvm;

Bare bareOf(const DIType *T) {
  Bare B{T, "", false};
  while (auto *D = dyn_cast_or_null<DIDerivedType>(B.Type)) {
    switch (D->getTag()) {
    case dwarf::DW_TAG_typedef:
      if (B.Typedef.empty()) B.Typedef = D->getName();
      break;
    case dwarf::DW_TAG_const_type: B.Const = true; break;
    case dwarf::DW_TAG_volatile_type: case dwarf::DW_TAG_restrict_type: case dwarf::DW_TAG_atomic_type: break;
    default: return B;
    }
    B.Type = D->getBaseType();
  }
  return B;
}

// The namespaces and classes around a type or a variable: "ns::outer::".
std::string scopeOf(const DIScope *S) {
  if (!S || isa<DIFile>(S) || isa<DICompileUnit>(S)) return "";
  if (isa<DILocalScope>(S)) return ""; // local types have no name elsewhere
  std::string Outer = scopeOf(S->getScope());
  return S->getName().empty() ? Outer : Outer + S->getName().str() + "::";
}

namespace {

std::string compositeName(const DICompositeType *T, StringRef Typedef) {
  if (T->getName().empty()) return Typedef.str();
  std::string Name = scopeOf(T->getScope()) + T->getName().str();
  // Only types of C++ have an identifier (for the one definition rule).
  if (!T->getIdentifier().empty()) return Name;
  switch (T->getTag()) {
  case dwarf::DW_TAG_structure_type: return "struct " + Name;
  case dwarf::DW_TAG_union_type: return "union " + Name;
  case dwarf::DW_TAG_enumeration_type: return "enum " + Name;
  default: return Name;
  }
}

unsigned numberOf(const DIBasicType *T) {
  uint64_t Bits = T->getSizeInBits();
  switch (T->getEncoding()) {
  case dwarf::DW_ATE_float:
    if (Bits == 16) return PEN_F16;
    if (Bits == 32) return PEN_F32;
    if (Bits == 64) return PEN_F64;
    if (Bits == 128) return T->getName() == "long double" ? PEN_F80 : PEN_F128;
    return PEN_UNSUPPORTED;
  case dwarf::DW_ATE_boolean: return Bits == 8 ? PEN_BOOL : PEN_UNSUPPORTED;
  case dwarf::DW_ATE_signed: case dwarf::DW_ATE_signed_char: return Bits == 128 ? PEN_I128 : integerKind(Bits, true);
  case dwarf::DW_ATE_unsigned: case dwarf::DW_ATE_unsigned_char: case dwarf::DW_ATE_UTF:
    return Bits == 128 ? PEN_U128 : integerKind(Bits, false);
  default: return PEN_UNSUPPORTED;
  }
}

// The fields of a record before it is emitted.
struct Draft {
  std::string Name;
  Constant *Target = nullptr, *Members = nullptr;
  uint64_t Size = 0, Count = 0;
  unsigned Kind = PEN_TYPE_OTHER, Number = PEN_UNSUPPORTED, Flags = 0, NMembers = 0;
};

auto recordOf(Context &X, const Draft &D) {
  return Record(X.C,
                FIELD(pen_type, name, X.text(D.Name)),
                FIELD(pen_type, target, D.Target ? D.Target : X.null()),
                FIELD(pen_type, members, D.Members ? D.Members : X.null()),
                FIELD(pen_type, size, D.Size),
                FIELD(pen_type, count, D.Count),
                FIELD(pen_type, kind, D.Kind),
                FIELD(pen_type, number, D.Number),
                FIELD(pen_type, flags, D.Flags),
                FIELD(pen_type, n_members, D.NMembers));
}

using TypeRecord = decltype(recordOf(std::declval<Context &>(), std::declval<const Draft &>()));

Constant *memberRecord(Context &X, StringRef Name, Constant *Type, uint64_t Offset, uint64_t Bits, bool Nullable) {
  Record R(X.C,
           FIELD(pen_member, name, X.text(Name)),
           FIELD(pen_member, type, Type),
           FIELD(pen_member, offset, Offset),
           FIELD(pen_member, bits, Bits),
           FIELD(pen_member, nullable, Nullable));
  return R.Init;
}

void describeBasic(Context &X, Draft &D, const DIBasicType *T) {
  D.Name = T->getName().str();
  D.Size = T->getSizeInBits() / 8;
  if (T->getEncoding() == dwarf::DW_ATE_complex_float) {
    // Described as an array of its two parts, because the type of a part has no debug information.
    Draft Part;
    Part.Size = D.Size / 2;
    Part.Kind = PEN_TYPE_NUMBER;
    Part.Number = Part.Size == 4 ? PEN_F32 : Part.Size == 8 ? PEN_F64 : PEN_F80;
    Part.Name = Part.Size == 4 ? "float" : Part.Size == 8 ? "double" : "long double";
    Constant *Init = recordOf(X, Part).Init;
    D.Target = new GlobalVariable(X.M, Init->getType(), true, GlobalValue::PrivateLinkage, Init, "__pen_type");
    D.Kind = PEN_TYPE_ARRAY;
    D.Count = 2;
    D.Flags = PEN_TYPE_COMPLEX;
    return;
  }
  D.Number = numberOf(T);
  D.Kind = D.Number == PEN_UNSUPPORTED ? PEN_TYPE_OTHER : PEN_TYPE_NUMBER;
  if (T->getName() == "char") D.Flags = PEN_TYPE_CHAR;
}

// In the debug information, an array of arrays is one array with several dimensions: element 0 is the outermost.
void describeArray(Context &X, Draft &D, const DICompositeType *T, unsigned Dimension) {
  auto countOf = [&](unsigned I) -> uint64_t {
    auto *Range = dyn_cast<DISubrange>(T->getElements()[I]);
    if (!Range) return 0;
    auto *Count = dyn_cast_if_present<ConstantInt *>(Range->getCount());
    int64_t N = Count ? Count->getSExtValue() : 0;
    return N > 0 ? N : 0;
  };
  unsigned Dimensions = T->getElements().size();
  Bare Element = bareOf(T->getBaseType());
  D.Kind = PEN_TYPE_ARRAY;
  D.Count = Dimensions ? countOf(Dimension) : 0;
  D.Size = Dimension == 0 ? T->getSizeInBits() / 8 : 0;
  if (T->isVector()) D.Kind = PEN_TYPE_OTHER;
  if (Dimension + 1 >= Dimensions) {
    D.Target = typeRecordOf(X, T->getBaseType());
    if (Dimension > 0) D.Size = D.Count * (Element.Type ? Element.Type->getSizeInBits() / 8 : 0);
    return;
  }
  Draft Inner;
  describeArray(X, Inner, T, Dimension + 1);
  Inner.Size = Inner.Count;
  for (unsigned I = Dimension + 2; I < Dimensions; I++) Inner.Size *= countOf(I);
  Inner.Size *= Element.Type ? Element.Type->getSizeInBits() / 8 : 0;
  Constant *Init = recordOf(X, Inner).Init;
  D.Target = new GlobalVariable(X.M, Init->getType(), true, GlobalValue::PrivateLinkage, Init, "__pen_type");
}

void describeEnumeration(Context &X, Draft &D, const DICompositeType *T) {
  D.Kind = PEN_TYPE_NUMBER;
  D.Size = T->getSizeInBits() / 8;
  auto *Under = dyn_cast_or_null<DIBasicType>(bareOf(T->getBaseType()).Type);
  D.Number = Under ? numberOf(Under) : integerKind(T->getSizeInBits(), false);
  D.Flags = PEN_TYPE_ENUM;
  std::vector<Constant *> Items;
  for (const DINode *N : T->getElements())
    if (auto *E = dyn_cast<DIEnumerator>(N))
      Items.push_back(memberRecord(X, E->getName(), X.null(), E->getValue().getLimitedValue(), 0, false));
  D.Members = X.array(Items);
  D.NMembers = Items.size();
}

bool isPointer(const DIType *T) {
  auto *Derived = dyn_cast_or_null<DIDerivedType>(T);
  if (!Derived) return false;
  unsigned Tag = Derived->getTag();
  return Tag == dwarf::DW_TAG_pointer_type || Tag == dwarf::DW_TAG_reference_type ||
         Tag == dwarf::DW_TAG_rvalue_reference_type;
}

// Lists the parameters of a function if all are numbers and pointers. A null entry of `Types` means further arguments
// (`...`). What a pointer leads to is left out, because it may be a large part of the program.
void describeParameters(Context &X, Draft &D, DITypeRefArray Types) {
  std::vector<Constant *> Items;
  for (unsigned I = 1; Types && I < Types.size(); I++) {
    const DIType *T = bareOf(Types[I]).Type;
    bool IsNumber = isa_and_nonnull<DIBasicType>(T);
    if (auto *Composite = dyn_cast_or_null<DICompositeType>(T))
      IsNumber = Composite->getTag() == dwarf::DW_TAG_enumeration_type;
    if (!IsNumber && !isPointer(T)) return;
    Items.push_back(memberRecord(X, "", IsNumber ? typeRecordOf(X, Types[I]) : X.null(), 0, 0, false));
  }
  D.Flags |= PEN_TYPE_PROTOTYPE;
  D.Members = X.array(Items);
  D.NMembers = Items.size();
}

// Whether it is a constructor that the program declares.
bool isConstructor(const DINode *N, const DICompositeType *T) {
  auto *F = dyn_cast<DISubprogram>(N);
  return F && !F->isArtificial() && F->getName() == T->getName().substr(0, T->getName().find('<'));
}

// Whether the class has a pure virtual function that no derived class overrides. Overloads are compared by name only.
bool isAbstract(const DICompositeType *T, std::set<StringRef> &Overridden) {
  for (const DINode *N : T->getElements()) {
    auto *F = dyn_cast<DISubprogram>(N);
    if (!F || !(F->getSPFlags() & (DISubprogram::SPFlagVirtual | DISubprogram::SPFlagPureVirtual))) continue;
    if (Overridden.insert(F->getName()).second && F->getSPFlags() & DISubprogram::SPFlagPureVirtual) return true;
  }
  return any_of(T->getElements(), [&](const DINode *N) {
    auto *Member = dyn_cast<DIDerivedType>(N);
    bool IsBase = Member && Member->getTag() == dwarf::DW_TAG_inheritance;
    auto *Base = IsBase ? dyn_cast_or_null<DICompositeType>(bareOf(Member->getBaseType()).Type) : nullptr;
    return Base && isAbstract(Base, Overridden);
  });
}

void describeRecord(Context &X, Draft &D, const DICompositeType *T) {
  D.Size = T->getSizeInBits() / 8;
  D.Kind = T->getTag() == dwarf::DW_TAG_union_type ? PEN_TYPE_UNION : PEN_TYPE_STRUCT;
  if (T->isForwardDecl()) {
    D.Kind = PEN_TYPE_INCOMPLETE;
    return;
  }
  if (T->getTag() == dwarf::DW_TAG_class_type) D.Flags = PEN_TYPE_CLASS;
  bool Aggregate = D.Kind == PEN_TYPE_STRUCT && !T->getIdentifier().empty();
  std::vector<Constant *> Items;
  for (const DINode *N : T->getElements()) {
    auto *Member = dyn_cast<DIDerivedType>(N);
    if (isa<DISubprogram>(N)) D.Flags |= PEN_TYPE_CLASS;
    Aggregate &= !isConstructor(N, T);
    if (!Member || Member->isStaticMember()) continue;
    bool IsBase = Member->getTag() == dwarf::DW_TAG_inheritance;
    if (IsBase && Member->isVirtual()) D.Kind = PEN_TYPE_OTHER;
    if (!IsBase && Member->getTag() != dwarf::DW_TAG_member) continue;
    if (IsBase || Member->isPrivate() || Member->isProtected()) D.Flags |= PEN_TYPE_CLASS;
    if (Member->getName().starts_with("_vptr")) D.Kind = PEN_TYPE_OTHER;
    // Members of a class are private by default.
    bool Public =
        T->getTag() == dwarf::DW_TAG_class_type ? Member->isPublic() : !Member->isPrivate() && !Member->isProtected();
    Aggregate &= !IsBase && Public;
    uint64_t Offset = Member->getOffsetInBits();
    uint64_t Bits = Member->isBitField() ? Member->getSizeInBits() : 0;
    bool Nullable = X.NullMembers.count({T->getName().str(), Offset / 8}) || X.NullMembers.count({D.Name, Offset / 8});
    Constant *Type = typeRecordOf(X, Member->getBaseType());
    Items.push_back(memberRecord(X, IsBase ? "" : Member->getName(), Type, Offset, Bits, Nullable));
  }
  if (Aggregate && D.Kind == PEN_TYPE_STRUCT) D.Flags |= PEN_TYPE_AGGREGATE;
  std::set<StringRef> Overridden;
  if (isAbstract(T, Overridden)) D.Flags |= PEN_TYPE_ABSTRACT;
  D.Members = X.array(Items);
  D.NMembers = Items.size();
}

void describe(Context &X, Draft &D, const Bare &B) {
  if (!B.Type) {
    D.Name = "void";
    D.Kind = PEN_TYPE_VOID;
  } else if (auto *Basic = dyn_cast<DIBasicType>(B.Type)) {
    describeBasic(X, D, Basic);
  } else if (auto *Called = dyn_cast<DISubroutineType>(B.Type)) {
    D.Kind = PEN_TYPE_FUNCTION;
    D.Name = B.Typedef.str();
    DITypeRefArray Types = Called->getTypeArray();
    D.Target = typeRecordOf(X, Types && Types.size() > 0 ? Types[0] : nullptr);
    describeParameters(X, D, Types);
  } else if (auto *Composite = dyn_cast<DICompositeType>(B.Type)) {
    D.Name = compositeName(Composite, B.Typedef);
    switch (Composite->getTag()) {
    case dwarf::DW_TAG_array_type: describeArray(X, D, Composite, 0); break;
    case dwarf::DW_TAG_enumeration_type: describeEnumeration(X, D, Composite); break;
    case dwarf::DW_TAG_structure_type: case dwarf::DW_TAG_class_type: case dwarf::DW_TAG_union_type:
      describeRecord(X, D, Composite);
      break;
    default: break;
    }
  } else if (auto *Derived = dyn_cast<DIDerivedType>(B.Type)) {
    bool Reference =
        Derived->getTag() == dwarf::DW_TAG_reference_type || Derived->getTag() == dwarf::DW_TAG_rvalue_reference_type;
    if (!Reference && Derived->getTag() != dwarf::DW_TAG_pointer_type) return;
    D.Kind = PEN_TYPE_POINTER;
    D.Size = 8;
    D.Name = B.Typedef.str();
    Bare Pointee = bareOf(Derived->getBaseType());
    D.Flags = (Reference ? PEN_TYPE_REFERENCE : 0u) | (Pointee.Const ? PEN_TYPE_CONST : 0u);
    D.Target = typeRecordOf(X, Derived->getBaseType());
  }
}

} // namespace

Constant *typeRecordOf(Context &X, const DIType *T) {
  Bare B = bareOf(T);
  GlobalVariable *&Known = X.TypeRecords[{B.Type, B.Typedef.str()}];
  if (Known) return Known;
  // The record is created before the records that it refers to, because a list refers to itself.
  auto *G = new GlobalVariable(X.M, TypeRecord::type(X.C), true, GlobalValue::PrivateLinkage, nullptr, "__pen_type");
  Known = G;
  Draft D;
  describe(X, D, B);
  G->setInitializer(recordOf(X, D).Init);
  return G;
}

std::string structureName(const DIType *T) {
  Bare B = bareOf(T);
  auto *Composite = dyn_cast_or_null<DICompositeType>(B.Type);
  if (!Composite) return "";
  return Composite->getName().empty() ? B.Typedef.str() : scopeOf(Composite->getScope()) + Composite->getName().str();
}

unsigned typeBytes(const DIType *T) {
  Bare B = bareOf(T);
  if (isa_and_nonnull<DIDerivedType>(B.Type)) return 8;
  return B.Type ? B.Type->getSizeInBits() / 8 : 0;
}

// Whether C++ passes the address of a copy of this class instead of its bytes, however small it is.
bool isPassedByReference(const DIType *T) {
  auto *Composite = dyn_cast_or_null<DICompositeType>(bareOf(T).Type);
  return Composite && (Composite->getFlags() & DINode::FlagTypePassByReference);
}

bool isAggregate(const DIType *T) {
  const DIType *Type = bareOf(T).Type;
  if (auto *Basic = dyn_cast_or_null<DIBasicType>(Type)) return Basic->getEncoding() == dwarf::DW_ATE_complex_float;
  auto *Composite = dyn_cast_or_null<DICompositeType>(Type);
  return Composite && Composite->getTag() != dwarf::DW_TAG_enumeration_type;
}

// Marks the offset of a member in a named structure as compared with null.
static void noteByte(Context &X, StructType *Of, uint64_t Byte) {
  StringRef Name = Of->getName();
  Name = Name.substr(Name.find('.') + 1); // "struct.node"
  X.NullMembers.insert({Name.str(), Byte});
}

// Marks the loaded member of a structure in a global variable. The constant address need not have the structure's type.
static void noteMemberOfVariable(Context &X, LoadInst *Load) {
  const DataLayout &DL = X.M.getDataLayout();
  Value *Address = Load->getPointerOperand();
  APInt Offset(DL.getIndexTypeSizeInBits(Address->getType()), 0);
  auto *G = dyn_cast<GlobalVariable>(Address->stripAndAccumulateConstantOffsets(DL, Offset, /*AllowNonInbounds=*/true));
  if (!G || Offset.isNegative()) return;
  Type *T = G->getValueType();
  uint64_t Byte = Offset.getZExtValue();
  for (auto *A = dyn_cast<ArrayType>(T); A; A = dyn_cast<ArrayType>(T)) {
    T = A->getElementType();
    if (uint64_t Size = DL.getTypeAllocSize(T)) Byte %= Size;
  }
  auto *Of = dyn_cast<StructType>(T);
  if (Of && Of->hasName()) noteByte(X, Of, Byte);
}

// Marks the loaded member of a structure, if the load reads one.
static void noteMember(Context &X, LoadInst *Load) {
  if (Load && isa<Constant>(Load->getPointerOperand())) noteMemberOfVariable(X, Load);
  auto *Gep = Load ? dyn_cast<GetElementPtrInst>(Load->getPointerOperand()) : nullptr;
  auto *Of = Gep ? dyn_cast<StructType>(Gep->getSourceElementType()) : nullptr;
  APInt Offset(64, 0);
  if (!Of || !Of->hasName() || !Gep->accumulateConstantOffset(X.M.getDataLayout(), Offset)) return;
  noteByte(X, Of, Offset.getZExtValue());
}

// The pointers that F compares with null: returns its parameters, and marks the members of structures that it loads
// from memory.
std::vector<unsigned> nullComparisonsOf(Context &X, Function &F) {
  std::vector<unsigned> Parameters;
  for (Instruction &I : instructions(F)) {
    auto *Compared = dyn_cast<ICmpInst>(&I);
    if (!Compared || !Compared->getOperand(0)->getType()->isPointerTy()) continue;
    Value *Left = Compared->getOperand(0), *Right = Compared->getOperand(1);
    Value *Other = isa<ConstantPointerNull>(Right) ? Left : isa<ConstantPointerNull>(Left) ? Right : nullptr;
    if (!Other) continue;
    SmallVector<Value *, 4> Open{Other};
    SmallPtrSet<Value *, 8> Seen;
    while (!Open.empty()) {
      Value *V = Open.pop_back_val();
      if (!Seen.insert(V).second) continue;
      // A loop over a list compares its start, and then each member that points to the next element.
      if (auto *Phi = dyn_cast<PHINode>(V)) Open.append(Phi->op_begin(), Phi->op_end());
      if (auto *A = dyn_cast<Argument>(V)) Parameters.push_back(A->getArgNo());
      noteMember(X, dyn_cast<LoadInst>(V));
    }
  }
  return Parameters;
}

} // namespace pen
