// The output of json.dump for a snapshot: the same lists and dicts, with every call stack written
// out.
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "traces/readers/json_bytes.h"
#include "traces/readers/torch_file.h"

namespace tidemark::torch {
namespace {

using SnapshotJson = nlohmann::json;

// Turns JSON into the same values as the unpickler turns a pickle.
class JsonValues final : public nlohmann::json_sax<SnapshotJson> {
  public:
    explicit JsonValues(File& file) : objects_(file.objects), dicts_(file.records) {}

    bool null() override { return add({Value::Kind::none, 0}); }

    bool boolean(bool value) override { return add({Value::Kind::boolean, value ? 1U : 0U}); }

    bool number_integer(number_integer_t value) override {
        if (value >= -kIntegerMax)
            return add(Value::integer(value));
        return add(objects_.wide({0 - static_cast<std::uint64_t>(value), true}));
    }

    bool number_unsigned(number_unsigned_t value) override {
        if (value < std::uint64_t{kIntegerMax})
            return add(Value::integer(static_cast<std::int64_t>(value)));
        return add(objects_.wide({value, false}));
    }

    bool number_float(number_float_t value, const string_t& /*text*/) override {
        return add(objects_.real(value));
    }

    bool string(string_t& value) override { return add(objects_.string(value)); }

    bool binary(binary_t& /*value*/) override { return true; }

    bool start_object(std::size_t /*size*/) override {
        return open({Value::Kind::dict, objects_.dict_count++});
    }

    bool key(string_t& value) override { return add(objects_.string(value)); }

    bool end_object() override {
        const std::span<const Value> pairs = std::span(values_).subspan(opened_.back().begin);
        if (!pairs.empty())
            dicts_.set_items(opened_.back().container.index(), pairs, 0);
        return close();
    }

    bool start_array(std::size_t /*size*/) override {
        return open({Value::Kind::list, objects_.lists.create()});
    }

    bool end_array() override {
        objects_.lists.append(opened_.back().container.index(),
                              std::span(values_).subspan(opened_.back().begin));
        return close();
    }

    bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                     const nlohmann::detail::exception& /*error*/) override {
        return false;
    }

    bool too_deep() const { return too_deep_; }

    // The outermost value, once everything is read.
    Value root() const { return values_.empty() ? Value() : values_.front(); }

  private:
    static constexpr std::int64_t kIntegerMax = std::int64_t{1} << 59U;
    static constexpr std::size_t kDepthMax = 64;

    struct Opened {
        Value container;
        std::size_t begin;  // of its values in values_
    };

    bool add(Value value) {
        values_.push_back(value);
        return true;
    }

    bool open(Value container) {
        too_deep_ = opened_.size() >= kDepthMax;
        opened_.push_back({container, values_.size()});
        return !too_deep_;
    }

    bool close() {
        const Opened closed = opened_.back();
        opened_.pop_back();
        values_.resize(closed.begin);
        return add(closed.container);
    }

    PickleObjects& objects_;
    DictHandler& dicts_;
    std::vector<Value> values_;  // of the containers that are open, one behind another
    std::vector<Opened> opened_;
    bool too_deep_ = false;
};

}  // namespace

bool begins_snapshot_json(std::string_view head) {
    const std::size_t begin = head.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos || (head[begin] != '{' && head[begin] != '['))
        return false;
    const auto has = [head](std::string_view key) {
        return head.find(key) != std::string_view::npos;
    };
    return has("\"device_traces\"") ||
           (has("\"segments\"") && (has("\"total_size\"") || has("\"allocated_size\""))) ||
           (has("\"total_size\"") && has("\"segment_type\""));
}

Result<void> read_snapshot_json(ByteSource& source, File& file, const ReadOptions& options) {
    JsonBytes bytes(source, options);
    JsonValues values(file);
    const bool whole = SnapshotJson::sax_parse(JsonIterator(bytes), JsonIterator(), &values);
    if (!bytes.read())
        return bytes.read();
    if (!whole)
        return fail(ErrorCode::bad_input,
                    values.too_deep()  ? "is nested too deep"
                    : bytes.at_end()   ? "ends in the middle of its JSON"
                    : bytes.too_long() ? "has a text that is longer than any text of a snapshot"
                                       : "is not valid JSON here",
                    bytes.position(), "write it again, with json.dump or as a pickle");
    file.parts = find_parts(file.records, values.root());
    return {};
}

}  // namespace tidemark::torch
