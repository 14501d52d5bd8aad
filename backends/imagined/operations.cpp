// The names of PyTorch's functors, and how each is laid out.
#include "backends/imagined/operations.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/imagined/names.h"
#include "core/base/units.h"

namespace tidemark::imagined {
namespace {

struct Part {
    std::string_view text;
    Op op;
};

// What a functor's name contains if it is of that operation. The more specific come first.
constexpr std::array kOps{Part{"FillFunctor<", Op::fill},
                          Part{"compare_scalar_kernel<", Op::compare_scalar},
                          Part{"CompareEqFunctor<", Op::equal},
                          Part{"CompareFunctor<", Op::compare},
                          Part{"BitwiseAndFunctor<", Op::bit_and},
                          Part{"BitwiseOrFunctor<", Op::bit_or},
                          Part{"BitwiseXorFunctor<", Op::bit_xor},
                          Part{"bitwise_not_kernel_cuda", Op::bit_not},
                          Part{"logical_not_kernel_cuda", Op::logical_not},
                          Part{"logical_and_kernel_cuda", Op::logical_and},
                          Part{"logical_or_kernel_cuda", Op::logical_or},
                          Part{"maximum_kernel_cuda", Op::greatest},
                          Part{"minimum_kernel_cuda", Op::least},
                          Part{"CUDAFunctorOnSelf_add<", Op::add_self},
                          Part{"CUDAFunctor_add<", Op::add},
                          Part{"MulFunctor<", Op::multiply},
                          Part{"direct_copy_kernel_cuda", Op::copy}};

constexpr std::string_view kSecondHeld = "BUnaryFunctor<", kFirstHeld = "AUnaryFunctor<",
                           kTwoTensors = "BinaryFunctor<";

// The template arguments of `name` in a functor's name, at least three.
std::vector<Element> types_of(std::string_view functor, std::string_view name) {
    std::vector<Element> read;
    for (const std::string_view one : template_arguments(functor, name))
        read.push_back(type_named(one));
    read.resize(std::max<std::size_t>(read.size(), 3), Element::unknown);
    return read;
}

// A functor with its types around it: <first operand, second operand, result, functor>.
bool read_wrapped(std::string_view functor, Operation& found) {
    for (const std::string_view name : {kFirstHeld, kSecondHeld, kTwoTensors}) {
        if (!holds(functor, name))
            continue;
        const std::vector<Element> given = types_of(functor, name);
        found.result = given[2];
        found.inputs = {given[0], given[1]};
        if (name == kTwoTensors)
            return true;
        found.scalar_operand = name == kFirstHeld ? 0 : 1;
        found.scalar = given[found.scalar_operand];
        found.inputs = {given[1 - found.scalar_operand], Element::unknown};
        return true;
    }
    return false;
}

void read_bare(std::string_view functor, std::string_view name, Operation& found) {
    const Element type = name.ends_with('<') && found.op != Op::compare_scalar
                             ? types_of(functor, name)[0]
                             : lambda_type(functor);
    found.result = found.inputs[0] = type;
    switch (found.op) {
        case Op::fill:
            found.inputs[0] = Element::unknown;
            found.scalar = type;
            found.scalar_operand = 0;
            break;
        case Op::add_self:
            found.scalar = type;
            break;
        case Op::compare_scalar:
            found.scalar = type;
            found.result = Element::boolean;
            break;
        case Op::logical_not:
            found.result = Element::boolean;
            break;
        case Op::equal:
        case Op::compare:
            found.inputs[1] = type;
            found.result = Element::boolean;
            break;
        case Op::copy:
        case Op::bit_not:
            break;
        default:
            found.inputs[1] = type;
    }
}

}  // namespace

bool Operation::coded() const {
    return op == Op::equal || op == Op::compare || op == Op::compare_scalar;
}

std::size_t Operation::tensors() const {
    return 1 +
           static_cast<std::size_t>(std::count_if(
               inputs.begin(), inputs.end(), [](Element one) { return one != Element::unknown; }));
}

std::size_t Operation::scalar_offset() const {
    if (op == Op::fill || op == Op::add_self)
        return 0;
    const std::size_t before = coded() ? sizeof(int) : op == Op::add ? size_of(scalar) : 1;
    return align_up(before, size_of(scalar));
}

std::size_t Operation::size() const {
    if (scalar == Element::unknown)
        return coded() ? sizeof(int) : op == Op::add ? size_of(result) : 1;
    const std::size_t end = scalar_offset() + (op == Op::add_self ? 2 : 1) * size_of(scalar);
    return align_up(end, std::max(size_of(scalar), coded() ? sizeof(int) : std::size_t{1}));
}

Functor Operation::read_functor(const std::byte* at) const {
    Functor found;
    if (coded())
        std::memcpy(&found.code, at, sizeof found.code);
    if (op == Op::add)
        found.alpha = load(result, at);
    if (op == Op::add_self)
        found.alpha = load(scalar, at + size_of(scalar));
    return found;
}

Value Operation::read_scalar(const std::byte* at) const {
    return scalar == Element::unknown ? Value() : load(scalar, at + scalar_offset());
}

std::optional<Operation> operation_of(std::string_view functor) {
    const auto* const part = std::find_if(
        kOps.begin(), kOps.end(), [&](const Part& one) { return holds(functor, one.text); });
    if (part == kOps.end())
        return {};
    Operation found;
    found.op = part->op;
    if (!read_wrapped(functor, found))
        read_bare(functor, part->text, found);
    const bool whole = found.result != Element::unknown &&
                       (found.op == Op::fill || found.inputs[0] != Element::unknown);
    return whole ? std::optional(found) : std::nullopt;
}

std::size_t result_size(std::string_view functor) {
    constexpr std::size_t kHalf = 2, kUsual = 4;
    Operation wrapped;
    const Element type = read_wrapped(functor, wrapped) ? wrapped.result : lambda_type(functor);
    if (type != Element::unknown)
        return size_of(type);
    return holds(functor, "c10::BFloat16") || holds(functor, "c10::Half") ? kHalf : kUsual;
}

Element lambda_type(std::string_view name) {
    constexpr std::string_view kBegin = "{lambda(";
    const std::size_t begin = name.rfind(kBegin);
    if (begin == std::string_view::npos)
        return Element::unknown;
    const std::string_view rest = name.substr(begin + kBegin.size());
    return type_named(rest.substr(0, rest.find_first_of(",)")));
}

Element dispatched_type(std::string_view name) {
    constexpr std::string_view kBegin = "::operator()() const::{lambda()#";
    constexpr std::array kOrder{Element::u8,  Element::i8,  Element::i32, Element::i64,
                                Element::i16, Element::f64, Element::f32};
    const std::size_t begin = name.find(kBegin);
    if (begin == std::string_view::npos || begin + kBegin.size() >= name.size())
        return Element::unknown;
    const auto number = static_cast<std::size_t>(name[begin + kBegin.size()] - '1');
    return number < kOrder.size() ? kOrder[number] : Element::unknown;
}

}  // namespace tidemark::imagined
