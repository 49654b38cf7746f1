// Checks runtime/pen.h at compile time: the numbers that it shares with LLVM, and the sizes of fields that share a
// word. If a number is changed in one place only, this file does not compile. record.h checks the layouts and
// signatures where they are used.
#include "../../runtime/pen.h"

#include "llvm/ADT/FloatingPointMode.h"
#include "llvm/IR/InstrTypes.h"

namespace pen {
using llvm::CmpInst;

#define SAME(Ours, Theirs)                                                                                             \
  static_assert(static_cast<unsigned>(Ours) == static_cast<unsigned>(Theirs), #Ours " is not LLVM's number")
#define SAME_PREDICATE(Name) SAME(PEN_##Name, CmpInst::Name)
SAME_PREDICATE(FCMP_FALSE);
SAME_PREDICATE(FCMP_OEQ);
SAME_PREDICATE(FCMP_OGT);
SAME_PREDICATE(FCMP_OGE);
SAME_PREDICATE(FCMP_OLT);
SAME_PREDICATE(FCMP_OLE);
SAME_PREDICATE(FCMP_ONE);
SAME_PREDICATE(FCMP_ORD);
SAME_PREDICATE(FCMP_UNO);
SAME_PREDICATE(FCMP_UEQ);
SAME_PREDICATE(FCMP_UGT);
SAME_PREDICATE(FCMP_UGE);
SAME_PREDICATE(FCMP_ULT);
SAME_PREDICATE(FCMP_ULE);
SAME_PREDICATE(FCMP_UNE);
SAME_PREDICATE(FCMP_TRUE);
SAME_PREDICATE(ICMP_EQ);
SAME_PREDICATE(ICMP_NE);
SAME_PREDICATE(ICMP_UGT);
SAME_PREDICATE(ICMP_UGE);
SAME_PREDICATE(ICMP_ULT);
SAME_PREDICATE(ICMP_ULE);
SAME_PREDICATE(ICMP_SGT);
SAME_PREDICATE(ICMP_SGE);
SAME_PREDICATE(ICMP_SLT);
SAME_PREDICATE(ICMP_SLE);
static_assert(PEN_NO_PREDICATE > unsigned(CmpInst::LAST_ICMP_PREDICATE) && PEN_NO_PREDICATE <= UINT8_MAX,
              "a site has one byte for its predicate");

SAME(PEN_SIGNALING_NAN, llvm::fcSNan);
SAME(PEN_QUIET_NAN, llvm::fcQNan);
SAME(PEN_NEGATIVE_INFINITY, llvm::fcNegInf);
SAME(PEN_NEGATIVE_NORMAL, llvm::fcNegNormal);
SAME(PEN_NEGATIVE_SUBNORMAL, llvm::fcNegSubnormal);
SAME(PEN_NEGATIVE_ZERO, llvm::fcNegZero);
SAME(PEN_POSITIVE_ZERO, llvm::fcPosZero);
SAME(PEN_POSITIVE_SUBNORMAL, llvm::fcPosSubnormal);
SAME(PEN_POSITIVE_NORMAL, llvm::fcPosNormal);
SAME(PEN_POSITIVE_INFINITY, llvm::fcPosInf);
#undef SAME_PREDICATE
#undef SAME

static_assert((PEN_RECORD ^ PEN_WANT ^ PEN_TRACK ^ PEN_NEAR ^ PEN_STEP ^ PEN_MIN ^ PEN_LEAD ^ PEN_ARMED) == UINT8_MAX,
              "the actions are the eight bits of a byte");

// The word that the hook passes with the operands of an operation, from its lowest bit on.
static_assert(PEN_OPERATIONS - 1 <= PEN_OPERATION_MASK, "an operation fits");
static_assert(PEN_SINGLE > PEN_OPERATION_MASK && PEN_CONSTANT > PEN_SINGLE, "the flags are above it");
static_assert(PEN_CONSTANT << 2 < 1 << PEN_INTEGER_SHIFT, "a flag for each of three operands fits below the width");
static_assert(PEN_INTEGER_MASK >= 64 &&
                  (uint64_t(PEN_INTEGER_MASK) << PEN_INTEGER_SHIFT) < (uint64_t(1) << PEN_POSSIBLE_SHIFT),
              "the width of an integer fits below what is possible");
static_assert(PEN_POSSIBLE_SHIFT + PEN_EXCEPTIONS <= 32, "a bit for each exception fits");

} // namespace pen
