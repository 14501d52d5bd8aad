// The unpickler's loop, its stack and its memo. Text opcodes of protocol 0 are in pickle_text.cpp.
#include "traces/readers/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "traces/readers/pickle_bytes.h"
#include "traces/readers/pickle_opcodes.h"

namespace tidemark {
namespace {

constexpr std::uint64_t kStringMax = std::uint64_t{16} << 20U;
constexpr std::uint64_t kMarksMax = 64;  // a snapshot nests 6 deep; each level is a mark
constexpr std::uint64_t kProgressEvery = std::uint64_t{4} << 20U;

}  // namespace

Result<Value> Unpickler::run() {
    Step step = Step::next;
    while (step == Step::next) {
        opcode_ = cursor_;
        const unsigned char* byte = take(1);
        step = byte == nullptr ? Step::failed : execute(*byte);
    }
    if (step == Step::failed || !objects_.lists.whole()) {
        if (error_.what.empty())
            fail_here("more objects than can be numbered");
        return tl::make_unexpected(std::move(error_));
    }
    return stack_[stack_.size() - 1];
}

// The opcodes of which a snapshot consists; everything else is in execute_rare.
inline Unpickler::Step Unpickler::execute(unsigned opcode) {
    const unsigned char* bytes = nullptr;
    bool good = false;
    switch (opcode) {
        case opcode::kBinget:
            good = (bytes = take(1)) != nullptr && get(*bytes);
            break;
        case opcode::kLongBinget:
            good = (bytes = take(4)) != nullptr && get(load(bytes, 4));
            break;
        case opcode::kBinint1:
            good = (bytes = take(1)) != nullptr && push_number(*bytes);
            break;
        case opcode::kBinint2:
            good = (bytes = take(2)) != nullptr &&
                   push_number(static_cast<std::int64_t>(load(bytes, 2)));
            break;
        case opcode::kBinint:
            good = (bytes = take(4)) != nullptr &&
                   push_number(static_cast<std::int32_t>(load(bytes, 4)));
            break;
        case opcode::kLong1:
            good = (bytes = take(1)) != nullptr && push_long(*bytes);
            break;
        case opcode::kShortBinunicode:
            good = (bytes = take(1)) != nullptr && push_string(*bytes);
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
            good = (bytes = take(1)) != nullptr &&
                   (*bytes <= kNewestProtocol ||
                    fail_here(fmt::format("pickle protocol {} is newer than any known", *bytes),
                              "write the file with protocol 4"));
            break;
        case opcode::kFrame:
            good = take(8) != nullptr;  // where the next frame begins: a hint that isn't needed
            break;
        case opcode::kStop:
            return stack_.size() > floor() ? Step::stop : (underflow(), Step::failed);
        case opcode::kNone:
            good = push({Value::Kind::none, 0});
            break;
        case opcode::kNewTrue:
        case opcode::kNewFalse:
            good = push({Value::Kind::boolean, opcode == opcode::kNewTrue ? 1U : 0U});
            break;
        case opcode::kBinfloat:
            good = (bytes = take(8)) != nullptr &&
                   push_real(std::bit_cast<double>(__builtin_bswap64(load(bytes, 8))));
            break;
        case opcode::kBinunicode:
        case opcode::kBinbytes:
            good = take_length(4, length) && push_string(length);
            break;
        case opcode::kShortBinbytes:
            good = take_length(1, length) && push_string(length);
            break;
        case opcode::kBinunicode8:
        case opcode::kBinbytes8:
            good = take_length(8, length) && push_string(length);
            break;
        case opcode::kLong4:
            good = take_length(4, length) && push_long(length);
            break;
        default:
            good = execute_structure(opcode);
    }
    return good ? Step::next : Step::failed;
}

// What puts values together, moves them or stores them.
bool Unpickler::execute_structure(unsigned opcode) {
    std::uint64_t index = 0;
    std::size_t height = 0;
    switch (opcode) {
        case opcode::kSetitem:
            return set_item();
        case opcode::kTuple1:
        case opcode::kTuple2:
        case opcode::kTuple3:
            return make_tuple_of(opcode - opcode::kTuple1 + 1);
        case opcode::kTuple:
        case opcode::kList:
        case opcode::kDict:
            return make_from_mark(opcode);
        case opcode::kEmptyTuple:
            return push({Value::Kind::list, objects_.lists.create()});
        case opcode::kBinput:
            return take_length(1, index) && put(index);
        case opcode::kLongBinput:
            return take_length(4, index) && put(index);
        case opcode::kPop:
            return pop();
        case opcode::kPopMark:
            if (!pop_mark(height))
                return false;
            stack_.truncate(height);
            return true;
        case opcode::kDup:
            return duplicate();
        default:
            return execute_text(opcode);
    }
}

inline const unsigned char* Unpickler::take(std::size_t count) {
    if (static_cast<std::size_t>(end_ - cursor_) < count) [[unlikely]] {
        if (!refill(count))
            return nullptr;
    }
    return std::exchange(cursor_, cursor_ + count);
}

// Makes `count` bytes available behind the cursor. The opcode stays in the window, for messages.
bool Unpickler::refill(std::size_t count) {
    const auto done = static_cast<std::size_t>(cursor_ - opcode_);
    source_.consume(static_cast<std::size_t>(opcode_ - window_));
    Result<void> more = source_.need(done + count);
    const std::span<const std::byte> window = source_.window();
    window_ = opcode_ = reinterpret_cast<const unsigned char*>(window.data());
    cursor_ = window_ + done;
    end_ = window_ + window.size();
    if (!more) {
        error_ = std::move(more).error();
        return false;
    }
    if (progress_ && source_.raw_done() - reported_ >= kProgressEvery) {
        reported_ = source_.raw_done();
        progress_(reported_);
    }
    if (static_cast<std::size_t>(end_ - cursor_) >= count)
        return true;
    cut_off_ = true;
    opcode_ = end_;
    return fail_here("the file ends here, in the middle of its data",
                     "it is cut off: record or copy it again, or keep what is whole of it with "
                     "--lenient");
}

std::uint64_t Unpickler::offset() const {
    return source_.offset() + static_cast<std::uint64_t>(opcode_ - window_);
}

bool Unpickler::fail_here(std::string what, std::string hint) {
    error_ = {ErrorCode::bad_input, std::move(what),
              fmt::format("{}:{:#x}", source_.name(), offset()), std::move(hint)};
    return false;
}

bool Unpickler::underflow() {
    return fail_here("an opcode wants more values than there are",
                     "the file is damaged: record or copy it again");
}

bool Unpickler::take_length(unsigned width, std::uint64_t& length) {
    const unsigned char* bytes = take(width);
    if (bytes == nullptr)
        return false;
    length = load(bytes, width);
    return true;
}

bool Unpickler::push_wide(WideInteger number) {
    objects_.wides.push_back(number);
    return push({Value::Kind::wide, objects_.wides.size() - 1});
}

bool Unpickler::push_real(double number) {
    objects_.reals.push_back(number);
    return push({Value::Kind::real, objects_.reals.size() - 1});
}

// A little-endian two's complement integer of `length` bytes.
inline bool Unpickler::push_long(std::uint64_t length) {
    if (length > kStringMax)
        return fail_here(fmt::format("an integer of {} bytes", length),
                         "no memory snapshot has one: the file is damaged");
    const unsigned char* bytes = take(length);
    if (bytes == nullptr)
        return false;
    if (length == 0)
        return push_number(0);
    const auto unused = static_cast<unsigned>(length < 8 ? 64 - 8 * length : 0);
    const std::uint64_t low = load(bytes, std::min<std::size_t>(length, 8));
    const auto number = static_cast<std::int64_t>(low << unused) >> unused;
    if (length <= 8 && number >> 59U == number >> 63U) [[likely]]
        return push_number(number);
    if (length <= 8)
        return push_wide({number < 0 ? 0 - low : low, number < 0});

    const bool negative = (bytes[length - 1] & 0x80U) != 0;
    const auto is_padding = [negative](unsigned char b) { return b == (negative ? 0xffU : 0U); };
    const bool fits = std::all_of(bytes + 8, bytes + length, is_padding) && (!negative || low != 0);
    return push_wide({fits ? (negative ? 0 - low : low) : ~std::uint64_t{0}, negative});
}

// The index of a string of at most 8 bytes. They come by the million ("N/A" in each entry): a table
// before the table. `word` holds the bytes at `bytes` and whatever follows them.
std::uint32_t Unpickler::short_string(const unsigned char* bytes, std::size_t length,
                                      std::uint64_t word) {
    const std::uint64_t key = length == 8 ? word : word & ((std::uint64_t{1} << (8 * length)) - 1);
    ShortString& known = short_strings_[((key + length) * 0x9e3779b97f4a7c15U) >> 56U];
    if (known.text != key || known.length != length) [[unlikely]] {
        const std::string_view text(reinterpret_cast<const char*>(bytes), length);
        known = {key, static_cast<std::uint32_t>(length), objects_.strings.intern(text)};
    }
    return known.index;
}

inline bool Unpickler::push_string(std::uint64_t length) {
    if (length > kStringMax) [[unlikely]]
        return fail_here(fmt::format("a string of {} bytes", length),
                         "no memory snapshot has one: the file is damaged");
    const unsigned char* bytes = take(length);
    if (bytes == nullptr)
        return false;
    const std::string_view text(reinterpret_cast<const char*>(bytes), length);
    if (length > 8)
        return push({Value::Kind::string, objects_.strings.intern(text)});

    const std::uint64_t word =
        end_ - bytes >= 8 ? load_as<std::uint64_t>(bytes) : load(bytes, length);
    return push({Value::Kind::string, short_string(bytes, length, word)});
}

bool Unpickler::mark() {
    if (marks_.size() >= kMarksMax)
        return fail_here(fmt::format("more than {} levels of nesting", kMarksMax),
                         "no memory snapshot has them: the file is damaged or hostile");
    marks_.push_back(stack_.size());
    return true;
}

inline bool Unpickler::pop_mark(std::size_t& height) {
    if (marks_.empty()) [[unlikely]]
        return underflow();
    height = marks_[marks_.size() - 1];
    marks_.truncate(marks_.size() - 1);
    return true;
}

// As in Python, POP with nothing above the mark takes the mark.
bool Unpickler::pop() {
    if (stack_.size() > floor())
        stack_.truncate(stack_.size() - 1);
    else if (!marks_.empty())
        marks_.truncate(marks_.size() - 1);
    else
        return underflow();
    return true;
}

bool Unpickler::duplicate() {
    return stack_.size() > floor() ? push(stack_[stack_.size() - 1]) : underflow();
}

inline bool Unpickler::memoize() {
    if (stack_.size() <= floor()) [[unlikely]]
        return underflow();
    memo_.push_back(objects_.lists.pack(stack_[stack_.size() - 1]));
    return true;
}

bool Unpickler::get(std::uint64_t index) {
    if (index >= memo_.size() || memo_[index] == 0) [[unlikely]]
        return fail_here(fmt::format("refers to object {}, which was never stored", index),
                         "the file is damaged: record or copy it again");
    return push(objects_.lists.unpack(memo_[index]));
}

// Picklers number what they store from 0 or 1 on; gaps are allowed, but no index that the bytes
// before it could not have needed.
bool Unpickler::put(std::uint64_t index) {
    if (stack_.size() <= floor())
        return underflow();
    if (index > memo_.size() && index > offset())
        return fail_here(fmt::format("stores object {} after only {} objects", index, memo_.size()),
                         "the file is damaged: record or copy it again");
    if (index >= memo_.size())
        memo_.resize(index + 1, 0);
    else
        flat_keys_.fill({});  // one of them may have been this object
    memo_[index] = objects_.lists.pack(stack_[stack_.size() - 1]);
    return true;
}

bool Unpickler::append() {
    const std::size_t size = stack_.size();
    if (size < floor() + 2)
        return underflow();
    if (!stack_[size - 2].is(Value::Kind::list))
        return fail_here("appends to something that is no list");
    objects_.lists.append(stack_[size - 2].index(), stack_.view(size - 1, 1));
    stack_.truncate(size - 1);
    return true;
}

bool Unpickler::append_all() {
    std::size_t height = 0;
    if (!pop_mark(height))
        return false;
    if (height <= floor())
        return underflow();
    if (!stack_[height - 1].is(Value::Kind::list))
        return fail_here("appends to something that is no list");
    objects_.lists.append(stack_[height - 1].index(), stack_.view(height, stack_.size() - height));
    stack_.truncate(height);
    return true;
}

inline void Unpickler::give_items(Value dict, std::size_t begin) {
    if (stack_.size() != begin)
        dicts_.set_items(dict.index(), stack_.view(begin, stack_.size() - begin), 0);
    stack_.truncate(begin);
}

bool Unpickler::set_item() {
    const std::size_t size = stack_.size();
    if (size < floor() + 3)
        return underflow();
    if (!stack_[size - 3].is(Value::Kind::dict))
        return fail_here("sets items of something that is no dict");
    give_items(stack_[size - 3], size - 2);
    return true;
}

inline bool Unpickler::set_all() {
    std::size_t height = 0;
    if (!pop_mark(height))
        return false;
    if (height <= floor() || (stack_.size() - height) % 2 != 0) [[unlikely]]
        return underflow();
    if (!stack_[height - 1].is(Value::Kind::dict)) [[unlikely]]
        return fail_here("sets items of something that is no dict");
    give_items(stack_[height - 1], height);
    return true;
}

// A tuple of what lies on the stack from `begin` on. Two small numbers (a pool's id) need no list.
bool Unpickler::make_tuple(std::size_t begin) {
    const std::size_t count = stack_.size() - begin;
    const auto is_small = [](Value value) {
        return value.is(Value::Kind::integer) && value.payload() < (1U << 14U);
    };
    Value tuple;
    if (count == 2 && is_small(stack_[begin]) && is_small(stack_[begin + 1])) {
        tuple = {Value::Kind::pair, stack_[begin].payload() << 14U | stack_[begin + 1].payload()};
    } else {
        tuple = {Value::Kind::list, objects_.lists.create()};
        objects_.lists.append(tuple.index(), stack_.view(begin, count));
    }
    stack_.truncate(begin);
    return push(tuple);
}

bool Unpickler::make_tuple_of(std::size_t count) {
    return stack_.size() >= floor() + count ? make_tuple(stack_.size() - count) : underflow();
}

bool Unpickler::make_from_mark(unsigned opcode) {
    std::size_t height = 0;
    if (!pop_mark(height))
        return false;
    if (opcode != opcode::kDict)
        return make_tuple(height);
    if ((stack_.size() - height) % 2 != 0)
        return underflow();
    const Value dict(Value::Kind::dict, objects_.dict_count++);
    give_items(dict, height);
    return push(dict);
}

Value Unpickler::close_open() {
    std::size_t height = 0;
    while (!marks_.empty() && pop_mark(height) && height != 0) {
        const Value target = stack_[height - 1];
        const std::span<const Value> items = stack_.view(height, stack_.size() - height);
        if (target.is(Value::Kind::list))
            objects_.lists.append(target.index(), items);
        else if (target.is(Value::Kind::dict) && height == 1)
            give_open_items(target, items);
        stack_.truncate(height);
    }
    return stack_.empty() ? Value() : stack_[0];
}

// `items` are pairs, but for the last: it may lack its value, or the value may be a list that
// another list, last on the stack, was about to be appended to.
void Unpickler::give_open_items(Value dict, std::span<const Value> items) {
    const std::size_t size = items.size();
    if (size % 2 == 1 && size >= 3 && items[size - 1].is(Value::Kind::list) &&
        items[size - 2].is(Value::Kind::list))
        objects_.lists.append(items[size - 2].index(), items.last(1));
    dicts_.set_items(dict.index(), items.first(size - size % 2), 0);
}

}  // namespace tidemark
