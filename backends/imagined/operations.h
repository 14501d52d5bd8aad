// Operations of elementwise kernels, from the names of their functors.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "backends/imagined/elements.h"

namespace tidemark::imagined {

// Its operands are the tensors after the first, which is the output, then what the functor holds.
struct Operation {
    Op op = Op::copy;
    Element result = Element::unknown;
    std::array<Element, 2> inputs{};  // as the functor needs them; unknown: there is none
    Element scalar = Element::unknown;
    std::size_t scalar_operand = 1;

    // The tensors that a launch has.
    std::size_t tensors() const;

    // Bytes of the functor; where the scalar is in it.
    std::size_t size() const;
    std::size_t scalar_offset() const;

    // The values that the functor at `at` contains.
    Functor read_functor(const std::byte* at) const;
    Value read_scalar(const std::byte* at) const;

  private:
    bool coded() const;
};

// For a functor's name, demangled; nothing for all others. O(length).
std::optional<Operation> operation_of(std::string_view functor);

// The type of the elements that a functor writes; its size even if it isn't one of ours.
std::size_t result_size(std::string_view functor);

// The first type that the innermost lambda in a name takes: "...{lambda(long)#1}".
Element lambda_type(std::string_view name);

// For a kernel that is one lambda of AT_DISPATCH_ALL_TYPES, which numbers its lambdas by the type.
Element dispatched_type(std::string_view name);

}  // namespace tidemark::imagined
