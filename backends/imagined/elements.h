// Elements of tensors as the host knows them, and results of PyTorch's operations on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tidemark::imagined {

// The types that are computed; half precision, complex and quantized ones are `unknown`.
enum class Element { unknown, boolean, i8, u8, i16, i32, i64, f32, f64 };

Element type_named(std::string_view name);  // as in C++: "long"
Element type_numbered(int scalar_type);     // by c10::ScalarType
std::size_t size_of(Element type);          // in bytes; 1 for unknown types

// Long double represents each int64 and each double exactly. Nothing: not known.
using Number = long double;
using Value = std::optional<Number>;

Number load(Element type, const std::byte* at);
void store(Element type, Number number, std::byte* at);  // integers wrap as on the GPU

enum class Op {
    fill,
    copy,
    equal,           // or not, by the functor's first word
    compare,         // four ways, by the functor's first word
    compare_scalar,  // the same with the other side after it
    bit_and,
    bit_or,
    bit_xor,
    bit_not,
    logical_and,
    logical_or,
    logical_not,
    add,       // a + alpha b
    add_self,  // a + b alpha, both in the functor
    multiply,
    greatest,
    least,
};

// What a functor has in addition to its operands.
struct Functor {
    int code = 0;      // the kind of a comparison
    Number alpha = 1;  // of an addition
};

// The result of an operation; for one operand, `b` is the same. An unknown operand may not matter:
// "and" with false is false.
Value apply(Op op, Element type, const Functor& functor, const Value& a, const Value& b);

// The result with `known` on one side, whatever the other is; nothing if it depends on that.
Value absorbed(Op op, Element type, const Value& known);

}  // namespace tidemark::imagined
