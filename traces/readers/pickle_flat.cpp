// The fast way through the dicts that make up nearly all of a snapshot: flat ones, whose keys were
// stored before and whose values are numbers and strings. Such a dict is read in one go, without
// the stack; anything else in it, and nothing has happened: the general way reads it.
#include "traces/readers/pickle.h"
#include "traces/readers/pickle_bytes.h"
#include "traces/readers/pickle_opcodes.h"

namespace tidemark {
namespace {

constexpr std::ptrdiff_t kItemBytesMax = 5 + 12;  // a key (LONG_BINGET), the longest value
constexpr std::ptrdiff_t kReadAhead = 8;          // bytes are loaded eight at a time

}  // namespace

// Reads from behind EMPTY_DICT to SETITEMS and pushes the dict. False: the cursor has not moved.
bool Unpickler::read_flat_dict() {
    const unsigned char* at = cursor_;
    if (end_ - at < 2 + static_cast<std::ptrdiff_t>(kFlatItemsMax) * kItemBytesMax + kReadAhead)
        return false;
    const bool memoized = *at == opcode::kMemoize;
    at += memoized ? 1 : 0;
    if (*at++ != opcode::kMark)
        return false;

    // Dicts come in long rows with the same keys: those of the last one are compared as bytes.
    row_string_count_ = 0;
    std::size_t count = 0;
    bool same_keys = true;
    for (;; ++count) {
        const FlatKey& known = flat_keys_[count];
        if ((load_as<std::uint64_t>(at) & known.mask) == known.bytes) [[likely]] {
            at += known.length;
        } else if (*at == opcode::kSetitems) {
            break;
        } else {
            same_keys = false;
            row_count_ = 0;
            if (count == kFlatItemsMax || !read_flat_key(at, count))
                return false;
        }
        if (!read_flat_value(at, row_[2 * count + 1]))
            return false;
    }
    if (!same_keys || count != row_count_) {
        row_count_ = count;
        ++row_shape_;
    }
    if (count == 0)
        return false;

    cursor_ = at + 1;
    const Value dict(Value::Kind::dict, objects_.dict_count++);
    if (memoized)
        memo_.push_back(objects_.lists.pack(dict));
    for (std::size_t i = 0; i < row_string_count_; ++i)
        memo_.push_back(row_strings_[i]);
    stack_.push_back(dict);
    dicts_.set_items(dict.index(), {row_.data(), 2 * count}, row_shape_);
    return true;
}

// The key at `at`, which is moved behind it, becomes key number `item` of the row.
bool Unpickler::read_flat_key(const unsigned char*& at, std::size_t item) {
    const bool is_long = *at == opcode::kLongBinget;
    if (!is_long && *at != opcode::kBinget)
        return false;
    const std::size_t index = is_long ? load_as<std::uint32_t>(at + 1) : at[1];
    if (index >= memo_.size() || !Value::from_bits(memo_[index]).is(Value::Kind::string))
        return false;
    const std::size_t length = is_long ? 5 : 2;
    const std::uint64_t mask = (std::uint64_t{1} << (8 * length)) - 1;
    flat_keys_[item] = {load_as<std::uint64_t>(at) & mask, mask, length};
    row_[2 * item] = Value::from_bits(memo_[index]);
    at += length;
    return true;
}

// One value at `at`, which is moved behind it. False: it is none of the usual ones.
inline bool Unpickler::read_flat_value(const unsigned char*& at, Value& value) {
    if (*at == opcode::kLong1) {
        const unsigned length = at[1];
        if (length == 0 || length > 7)
            return false;
        const unsigned unused = 64 - 8 * length;
        const std::uint64_t low = load_as<std::uint64_t>(at + 2) << unused;
        value = Value::integer(static_cast<std::int64_t>(low) >> unused);
        at += 2 + length;
        return true;
    }
    if (*at == opcode::kLongBinget || *at == opcode::kBinget) {
        const bool is_long = *at == opcode::kLongBinget;
        const std::size_t index = is_long ? load_as<std::uint32_t>(at + 1) : at[1];
        at += is_long ? 5 : 2;
        if (index >= memo_.size() || memo_[index] == 0)
            return false;
        value = objects_.lists.unpack(memo_[index]);
        return true;
    }
    switch (*at) {
        case opcode::kBinint1:
            value = Value::integer(at[1]);
            at += 2;
            return true;
        case opcode::kBinint2:
            value = Value::integer(load_as<std::uint16_t>(at + 1));
            at += 3;
            return true;
        case opcode::kBinint:
            value = Value::integer(static_cast<std::int32_t>(load_as<std::uint32_t>(at + 1)));
            at += 5;
            return true;
        case opcode::kShortBinunicode: {
            const unsigned length = at[1];
            if (length > 8 || at[2 + length] != opcode::kMemoize)
                return false;
            const std::uint64_t word = load_as<std::uint64_t>(at + 2);
            value = {Value::Kind::string, short_string(at + 2, length, word)};
            row_strings_[row_string_count_++] = objects_.lists.pack(value);
            at += 3 + length;
            return true;
        }
        case opcode::kNewTrue:
        case opcode::kNewFalse:
            value = {Value::Kind::boolean, *at == opcode::kNewTrue ? 1U : 0U};
            at += 1;
            return true;
        default:
            return false;
    }
}

}  // namespace tidemark
