// Opcodes that name and make objects, and the rejection of everything that is not data. Nothing is
// imported or called: a dict of another class is a dict, a NumPy scalar is its number, any other
// object of a library that only holds data is opaque, and any other name is an Error.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "traces/readers/pickle.h"
#include "traces/readers/pickle_bytes.h"
#include "traces/readers/pickle_opcodes.h"

namespace tidemark {
namespace {

enum class PickleCallable : std::uint8_t {
    unknown,
    dict,    // makes a dict: OrderedDict, defaultdict
    scalar,  // NumPy's: of a dtype and its bytes
    dtype,   // NumPy's
    encode,  // bytes, as protocols 0 to 2 write them: of a Latin-1 text
    opaque,  // anything else of a library that only holds data
};

// NumPy's type of a number, little-endian: its letter ('i', 'u', 'f', 'b') and its size in bytes.
struct PickleDtype {
    char letter = 0;
    std::uint32_t size = 0;  // 0 = doesn't matter

    static PickleDtype unpack(std::uint64_t payload) {
        return {static_cast<char>(payload & 255U), static_cast<std::uint32_t>(payload >> 8U)};
    }

    std::uint64_t pack() const {
        return static_cast<unsigned char>(letter) | std::uint64_t{size} << 8U;
    }
};

struct KnownName {
    std::string_view module;
    std::string_view name;  // "" = all of the module
    PickleCallable callable;
};

constexpr std::array kKnownNames{
    KnownName{"collections", "OrderedDict", PickleCallable::dict},
    KnownName{"collections", "defaultdict", PickleCallable::dict},
    KnownName{"collections", "Counter", PickleCallable::dict},
    KnownName{"builtins", "dict", PickleCallable::dict},
    KnownName{"__builtin__", "dict", PickleCallable::dict},
    KnownName{"numpy._core.multiarray", "scalar", PickleCallable::scalar},
    KnownName{"numpy.core.multiarray", "scalar", PickleCallable::scalar},
    KnownName{"numpy", "dtype", PickleCallable::dtype},
    KnownName{"_codecs", "encode", PickleCallable::encode},
    // Factories of defaultdict, and objects that people store next to a snapshot in a dict of their
    // own.
    KnownName{"builtins", "int", PickleCallable::opaque},
    KnownName{"builtins", "float", PickleCallable::opaque},
    KnownName{"builtins", "str", PickleCallable::opaque},
    KnownName{"builtins", "list", PickleCallable::opaque},
    KnownName{"builtins", "set", PickleCallable::opaque},
    KnownName{"builtins", "frozenset", PickleCallable::opaque},
    KnownName{"builtins", "object", PickleCallable::opaque},
    KnownName{"builtins", "bytearray", PickleCallable::opaque},
    KnownName{"builtins", "complex", PickleCallable::opaque},
    KnownName{"builtins", "range", PickleCallable::opaque},
    KnownName{"builtins", "slice", PickleCallable::opaque},
    KnownName{"__builtin__", "int", PickleCallable::opaque},
    KnownName{"__builtin__", "long", PickleCallable::opaque},
    KnownName{"__builtin__", "list", PickleCallable::opaque},
    KnownName{"__builtin__", "set", PickleCallable::opaque},
    KnownName{"__builtin__", "object", PickleCallable::opaque},
    KnownName{"copyreg", "_reconstructor", PickleCallable::opaque},
    KnownName{"copy_reg", "_reconstructor", PickleCallable::opaque},
    KnownName{"argparse", "Namespace", PickleCallable::opaque},
    KnownName{"datetime", "", PickleCallable::opaque},
    KnownName{"decimal", "Decimal", PickleCallable::opaque},
    KnownName{"pathlib", "", PickleCallable::opaque},
    KnownName{"uuid", "UUID", PickleCallable::opaque},
    KnownName{"numpy", "ndarray", PickleCallable::opaque},
    KnownName{"numpy._core.multiarray", "_reconstruct", PickleCallable::opaque},
    KnownName{"numpy.core.multiarray", "_reconstruct", PickleCallable::opaque},
    KnownName{"torch", "", PickleCallable::opaque},
    KnownName{"torch.storage", "", PickleCallable::opaque},
    KnownName{"torch.torch_version", "TorchVersion", PickleCallable::opaque},
    KnownName{"torch._utils", "_rebuild_tensor_v2", PickleCallable::opaque},
    KnownName{"torch._utils", "_rebuild_parameter", PickleCallable::opaque},
};

// "i8", "u4", "f8", "b1": its type of number; size 0 if it is something else.
PickleDtype parse_dtype(std::string_view text) {
    PickleDtype type;
    if (text.empty() || std::string_view("iufb").find(text[0]) == std::string_view::npos)
        return {};
    type.letter = text[0];
    std::uint32_t size = 0;
    std::from_chars(text.data() + 1, text.data() + text.size(), size);
    type.size = size == 1 || size == 2 || size == 4 || size == 8 ? size : 0;
    return type;
}

// A half of 16 bits isn't worth its code: opaque, like everything that `type` doesn't know.
Value scalar_value(PickleObjects& objects, PickleDtype type, std::string_view text) {
    if (type.size == 0 || text.size() != type.size)
        return {Value::Kind::opaque, 0};
    std::array<unsigned char, 8> bytes{};
    std::copy(text.begin(), text.end(), bytes.begin());
    const std::uint64_t number = load(bytes.data(), type.size);
    if (type.letter == 'b')
        return {Value::Kind::boolean, number != 0 ? 1U : 0U};
    if (type.letter == 'f' && type.size == 8)
        return objects.real(std::bit_cast<double>(number));
    if (type.letter == 'f' && type.size == 4)
        return objects.real(std::bit_cast<float>(static_cast<std::uint32_t>(number)));
    if (type.letter == 'f')
        return {Value::Kind::opaque, 0};
    const unsigned unused = 64 - 8 * type.size;
    const auto with_sign = static_cast<std::int64_t>(number << unused) >> unused;
    const bool negative = type.letter == 'i' && with_sign < 0;
    if (negative ? with_sign >> 59U == -1 : number >> 59U == 0)
        return Value::integer(negative ? with_sign : static_cast<std::int64_t>(number));
    return objects.wide({negative ? 0 - static_cast<std::uint64_t>(with_sign) : number, negative});
}

// The bytes that a Latin-1 text stands for.
std::string latin1_bytes(std::string_view utf8) {
    std::string bytes;
    for (std::size_t i = 0; i < utf8.size(); ++i) {
        const auto byte = static_cast<unsigned char>(utf8[i]);
        if (byte < 0x80 || i + 1 == utf8.size()) {
            bytes.push_back(utf8[i]);
            continue;
        }
        const auto next = static_cast<unsigned char>(utf8[++i]);
        bytes.push_back(static_cast<char>((byte & 3U) << 6U | (next & 0x3fU)));
    }
    return bytes;
}

PickleCallable find_pickle_callable(std::string_view module, std::string_view name) {
    const auto* const found = std::ranges::find_if(kKnownNames, [&](const KnownName& known) {
        return known.module == module && (known.name.empty() || known.name == name);
    });
    return found == kKnownNames.end() ? PickleCallable::unknown : found->callable;
}

}  // namespace

std::string_view opcode::forbidden_name(unsigned opcode) {
    static constexpr std::array<std::pair<unsigned, std::string_view>, 7> kNames{{
        {'i', "INST"},
        {'o', "OBJ"},
        {0x82, "EXT1"},
        {0x83, "EXT2"},
        {0x84, "EXT4"},
        {0x97, "NEXT_BUFFER"},
        {0x98, "READONLY_BUFFER"},
    }};
    for (const auto& [number, name] : kNames) {
        if (number == opcode)
            return name;
    }
    return {};
}

bool Unpickler::reject(unsigned opcode) {
    const std::string_view name = opcode::forbidden_name(opcode);
    if (name.empty())
        return input_.fail_here(
            fmt::format("byte {:#04x} begins no part of plain pickled data", opcode),
            "the file is damaged or not a memory snapshot: record it again with "
            "torch.cuda.memory._dump_snapshot()");
    return input_.fail_here(
        fmt::format("opcode {} ({:#04x}) would import or build Python objects, which "
                    "no memory snapshot needs; nothing of it was executed",
                    name, opcode),
        "do not open the file with Python either, unless you trust its origin");
}

bool Unpickler::reject_global(std::string_view module, std::string_view name) {
    constexpr std::size_t kShown = 64;
    return input_.fail_here(
        fmt::format("the file would import {}.{}, which no memory snapshot needs; nothing of it "
                    "was executed",
                    module.substr(0, kShown), name.substr(0, kShown)),
        "if the file is yours, write the snapshot alone: "
        "pickle.dump(torch.cuda.memory._snapshot(), file); otherwise do not open it with Python");
}

bool Unpickler::execute_object(unsigned opcode) {
    std::string_view line;
    switch (opcode) {
        case opcode::kGlobal:
            return push_global_line();
        case opcode::kStackGlobal:
            return push_stack_global();
        case opcode::kPersistentId:
            return input_.take_line(line) && push({Value::Kind::opaque, 0});
        case opcode::kBinaryPersistentId:
            return push_persistent();
        case opcode::kReduce:
        case opcode::kNewObject:
            return call();
        case opcode::kNewObjectEx:  // keyword arguments on top: ignored
            return stack_.within_reach() >= 3 ? (stack_.truncate(stack_.size() - 1), call())
                                              : underflow();
        case opcode::kBuild:
            return build();
        default:
            return reject(opcode);
    }
}

bool Unpickler::push_global(std::string_view module, std::string_view name) {
    const PickleCallable callable = find_pickle_callable(module, name);
    return callable == PickleCallable::unknown
               ? reject_global(module, name)
               : push({Value::Kind::callable, static_cast<std::uint64_t>(callable)});
}

bool Unpickler::push_global_line() {
    std::string_view line;
    if (!input_.take_line(line))
        return false;
    const std::string module(line);  // the next line may move it
    return input_.take_line(line) && push_global(module, line);
}

bool Unpickler::push_stack_global() {
    if (stack_.within_reach() < 2)
        return underflow();
    const std::string_view module = objects_.text(stack_.top(1));
    const std::string_view name = objects_.text(stack_.top());
    stack_.truncate(stack_.size() - 2);
    return push_global(module, name);
}

// For example a tensor's storage: its bytes are elsewhere.
bool Unpickler::push_persistent() {
    if (stack_.within_reach() < 1)
        return underflow();
    stack_.truncate(stack_.size() - 1);
    return push({Value::Kind::opaque, 0});
}

// What a callable would make from its arguments, which are on top of it.
bool Unpickler::call() {
    if (stack_.within_reach() < 2)
        return underflow();
    const Value callable = stack_.top(1);
    const Value arguments = stack_.top();
    if (!callable.is(Value::Kind::callable))
        return input_.fail_here("something that is not a class or function would be called",
                                "the file is damaged");
    stack_.truncate(stack_.size() - 2);
    switch (static_cast<PickleCallable>(callable.payload())) {
        case PickleCallable::dict:
            return push_dict_of(arguments);
        case PickleCallable::scalar:
            return push_scalar(arguments);
        case PickleCallable::dtype:
            return push_dtype(arguments);
        case PickleCallable::encode:
            return push_encoded(arguments);
        default:
            return push({Value::Kind::opaque, 0});
    }
}

// OrderedDict(), defaultdict(list), and Python 2's OrderedDict([[key, value], ...]).
bool Unpickler::push_dict_of(Value arguments) {
    const Value dict(Value::Kind::dict, objects_.dict_count++);
    std::vector<Value> pairs;
    const auto add_pair = [&](Value pair) {
        if (pair.is(Value::Kind::list) && objects_.lists.size(pair.index()) == 2)
            objects_.lists.for_each(pair.index(), [&](Value part) { pairs.push_back(part); });
    };
    const auto add_argument = [&](Value argument) {
        if (argument.is(Value::Kind::list))
            objects_.lists.for_each(argument.index(), add_pair);
    };
    if (arguments.is(Value::Kind::list))
        objects_.lists.for_each(arguments.index(), add_argument, 1);
    if (!pairs.empty())
        dicts_.set_items(dict.index(), pairs, 0);
    return push(dict);
}

bool Unpickler::push_scalar(Value arguments) {
    PickleDtype type;
    std::string_view bytes;
    if (arguments.is(Value::Kind::list)) {
        objects_.lists.for_each(
            arguments.index(),
            [&](Value part) {
                if (part.is(Value::Kind::dtype))
                    type = PickleDtype::unpack(part.payload());
                else
                    bytes = objects_.text(part);
            },
            2);
    }
    return push(scalar_value(objects_, type, bytes));
}

bool Unpickler::push_dtype(Value arguments) {
    PickleDtype type;
    if (arguments.is(Value::Kind::list))
        objects_.lists.for_each(
            arguments.index(), [&](Value text) { type = parse_dtype(objects_.text(text)); }, 1);
    return push({Value::Kind::dtype, type.pack()});
}

bool Unpickler::push_encoded(Value arguments) {
    std::string bytes;
    if (arguments.is(Value::Kind::list))
        objects_.lists.for_each(
            arguments.index(), [&](Value text) { bytes = latin1_bytes(objects_.text(text)); }, 1);
    return push(objects_.string(bytes));
}

// The state of an object is discarded. That of a dtype has the order of its bytes: (3, '>', ...).
bool Unpickler::build() {
    if (stack_.within_reach() < 2)
        return underflow();
    const Value state = stack_.top();
    bool big_endian = false;
    if (stack_.top(1).is(Value::Kind::dtype) && state.is(Value::Kind::list))
        objects_.lists.for_each(
            state.index(),
            [&](Value part) { big_endian = big_endian || objects_.text(part) == ">"; }, 2);
    if (big_endian)
        return input_.fail_here("NumPy numbers in big-endian order",
                                "convert them to plain numbers first: int(x)");
    stack_.truncate(stack_.size() - 1);
    return true;
}

}  // namespace tidemark
