// A restricted, streaming unpickler. It reads what Python's pickle writes for plain data (numbers,
// strings, lists, tuples, dicts; protocols 0 to 5), and the objects of well-known libraries that
// represent such data or accompany it (pickle_objects.cpp). It is a parser, never an interpreter:
// anything that would import, call or build something else is an Error, so a hostile file can only
// be rejected.
//
// Dicts are not kept: a DictHandler receives their items as they come and decides what to do with
// them. Time O(bytes). Memory O(bytes) with small factors: 4 bytes a memo entry, 8 a value on the
// stack; a claimed length costs nothing until the bytes are there. No recursion. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "traces/io/byte_source.h"
#include "traces/readers/pickle_flat.h"
#include "traces/readers/pickle_input.h"
#include "traces/readers/pickle_stack.h"
#include "traces/readers/pickle_values.h"

namespace tidemark {

// Takes the items of dicts.
class DictHandler {
  public:
    virtual ~DictHandler() = default;

    // `pairs` (key, value, key, value, ...) are set in a dict. Called once for most dicts, again
    // for one that is written in several parts, never for an empty one. A key may occur twice: the
    // later one counts. Values that are lists or dicts may still grow afterwards. A `shape` other
    // than 0 that occurred before means the same keys in the same order as then.
    virtual void set_items(std::uint32_t dict, std::span<const Value> pairs,
                           std::uint64_t shape) = 0;
};

class Unpickler {
  public:
    // All three must outlive the unpickler. `progress` may be empty.
    Unpickler(ByteSource& source, PickleObjects& objects, DictHandler& dicts,
              std::function<void(std::uint64_t)> progress = {})
        : input_(source, std::move(progress)),
          objects_(objects),
          dicts_(dicts),
          memo_(objects.lists),
          short_strings_(objects.strings),
          flat_dicts_(memo_, short_strings_) {}

    Unpickler(const Unpickler&) = delete;
    Unpickler& operator=(const Unpickler&) = delete;

    // Reads up to and including STOP and returns the object. Call once. Errors: bad_input with
    // "name:0xOFFSET" (offset of the opcode in the uncompressed stream); io.
    Result<Value> run();

    // After run(): consumes from the source what was read, so that the source continues after the
    // pickle.
    void consume() { input_.consume(); }

    // True when run() failed because the stream ended in the middle.
    bool cut_off() const { return input_.cut_off(); }

    // After a cut-off: closes the open lists and the outermost dict, innermost first, as if the
    // file had ended normally, and returns the outermost object. Inner dicts that are open, and so
    // incomplete, stay empty. Kind::unset if there is nothing.
    Value close_open();

  private:
    // The result of an opcode: continue, stop, or input_.error() is set.
    enum class Step : std::uint8_t { next, stop, failed };

    Step execute(unsigned opcode);
    Step execute_rare(unsigned opcode);
    bool execute_structure(unsigned opcode);
    bool execute_text(unsigned opcode);
    bool execute_object(unsigned opcode);
    bool reject(unsigned opcode);
    bool reject_global(std::string_view module, std::string_view name);
    bool underflow();

    bool push(Value value) {
        stack_.push(value);
        return true;
    }

    bool push_long(std::uint64_t length);
    bool push_string(std::uint64_t length);
    bool push_decimal(std::string_view line);
    bool push_real_line(std::string_view line);
    bool push_quoted(std::string_view line);
    bool push_global(std::string_view module, std::string_view name);
    bool push_global_line();
    bool push_stack_global();
    bool push_persistent();
    bool call();
    bool push_dict_of(Value arguments);
    bool push_scalar(Value arguments);
    bool push_dtype(Value arguments);
    bool push_encoded(Value arguments);
    bool build();

    bool mark();
    bool memoize();
    bool get(std::uint64_t index);
    bool put(std::uint64_t index);
    bool get_or_put(std::string_view line, bool is_put);

    bool append();
    bool append_all();
    bool append_to(Value target, std::size_t begin);
    bool set_item();
    bool set_all();
    bool read_flat_dict();
    bool make_tuple(std::size_t begin);
    bool make_from_mark(unsigned opcode);
    bool give_items(Value dict, std::size_t begin);
    void give_open_items(Value dict, std::span<const Value> items);

    PickleInput input_;
    PickleObjects& objects_;
    DictHandler& dicts_;
    PickleStack stack_;
    PickleMemo memo_;
    ShortStrings short_strings_;
    FlatDicts flat_dicts_;
};

}  // namespace tidemark
