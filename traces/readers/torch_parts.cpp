// The walk through the containers around snapshots.
#include "traces/readers/torch_parts.h"

#include <fmt/format.h>

namespace tidemark::torch {
namespace {

constexpr unsigned kDepthMax = 16;
constexpr std::size_t kPartsMax = 4096;
constexpr std::size_t kBesideMax = 32;
constexpr std::size_t kTextMax = 256;

class PartFinder {
  public:
    explicit PartFinder(const Records& records) : records_(records) {}

    std::vector<Part> run(Value root) {
        visit(root, 0);
        return std::move(parts_);
    }

  private:
    void visit(Value value, unsigned depth) {
        const bool is_list = value.is(Value::Kind::list);
        if ((!is_list && !value.is(Value::Kind::dict)) || depth > kDepthMax ||
            parts_.size() >= kPartsMax || visits_left_ == 0)
            return;
        --visits_left_;
        if (is_snapshot(value)) {
            parts_.push_back({value, beside_});
            return;
        }
        const std::size_t before = beside_.size();
        if (is_list) {
            records_.objects().lists.for_each(value.index(),
                                              [&](Value element) { visit(element, depth + 1); });
        } else if (records_.ref(value).kind == Records::Kind::plain) {
            const std::uint32_t plain = records_.ref(value).index;
            records_.for_each_value(plain, [&](Value key, Value item) { note(key, item); });
            records_.for_each_value(plain,
                                    [&](Value /*key*/, Value item) { visit(item, depth + 1); });
        }
        beside_.resize(before);
    }

    bool is_snapshot(Value value) const {
        bool found = false;
        if (value.is(Value::Kind::list)) {
            records_.objects().lists.for_each(
                value.index(),
                [&](Value first) { found = records_.ref(first).kind == Records::Kind::segment; },
                1);
            return found;
        }
        if (records_.ref(value).kind != Records::Kind::plain)
            return false;
        records_.for_each_value(records_.ref(value).index, [&](Value key, Value item) {
            const std::string_view name = records_.objects().text(key);
            found = found ||
                    ((name == "segments" || name == "device_traces") && item.is(Value::Kind::list));
        });
        return found;
    }

    void note(Value key, Value item) {
        const std::string_view name = records_.objects().text(key);
        std::string text(records_.objects().text(item).substr(0, kTextMax));
        if (item.is(Value::Kind::integer))
            text = fmt::format("{}", item.number());
        if (!name.empty() && !text.empty() && beside_.size() < kBesideMax)
            beside_.emplace_back(name.substr(0, kTextMax), std::move(text));
    }

    const Records& records_;
    std::vector<Part> parts_;
    std::vector<std::pair<std::string, std::string>> beside_;  // of the dicts that are open
    std::size_t visits_left_ = std::size_t{1} << 20U;          // lists may hold each other
};

}  // namespace

std::vector<Part> find_parts(const Records& records, Value root) {
    return PartFinder(records).run(root);
}

Result<std::size_t> choose_part(std::size_t parts, std::optional<std::size_t> wanted,
                                const std::string& name) {
    if (parts == 0)
        return fail(ErrorCode::bad_input, "holds no PyTorch memory snapshot", name,
                    "write one with torch.cuda.memory._dump_snapshot(path)");
    if (wanted && *wanted >= parts)
        return fail(ErrorCode::bad_option,
                    fmt::format("there is no snapshot {}: the file holds {}", *wanted, parts), name,
                    "they are counted from 0");
    if (!wanted && parts > 1)
        return fail(ErrorCode::bad_option, fmt::format("holds {} snapshots", parts), name,
                    fmt::format("name one: {0}#0 to {0}#{1}", name, parts - 1));
    return wanted.value_or(0);
}

}  // namespace tidemark::torch
