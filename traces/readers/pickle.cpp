// The unpickler's loop. Text opcodes of protocol 0 are in pickle_text.cpp.
#include "traces/readers/pickle.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "traces/readers/pickle_bytes.h"
#include "traces/readers/pickle_opcodes.h"

namespace tidemark {
namespace {

constexpr std::uint64_t kStringMax = std::uint64_t{16} << 20U;
constexpr const char* kDamaged = "the file is damaged: record or copy it again";

}  // namespace

Result<Value> Unpickler::run() {
    Step step = Step::next;
    while (step == Step::next) {
        const unsigned char* opcode = input_.begin_opcode();
        step = opcode == nullptr ? Step::failed : execute(*opcode);
    }
    if (step == Step::failed || !objects_.lists.whole()) {
        if (input_.error().what.empty())
            input_.fail_here("more objects than can be numbered");
        return tl::make_unexpected(std::move(input_.error()));
    }
    return stack_.top();
}

// The opcodes of which a snapshot consists; everything else is in execute_rare.
inline Unpickler::Step Unpickler::execute(unsigned opcode) {
    const unsigned char* bytes = nullptr;
    bool good = false;
    switch (opcode) {
        case opcode::kBinget:
            good = (bytes = input_.take(1)) != nullptr && get(*bytes);
            break;
        case opcode::kLongBinget:
            good = (bytes = input_.take(4)) != nullptr && get(load(bytes, 4));
            break;
        case opcode::kBinint1:
            good = (bytes = input_.take(1)) != nullptr && push(Value::integer(*bytes));
            break;
        case opcode::kBinint2:
            good = (bytes = input_.take(2)) != nullptr &&
                   push(Value::integer(static_cast<std::int64_t>(load(bytes, 2))));
            break;
        case opcode::kBinint:
            good = (bytes = input_.take(4)) != nullptr &&
                   push(Value::integer(static_cast<std::int32_t>(load(bytes, 4))));
            break;
        case opcode::kLong1:
            good = (bytes = input_.take(1)) != nullptr && push_long(*bytes);
            break;
        case opcode::kShortBinunicode:
            good = (bytes = input_.take(1)) != nullptr && push_string(*bytes);
            break;
        case opcode::kMemoize:
            good = memoize();
            break;
        case opcode::kEmptyDict:
            good = read_flat_dict() || push({Value::Kind::dict, objects_.dict_count++});
            break;
        case opcode::kEmptyList:
            good = push({Value::Kind::list, objects_.lists.create()});
            break;
        case opcode::kMark:
            good = mark();
            break;
        case opcode::kSetitems:
            good = set_all();
            break;
        case opcode::kAppends:
            good = append_all();
            break;
        case opcode::kAppend:
            good = append();
            break;
        default:
            return execute_rare(opcode);
    }
    return good ? Step::next : Step::failed;
}

Unpickler::Step Unpickler::execute_rare(unsigned opcode) {
    const unsigned char* bytes = nullptr;
    std::uint64_t length = 0;
    bool good = false;
    switch (opcode) {
        case opcode::kProto:
            good =
                (bytes = input_.take(1)) != nullptr &&
                (*bytes <= kNewestProtocol ||
                 input_.fail_here(fmt::format("pickle protocol {} is newer than any known", *bytes),
                                  "write the file with protocol 4"));
            break;
        case opcode::kFrame:
            good = input_.take(8) != nullptr;  // where the next frame begins: a hint, not needed
            break;
        case opcode::kStop:
            return stack_.within_reach() != 0 ? Step::stop : (underflow(), Step::failed);
        case opcode::kNone:
            good = push({Value::Kind::none, 0});
            break;
        case opcode::kNewTrue:
        case opcode::kNewFalse:
            good = push({Value::Kind::boolean, opcode == opcode::kNewTrue ? 1U : 0U});
            break;
        case opcode::kBinfloat:
            good = (bytes = input_.take(8)) != nullptr &&
                   push(objects_.real(std::bit_cast<double>(__builtin_bswap64(load(bytes, 8)))));
            break;
        case opcode::kBinunicode:
        case opcode::kBinbytes:
        case opcode::kBinstring:
            good = input_.take_number(4, length) && push_string(length);
            break;
        case opcode::kShortBinbytes:
        case opcode::kShortBinstring:
            good = input_.take_number(1, length) && push_string(length);
            break;
        case opcode::kBinunicode8:
        case opcode::kBinbytes8:
            good = input_.take_number(8, length) && push_string(length);
            break;
        case opcode::kLong4:
            good = input_.take_number(4, length) && push_long(length);
            break;
        default:
            good = execute_structure(opcode);
    }
    return good ? Step::next : Step::failed;
}

// What puts values together, moves them or stores them.
bool Unpickler::execute_structure(unsigned opcode) {
    std::uint64_t index = 0;
    std::size_t begin = 0;
    const std::size_t tuple_size = opcode - opcode::kTuple1 + 1;
    switch (opcode) {
        case opcode::kSetitem:
            return set_item();
        case opcode::kTuple1:
        case opcode::kTuple2:
        case opcode::kTuple3:
            return stack_.within_reach() >= tuple_size ? make_tuple(stack_.size() - tuple_size)
                                                       : underflow();
        case opcode::kTuple:
        case opcode::kList:
        case opcode::kDict:
            return make_from_mark(opcode);
        case opcode::kAddItems:
            return append_all();
        case opcode::kFrozenSet:
            return stack_.pop_mark(begin) ? make_tuple(begin) : underflow();
        case opcode::kEmptyTuple:
        case opcode::kEmptySet:
            return push({Value::Kind::list, objects_.lists.create()});
        case opcode::kBinput:
            return input_.take_number(1, index) && put(index);
        case opcode::kLongBinput:
            return input_.take_number(4, index) && put(index);
        case opcode::kPop:
            return stack_.pop() || underflow();
        case opcode::kPopMark:
            if (!stack_.pop_mark(begin))
                return underflow();
            stack_.truncate(begin);
            return true;
        case opcode::kDup:
            return stack_.within_reach() != 0 ? push(stack_.top()) : underflow();
        default:
            return execute_text(opcode);
    }
}

bool Unpickler::underflow() {
    return input_.fail_here("an opcode needs more values than the stack has", kDamaged);
}

// A little-endian two's complement integer of `length` bytes.
inline bool Unpickler::push_long(std::uint64_t length) {
    if (length > kStringMax)
        return input_.fail_here(fmt::format("an integer of {} bytes", length),
                                "no memory snapshot has one: the file is damaged");
    const unsigned char* bytes = input_.take(length);
    if (bytes == nullptr)
        return false;
    if (length == 0)
        return push(Value::integer(0));
    const auto unused = static_cast<unsigned>(length < 8 ? 64 - 8 * length : 0);
    const std::uint64_t low = load(bytes, std::min<std::size_t>(length, 8));
    const auto number = static_cast<std::int64_t>(low << unused) >> unused;
    if (length <= 8 && number >> 59U == number >> 63U) [[likely]]
        return push(Value::integer(number));
    if (length <= 8)
        return push(objects_.wide({number < 0 ? 0 - low : low, number < 0}));

    const bool negative = (bytes[length - 1] & 0x80U) != 0;
    const auto is_padding = [negative](unsigned char b) { return b == (negative ? 0xffU : 0U); };
    const bool fits = std::all_of(bytes + 8, bytes + length, is_padding) && (!negative || low != 0);
    return push(objects_.wide({fits ? (negative ? 0 - low : low) : ~std::uint64_t{0}, negative}));
}

inline bool Unpickler::push_string(std::uint64_t length) {
    if (length > kStringMax) [[unlikely]]
        return input_.fail_here(fmt::format("a string of {} bytes", length),
                                "no memory snapshot has one: the file is damaged");
    const unsigned char* bytes = input_.take(length);
    if (bytes == nullptr)
        return false;
    if (length > 8)
        return push(objects_.string({reinterpret_cast<const char*>(bytes), length}));

    const std::uint64_t word =
        input_.end() - bytes >= 8 ? load_as<std::uint64_t>(bytes) : load(bytes, length);
    return push({Value::Kind::string, short_strings_.intern(bytes, length, word)});
}

bool Unpickler::mark() {
    return stack_.mark() ||
           input_.fail_here(fmt::format("more than {} levels of nesting", PickleStack::kMarksMax),
                            "no memory snapshot has them: the file is damaged or hostile");
}

inline bool Unpickler::memoize() {
    if (stack_.within_reach() == 0) [[unlikely]]
        return underflow();
    memo_.push(stack_.top());
    return true;
}

bool Unpickler::get(std::uint64_t index) {
    Value value;
    if (!memo_.find(index, value)) [[unlikely]]
        return input_.fail_here(fmt::format("refers to object {}, which was never stored", index),
                                kDamaged);
    return push(value);
}

// Picklers number what they store from 0 or 1 on. Gaps are allowed, but no index that the preceding
// bytes could not have needed.
bool Unpickler::put(std::uint64_t index) {
    if (stack_.within_reach() == 0)
        return underflow();
    if (index > memo_.size() && index > input_.offset())
        return input_.fail_here(
            fmt::format("stores object {} after only {} objects", index, memo_.size()), kDamaged);
    if (index < memo_.size())
        flat_dicts_.forget_keys();
    memo_.set(index, stack_.top());
    return true;
}

bool Unpickler::append() {
    if (stack_.within_reach() < 2)
        return underflow();
    if (!append_to(stack_.top(1), stack_.size() - 1))
        return false;
    stack_.truncate(stack_.size() - 1);
    return true;
}

bool Unpickler::append_all() {
    std::size_t begin = 0;
    if (!stack_.pop_group(begin))
        return underflow();
    if (!append_to(stack_[begin - 1], begin))
        return false;
    stack_.truncate(begin);
    return true;
}

// The values from `begin` on; the arguments of an opaque object don't matter either.
bool Unpickler::append_to(Value target, std::size_t begin) {
    if (target.is(Value::Kind::list))
        objects_.lists.append(target.index(), stack_.from(begin));
    return target.is(Value::Kind::list) || target.is(Value::Kind::opaque) ||
           input_.fail_here("appends to something that is not a list");
}

// Takes the values from `begin` on as items of `dict`.
inline bool Unpickler::give_items(Value dict, std::size_t begin) {
    const bool is_dict = dict.is(Value::Kind::dict);
    if (!is_dict && !dict.is(Value::Kind::opaque)) [[unlikely]]
        return input_.fail_here("sets items of something that is not a dict");
    if (is_dict && stack_.size() != begin)
        dicts_.set_items(dict.index(), stack_.from(begin), 0);
    stack_.truncate(begin);
    return true;
}

bool Unpickler::set_item() {
    return stack_.within_reach() >= 3 ? give_items(stack_.top(2), stack_.size() - 2) : underflow();
}

inline bool Unpickler::set_all() {
    std::size_t begin = 0;
    if (!stack_.pop_group(begin) || (stack_.size() - begin) % 2 != 0) [[unlikely]]
        return underflow();
    return give_items(stack_[begin - 1], begin);
}

// False if no flat dict follows: then nothing was taken.
bool Unpickler::read_flat_dict() {
    const unsigned char* const next = flat_dicts_.read(input_.ahead(), input_.end());
    if (next == nullptr)
        return false;
    input_.skip_to(next);
    const Value dict(Value::Kind::dict, objects_.dict_count++);
    flat_dicts_.memoize(dict);
    stack_.push(dict);
    dicts_.set_items(dict.index(), flat_dicts_.items(), flat_dicts_.shape());
    return true;
}

// A tuple of the values on the stack from `begin` on. Two small numbers (a pool's id) need no list.
bool Unpickler::make_tuple(std::size_t begin) {
    const std::span<const Value> items = stack_.from(begin);
    const auto is_small = [](Value value) {
        return value.is(Value::Kind::integer) && value.payload() < (1U << 14U);
    };
    Value tuple;
    if (items.size() == 2 && is_small(items[0]) && is_small(items[1])) {
        tuple = {Value::Kind::pair, items[0].payload() << 14U | items[1].payload()};
    } else {
        tuple = {Value::Kind::list, objects_.lists.create()};
        objects_.lists.append(tuple.index(), items);
    }
    stack_.truncate(begin);
    return push(tuple);
}

bool Unpickler::make_from_mark(unsigned opcode) {
    std::size_t begin = 0;
    if (!stack_.pop_mark(begin))
        return underflow();
    if (opcode != opcode::kDict)
        return make_tuple(begin);
    if ((stack_.size() - begin) % 2 != 0)
        return underflow();
    const Value dict(Value::Kind::dict, objects_.dict_count++);
    return give_items(dict, begin) && push(dict);
}

Value Unpickler::close_open() {
    std::size_t begin = 0;
    while (stack_.pop_mark(begin) && begin != 0) {
        const Value target = stack_[begin - 1];
        if (target.is(Value::Kind::list))
            objects_.lists.append(target.index(), stack_.from(begin));
        else if (target.is(Value::Kind::dict) && begin == 1)
            give_open_items(target, stack_.from(begin));
        stack_.truncate(begin);
    }
    return stack_.size() == 0 ? Value() : stack_[0];
}

// `items` are pairs, except the last: its value may be missing, or the value may be a list to which
// another list, last on the stack, was about to be appended.
void Unpickler::give_open_items(Value dict, std::span<const Value> items) {
    const std::size_t size = items.size();
    if (size % 2 == 1 && size >= 3 && items[size - 1].is(Value::Kind::list) &&
        items[size - 2].is(Value::Kind::list))
        objects_.lists.append(items[size - 2].index(), items.last(1));
    dicts_.set_items(dict.index(), items.first(size - size % 2), 0);
}

}  // namespace tidemark
