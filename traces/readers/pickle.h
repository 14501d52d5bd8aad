// A restricted, streaming unpickler: reads what Python's pickle writes for plain data (numbers,
// strings, lists, tuples, dicts; protocols 2 to 5) and nothing else. It is a parser, never an
// interpreter: an opcode that would import, call or build anything is an Error, so a hostile file
// can do no more than be rejected.
//
// Dicts are not kept: a DictHandler sees their items as they come and makes of them what it wants.
// Time O(bytes). Memory O(bytes) with small factors: 4 bytes a memo entry, 8 a value on the stack;
// a claimed length costs nothing until the bytes are there. No recursion. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "traces/io/byte_source.h"
#include "traces/io/growing_array.h"
#include "traces/readers/pickle_values.h"

namespace tidemark {

// Takes the items of dicts.
class DictHandler {
  public:
    virtual ~DictHandler() = default;

    // `pairs` (key, value, key, value, ...) are set in a dict. Called once for most dicts, again
    // for one that is written in several parts, never for an empty one. A key may come twice: the
    // later one counts. Values that are lists or dicts may still grow afterwards. A `shape` other
    // than 0 that came before stands for the same keys in the same order as then.
    virtual void set_items(std::uint32_t dict, std::span<const Value> pairs,
                           std::uint64_t shape) = 0;
};

class Unpickler {
  public:
    // All three must outlive the unpickler. `progress` may be empty.
    Unpickler(ByteSource& source, PickleObjects& objects, DictHandler& dicts,
              std::function<void(std::uint64_t)> progress = {})
        : source_(source), objects_(objects), dicts_(dicts), progress_(std::move(progress)) {}

    // Reads up to and including STOP and returns the object. Call once. Errors: bad_input with
    // "name:0xOFFSET" (offset of the opcode in the uncompressed stream); io.
    Result<Value> run();

    // True when run() failed because the stream ended in the middle.
    bool cut_off() const { return cut_off_; }

    // After a cut-off: closes the lists and the outermost dict that are open, innermost first, as
    // if the file had ended in good order, and returns the outermost object. Inner dicts that are
    // open, half read as they are, stay empty. Kind::unset if there is nothing.
    Value close_open();

  private:
    static constexpr std::size_t kFlatItemsMax = 16;

    // What an opcode leads to: go on, stop, or error_ is set.
    enum class Step : std::uint8_t { next, stop, failed };

    struct ShortString {
        std::uint64_t text = 0;  // up to 8 bytes, zero-extended
        std::uint32_t length = 0xffffffffU;
        std::uint32_t index = 0;
    };

    // How a key was written: what `mask` selects of the 8 bytes at its begin is `bytes`.
    struct FlatKey {
        std::uint64_t bytes = 1;
        std::uint64_t mask = 0;
        std::size_t length = 0;
    };

    Step execute(unsigned opcode);
    Step execute_rare(unsigned opcode);
    bool execute_structure(unsigned opcode);
    bool execute_text(unsigned opcode);
    bool reject(unsigned opcode);

    bool refill(std::size_t count);
    const unsigned char* take(std::size_t count);
    bool take_line(std::string_view& line);
    bool take_length(unsigned width, std::uint64_t& length);
    std::uint64_t offset() const;
    bool fail_here(std::string what, std::string hint = {});
    bool underflow();

    bool push(Value value) {
        stack_.push_back(value);
        return true;
    }

    bool push_number(std::int64_t number) { return push(Value::integer(number)); }

    bool push_wide(WideInteger number);
    bool push_long(std::uint64_t length);
    bool push_real(double number);
    bool push_string(std::uint64_t length);
    std::uint32_t short_string(const unsigned char* bytes, std::size_t length, std::uint64_t word);
    bool push_unicode_line(std::string_view line);
    bool push_decimal(std::string_view line);
    bool push_real_line(std::string_view line);

    bool mark();
    bool pop_mark(std::size_t& height);

    std::size_t floor() const { return marks_.empty() ? 0 : marks_[marks_.size() - 1]; }

    bool pop();
    bool duplicate();
    bool memoize();
    bool get(std::uint64_t index);
    bool put(std::uint64_t index);
    bool get_line(std::string_view line, bool is_put);

    bool append();
    bool append_all();
    bool set_item();
    bool set_all();
    bool read_flat_dict();
    bool read_flat_key(const unsigned char*& at, std::size_t item);
    bool read_flat_value(const unsigned char*& at, Value& value);
    bool make_tuple(std::size_t begin);
    bool make_tuple_of(std::size_t count);
    bool make_from_mark(unsigned opcode);
    void give_items(Value dict, std::size_t begin);
    void give_open_items(Value dict, std::span<const Value> items);

    ByteSource& source_;
    PickleObjects& objects_;
    DictHandler& dicts_;
    std::function<void(std::uint64_t)> progress_;
    std::uint64_t reported_ = 0;

    const unsigned char* window_ = nullptr;  // the source's, from here ...
    const unsigned char* opcode_ = nullptr;  // the opcode that is executed
    const unsigned char* cursor_ = nullptr;  // next unread byte
    const unsigned char* end_ = nullptr;     // ... to here

    GrowingArray<Value> stack_;
    GrowingArray<std::size_t> marks_;  // heights of the stack
    GrowingArray<std::uint32_t> memo_;
    std::array<ShortString, 256> short_strings_;
    std::array<FlatKey, kFlatItemsMax + 1> flat_keys_;  // of the last flat dict; one is a sentinel
    std::array<Value, 2 * kFlatItemsMax> row_;          // its items
    std::array<std::uint32_t, kFlatItemsMax> row_strings_{};  // what it adds to the memo
    std::size_t row_string_count_ = 0;
    std::size_t row_count_ = 0;
    std::uint64_t row_shape_ = 0;
    Error error_;
    bool cut_off_ = false;
};

}  // namespace tidemark
