// Derives LLVM types from the C declarations in runtime/, so that each layout and each signature is written once. A
// record that the pass emits names every field of its structure, in order. The compilation of the pass fails if a field
// is missing.
#pragma once

#include "../../runtime/entries.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"

#include <cstddef>
#include <type_traits>

namespace pen {

// The LLVM type of a scalar or of a pointer, on a target with 64-bit pointers.
template <typename T> llvm::Type *typeOf(llvm::LLVMContext &C) {
  static_assert(std::is_pointer_v<T> || std::is_arithmetic_v<T>, "instrumented code holds scalars and pointers only");
  static_assert(!std::is_pointer_v<T> || sizeof(T) == 8, "the pass runs on a 64-bit machine");
  if constexpr (std::is_pointer_v<T>) return llvm::PointerType::get(C, 0);
  else if constexpr (std::is_same_v<T, double>) return llvm::Type::getDoubleTy(C);
  else if constexpr (std::is_same_v<T, float>) return llvm::Type::getFloatTy(C);
  else return llvm::Type::getIntNTy(C, 8 * sizeof(T));
}

// The type of a function of runtime/entries.h, as `FunctionTypeOf<decltype(::name)>::get(C)`.
template <typename F> struct FunctionTypeOf;
template <typename... Args> struct FunctionTypeOf<void(Args...)> {
  static llvm::FunctionType *get(llvm::LLVMContext &C) {
    llvm::SmallVector<llvm::Type *, 6> Types{typeOf<Args>(C)...};
    return llvm::FunctionType::get(llvm::Type::getVoidTy(C), Types, false);
  }
};

// The value of a field: a constant if the field is a pointer, else a number.
template <typename T> using FieldValue = std::conditional_t<std::is_pointer_v<T>, llvm::Constant *, uint64_t>;

// A field of the structure R at the offset At, with its value.
template <typename R, size_t At, typename T> struct Field {
  using Record = R;
  static constexpr size_t Offset = At, Size = sizeof(T);
  FieldValue<T> V;

  static llvm::Type *type(llvm::LLVMContext &C) { return typeOf<T>(C); }
  llvm::Constant *constant(llvm::LLVMContext &C) const {
    if constexpr (std::is_pointer_v<T>) return V;
    else return llvm::ConstantInt::get(typeOf<T>(C), V);
  }
};
#define FIELD(Record, Name, Value)                                                                                     \
  Field<Record, offsetof(Record, Name), decltype(Record::Name)> {                                                      \
    static_cast<FieldValue<decltype(Record::Name)>>(Value)                                                             \
  }

// All fields of a structure, in order.
template <typename First, typename... Rest> class Record {
public:
  Record(llvm::LLVMContext &C, First F, Rest... Fields)
      : Init(llvm::ConstantStruct::get(type(C), {F.constant(C), Fields.constant(C)...})) {
    static_assert(isWhole(), "a record names every field of its structure in runtime/pen.h, in order");
  }
  llvm::Constant *const Init;

  static llvm::StructType *type(llvm::LLVMContext &C) {
    return llvm::StructType::get(C, {First::type(C), Rest::type(C)...});
  }

private:
  using R = typename First::Record;
  static constexpr bool isWhole() {
    size_t At = First::Size;
    bool Whole = First::Offset == 0;
    ((Whole &= Rest::Offset == At && std::is_same_v<typename Rest::Record, R>, At += Rest::Size), ...);
    return Whole && At == sizeof(R);
  }
};

} // namespace pen
