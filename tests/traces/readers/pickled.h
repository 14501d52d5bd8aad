// Pickled data made by hand, and a plain view of what the unpickler makes of any: the test's own
// way in, which shares nothing with the reader but the opcodes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/readers/pickle.h"

namespace tidemark::support {

namespace pickled {

using Items = std::vector<std::pair<std::string, std::string>>;

std::string string(std::string_view text);
std::string number(std::int64_t value);
std::string list(const std::vector<std::string>& items);
std::string dict(const Items& items);  // keys are texts, values are pickled

// A whole file: PROTO 4, the object, STOP.
std::string file(const std::string& object);

}  // namespace pickled

// Keeps every dict's items.
class PlainDicts final : public DictHandler {
  public:
    void set_items(std::uint32_t dict, std::span<const Value> pairs, std::uint64_t shape) override;

    // As Python would print it: "{'a': [1, 2]}". Deeper than 8 levels: "...".
    std::string text(const PickleObjects& objects, Value value, int depth = 0) const;

    // The item of a dict, Kind::unset if there is none.
    Value item(const PickleObjects& objects, Value dict, std::string_view key) const;

  private:
    std::map<std::uint32_t, std::vector<std::pair<Value, Value>>> dicts_;
};

// What a file says, printed; or "error: " and the message.
std::string unpickled(std::string_view bytes);

}  // namespace tidemark::support
