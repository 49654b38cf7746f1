// Describes the parameters of a function as C declares them, and emits the thunk that calls the function with the bytes
// of an input.
#include "../plugin.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DIBuilder.h"

namespace pen {
using namespace llvm;

unsigned integerKind(uint64_t Bits, bool Signed) {
  switch (Bits) {
  case 8: return Signed ? PEN_I8 : PEN_U8;
  case 16: return Signed ? PEN_I16 : PEN_U16;
  case 32: return Signed ? PEN_I32 : PEN_U32;
  case 64: return Signed ? PEN_I64 : PEN_U64;
  default: return PEN_UNSUPPORTED;
  }
}

namespace {

// Short names for enum pen_kind.
enum : unsigned {
  Unsupported = PEN_UNSUPPORTED,
  F32 = PEN_F32,
  F64 = PEN_F64,
  I8 = PEN_I8,
  I16 = PEN_I16,
  I32 = PEN_I32,
  I64 = PEN_I64,
  U8 = PEN_U8,
  U16 = PEN_U16,
  U32 = PEN_U32,
  U64 = PEN_U64,
  Bool = PEN_BOOL,
  Void = PEN_VOID,
  Output = PEN_OUTPUT,
};

unsigned sizeOf(unsigned K) {
  switch (K) {
  case I8: case U8: case Bool: return 1;
  case I16: case U16: return 2;
  case F32: case I32: case U32: return 4;
  case F64: case I64: case U64: return 8;
  default: return 0;
  }
}

unsigned basicKind(const DIBasicType *T) {
  uint64_t Bits = T->getSizeInBits();
  switch (T->getEncoding()) {
  case dwarf::DW_ATE_float:
    if (Bits == 32 && T->getName() == "float") return F32;
    return Bits == 64 && T->getName() == "double" ? F64 : Unsupported;
  case dwarf::DW_ATE_boolean: return Bits == 8 ? Bool : Unsupported;
  case dwarf::DW_ATE_signed: case dwarf::DW_ATE_signed_char: return integerKind(Bits, true);
  case dwarf::DW_ATE_unsigned:
  case dwarf::DW_ATE_unsigned_char:
  case dwarf::DW_ATE_UTF: return integerKind(Bits, false);
  default: return Unsupported;
  }
}

// A type without its typedefs, and its text in C.
struct CType {
  std::string Text;
  unsigned Kind = Unsupported;
  bool Pointer = false;
  unsigned Bytes = 0; // size of a structure that a callee can write, else 0
  bool ReadOnly = false; // const
};

// The largest structure that counts as an output. Result structures of numeric libraries consist of a few numbers;
// larger structures are mostly states or tables.
constexpr uint64_t MaxOutputBytes = 256;
constexpr uint64_t CellBytes = PEN_CELL_BYTES;

const char *tagName(unsigned Tag) {
  switch (Tag) {
  case dwarf::DW_TAG_structure_type: return "struct ";
  case dwarf::DW_TAG_union_type: return "union ";
  case dwarf::DW_TAG_class_type: return "class ";
  case dwarf::DW_TAG_enumeration_type: return "enum ";
  default: return "";
  }
}

// Whether a type consists of numbers only, directly or in arrays and structures, so that all zeros is a valid value.
bool isPlainData(const DIType *T) {
  if (auto *Basic = dyn_cast_or_null<DIBasicType>(T)) return Basic->getSizeInBits() > 0;
  if (auto *Derived = dyn_cast_or_null<DIDerivedType>(T)) {
    switch (Derived->getTag()) {
    case dwarf::DW_TAG_typedef:
    case dwarf::DW_TAG_const_type:
    case dwarf::DW_TAG_volatile_type:
    case dwarf::DW_TAG_member: return isPlainData(Derived->getBaseType());
    default: return false;
    }
  }
  auto *Composite = dyn_cast_or_null<DICompositeType>(T);
  if (!Composite || Composite->isForwardDecl()) return false;
  switch (Composite->getTag()) {
  case dwarf::DW_TAG_enumeration_type: return true;
  case dwarf::DW_TAG_array_type: return isPlainData(Composite->getBaseType());
  case dwarf::DW_TAG_structure_type: case dwarf::DW_TAG_union_type:
    // A C++ structure with member functions may need its constructor.
    return all_of(Composite->getElements(), [](const DINode *N) {
      auto *Member = dyn_cast_or_null<DIType>(N);
      return Member && Member->getTag() == dwarf::DW_TAG_member && isPlainData(Member);
    });
  default: return false;
  }
}

unsigned outputBytes(const DICompositeType *T) {
  uint64_t Bytes = T->getSizeInBits() / 8;
  bool Fits = Bytes > 0 && Bytes <= MaxOutputBytes && T->getAlignInBits() <= 8 * CellBytes;
  return Fits && isPlainData(T) ? Bytes : 0;
}

CType ctypeOf(const DIType *T) {
  if (!T) return {"void", Void, false};
  if (auto *Basic = dyn_cast<DIBasicType>(T)) return {Basic->getName().str(), basicKind(Basic), false};
  if (auto *Composite = dyn_cast<DICompositeType>(T)) {
    if (Composite->getTag() == dwarf::DW_TAG_enumeration_type) {
      CType Under = Composite->getBaseType() ? ctypeOf(Composite->getBaseType()) : CType{"unsigned int", U32, false};
      return Under;
    }
    std::string Name = Composite->getName().empty() ? "{…}" : Composite->getName().str();
    return {tagName(Composite->getTag()) + Name, Unsupported, false, outputBytes(Composite)};
  }
  if (isa<DISubroutineType>(T)) return {"function", Unsupported, false};
  auto *Derived = dyn_cast<DIDerivedType>(T);
  if (!Derived) return {T->getName().str(), Unsupported, false};
  CType Inner = ctypeOf(Derived->getBaseType());
  switch (Derived->getTag()) {
  case dwarf::DW_TAG_typedef:
    if (Inner.Kind == Unsupported && !Inner.Pointer) Inner.Text = Derived->getName().str();
    return Inner;
  case dwarf::DW_TAG_const_type:
    if (!Inner.Pointer) {
      Inner.Text = "const " + Inner.Text;
      Inner.ReadOnly = true;
    }
    return Inner;
  case dwarf::DW_TAG_volatile_type:
    if (!Inner.Pointer) Inner.Text = "volatile " + Inner.Text;
    return Inner;
  case dwarf::DW_TAG_restrict_type: case dwarf::DW_TAG_atomic_type: return Inner;
  case dwarf::DW_TAG_pointer_type: case dwarf::DW_TAG_reference_type: case dwarf::DW_TAG_rvalue_reference_type: {
    bool Scalar = sizeOf(Inner.Kind) != 0 && !Inner.Pointer;
    bool ToFillIn = !Inner.Pointer && Inner.Bytes > 0 && !Inner.ReadOnly;
    unsigned Kind = Scalar ? Inner.Kind : ToFillIn ? static_cast<unsigned>(Output) : static_cast<unsigned>(Unsupported);
    const char *Mark = Derived->getTag() == dwarf::DW_TAG_pointer_type     ? " *"
                       : Derived->getTag() == dwarf::DW_TAG_reference_type ? " &"
                                                                           : " &&";
    return {Inner.Text + Mark, Kind, true, ToFillIn ? Inner.Bytes : 0};
  }
  default: return {Derived->getName().str(), Unsupported, false};
  }
}

// The type of a parameter by its type in the IR, for a function without debug information.
CType irTypeOf(Type *T) {
  if (T->isDoubleTy()) return {"double", F64, false};
  if (T->isFloatTy()) return {"float", F32, false};
  if (T->isIntegerTy(1)) return {"_Bool", Bool, false};
  if (T->isVoidTy()) return {"void", Void, false};
  if (T->isPointerTy()) return {"pointer without debug information", Unsupported, true};
  if (T->isIntegerTy()) {
    static const char *Names[] = {"signed char", "short", "int", "long"};
    static_assert(I16 == I8 + 1 && I32 == I8 + 2 && I64 == I8 + 3, "the order of the names");
    unsigned K = integerKind(T->getIntegerBitWidth(), true);
    return {K != Unsupported ? Names[K - I8] : "integer", K, false};
  }
  return {"aggregate", Unsupported, false};
}

// Whether an argument in the IR has exactly the value of the parameter.
bool isPassedAs(const CType &C, Type *T) {
  if (C.Pointer) return T->isPointerTy();
  switch (C.Kind) {
  case F32: return T->isFloatTy();
  case F64: return T->isDoubleTy();
  case Bool: return T->isIntegerTy(1) || T->isIntegerTy(8);
  default: return T->isIntegerTy(sizeOf(C.Kind) * 8);
  }
}

std::vector<Argument *> plainArguments(Function &F) {
  std::vector<Argument *> Args;
  for (Argument &A : F.args())
    if (!A.hasStructRetAttr()) Args.push_back(&A);
  return Args;
}

} // namespace

// `T` is the declared type, null without debug information.
static void addParameter(Signature &S, CType C, std::string Name, const DIType *T) {
  Parameter P;
  P.Name = std::move(Name);
  P.Type = C.Text;
  P.Declared = T;
  P.Aggregate = T && isAggregate(T);
  P.Bytes = T ? typeBytes(T) : C.Pointer ? 8 : sizeOf(C.Kind);
  P.Kind = C.Kind == Void ? static_cast<unsigned>(Unsupported) : C.Kind;
  P.Pointer = C.Pointer;
  P.Size = P.Kind == Output ? C.Bytes : sizeOf(P.Kind);
  P.Offset = S.InputSize;
  if (P.Kind != Output) S.InputSize += P.Size;
  if (P.Pointer) {
    S.Blocks++;
    P.Cell = S.Blocks * PEN_STRIDE_BYTES - (P.Kind == Output ? P.Size : PEN_CELL_BYTES);
    S.OutputSize = S.Blocks * PEN_STRIDE_BYTES;
  }
  S.Supported &= P.Kind != Unsupported;
  S.Parameters.push_back(std::move(P));
}

Signature signatureOf(Function &F, ArrayRef<std::string> Names) {
  Signature S;
  std::vector<Argument *> Args = plainArguments(F);
  auto nameOf = [&](unsigned I) { return I < Names.size() ? Names[I] : std::string(); };
  DISubprogram *SP = F.getSubprogram();
  DITypeRefArray Types(nullptr);
  if (SP && SP->getType()) Types = SP->getType()->getTypeArray();
  CType Result = irTypeOf(F.getReturnType());
  if (Types && Types.size() > 0) {
    CType Declared = ctypeOf(Types[0]);
    if (Declared.Kind == Unsupported || Declared.Kind == Void || Declared.Pointer ||
        isPassedAs(Declared, F.getReturnType()))
      Result = Declared;
  }
  S.ResultType = Result.Text;
  S.ResultKind = Result.Pointer ? static_cast<unsigned>(Unsupported) : Result.Kind;
  unsigned Declared = Types && Types.size() > 0 ? Types.size() - 1 : 0;
  bool Variadic = F.isVarArg();
  if (Variadic && Declared > 0 && !Types[Declared]) Declared--;
  if (Declared == 0 && !Args.empty()) {
    for (unsigned I = 0; I < Args.size(); I++) addParameter(S, irTypeOf(Args[I]->getType()), nameOf(I), nullptr);
  } else {
    bool Aligned = Declared == Args.size();
    for (unsigned I = 0; I < Declared; I++) {
      CType C = ctypeOf(Types[I + 1]);
      if (C.Kind != Unsupported && (!Aligned || !isPassedAs(C, Args[I]->getType()))) C.Kind = Unsupported;
      addParameter(S, C, nameOf(I), Types[I + 1]);
    }
  }
  if (Variadic) addParameter(S, {"...", Unsupported, false}, "", nullptr);
  if (Types && Types.size() > 0) {
    S.DeclaredResult = Types[0];
    S.ResultIsAggregate = Types[0] && isAggregate(Types[0]);
    S.ResultIsPointer = Result.Pointer;
    S.ResultBytes = Types[0] ? typeBytes(Types[0]) : 0;
  }
  planFrame(F, S);
  return S;
}

// One argument: a value from the input, or the address of its block in the output area. The offset is a constant, so
// the optimizer knows that blocks are distinct: addresses from a table cost 2 ns per call.
static Value *argument(Context &X, IRBuilder<> &B, const Parameter &P, Type *T, Value *In, Value *Out) {
  Value *Source = B.CreateConstInBoundsGEP1_64(X.I8, In, P.Offset);
  if (P.Pointer) {
    Value *Cell = B.CreateConstInBoundsGEP1_64(X.I8, Out, P.Cell);
    // Clears the result of an earlier call. A structure may end at the end of its memory, whatever its alignment is.
    if (P.Kind == Output) {
      B.CreateMemSet(Cell, X.u8(0), P.Size, Align(1));
      return Cell;
    }
    B.CreateMemSet(Cell, X.u8(0), CellBytes, Align(CellBytes));
    if (P.Kind == Bool) {
      Value *Bit = B.CreateAnd(B.CreateAlignedLoad(X.I8, Source, Align(1)), X.u8(1));
      B.CreateAlignedStore(Bit, Cell, Align(1));
    } else {
      B.CreateMemCpy(Cell, Align(CellBytes), Source, Align(1), P.Size);
    }
    return Cell;
  }
  if (P.Kind == Bool) {
    Value *Bit = B.CreateAnd(B.CreateAlignedLoad(X.I8, Source, Align(1)), X.u8(1));
    return B.CreateTrunc(Bit, T);
  }
  return B.CreateAlignedLoad(T, Source, Align(1));
}

void storeResult(Context &X, IRBuilder<> &B, CallBase *Call, Value *Out) {
  Type *T = Call->getType();
  if (T->isIntegerTy(1)) B.CreateAlignedStore(B.CreateZExt(Call, X.I8), Out, Align(CellBytes));
  else if (T->isIntegerTy() ? T->getIntegerBitWidth() <= 64 : T->isDoubleTy() || T->isFloatTy() || T->isPointerTy())
    B.CreateAlignedStore(Call, Out, Align(CellBytes));
}

// Gives the thunk its own debug information, and the call in it a source location. Without these, code of F that is
// inlined there has no lines.
static void addDebugInfo(Context &X, Function &F, Function &Thunk, CallBase &Call) {
  DISubprogram *Of = F.getSubprogram();
  if (!Of || !Of->getUnit()) return;
  DIBuilder D(X.M, false, Of->getUnit());
  DISubroutineType *Type = D.createSubroutineType(D.getOrCreateTypeArray({}));
  DISubprogram *Own =
      D.createFunction(Of->getFile(), Thunk.getName(), "", Of->getFile(), Of->getLine(), Type, Of->getLine(),
                       DINode::FlagArtificial, DISubprogram::SPFlagDefinition | DISubprogram::SPFlagLocalToUnit);
  Thunk.setSubprogram(Own);
  Call.setDebugLoc(DILocation::get(X.C, Of->getLine(), 0, Own));
  D.finalizeSubprogram(Own);
}

Function *newThunk(Context &X, Function &F, FunctionType *Type, StringRef Prefix) {
  auto *Thunk = Function::Create(Type, GlobalValue::InternalLinkage, Prefix + F.getName(), X.M);
  Thunk->addFnAttr(Attribute::NoSanitizeCoverage);
  Thunk->addFnAttr(Attribute::NoInline);
  // A function that depends on the rounding mode (-frounding-math) is inlined only into a caller with the same
  // attribute.
  if (F.hasFnAttribute(Attribute::StrictFP)) Thunk->addFnAttr(Attribute::StrictFP);
  // The target machine must be that of the callee.
  for (StringRef Name : {"target-cpu", "target-features", "tune-cpu", "min-legal-vector-width"})
    if (F.hasFnAttribute(Name)) Thunk->addFnAttr(F.getFnAttribute(Name));
  if (F.hasComdat()) Thunk->setComdat(F.getComdat());
  return Thunk;
}

CallBase *callOf(Context &X, IRBuilder<> &B, Function &F, Function &Thunk, ArrayRef<Value *> Args) {
  beginGoal(X, B);
  CallBase *Call = callCatching(X, B, F, Args);
  Call->setCallingConv(F.getCallingConv());
  Call->setAttributes(F.getAttributes());
  Call->removeFnAttr(Attribute::NoReturn);
  // The function under test may have the name of a builtin (sqrt, fmax); the compiler must call the function and not
  // replace it.
  Call->addFnAttr(Attribute::NoBuiltin);
  addDebugInfo(X, F, Thunk, *Call);
  endGoal(X, B);
  return Call;
}

Constant *makeThunk(Context &X, Function &F, const Signature &S) {
  if (!S.Supported || F.getName() == "main") return X.null();
  using ThunkType = std::remove_pointer_t<decltype(pen_function::call)>;
  Function *Thunk = newThunk(X, F, FunctionTypeOf<ThunkType>::get(X.C), "__pen_call.");
  IRBuilder<> B(BasicBlock::Create(X.C, "", Thunk));
  Value *In = Thunk->getArg(0), *Out = Thunk->getArg(1);
  std::vector<Value *> Args;
  AllocaInst *Result = nullptr;
  unsigned Index = 0;
  for (Argument &A : F.args()) {
    if (A.hasStructRetAttr()) {
      Args.push_back(Result = B.CreateAlloca(A.getParamStructRetType()));
      continue;
    }
    Args.push_back(argument(X, B, S.Parameters[Index], A.getType(), In, Out));
    Index++;
  }
  CallBase *Call = callOf(X, B, F, *Thunk, Args);
  if (!Call->getType()->isVoidTy()) storeResult(X, B, Call, Out);
  B.CreateRetVoid();
  // F may leave parts of it without a value.
  if (Result) fillIfAsked(Result, Result->getAllocatedType(), Result->getNextNode());
  return Thunk;
}

} // namespace pen
