// The user's cache as text and as JSON.
#include "replay/report/runs/cache_report.h"

#include <string_view>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/json_values.h"
#include "replay/report/forms/table.h"
#include "replay/report/forms/wording.h"

namespace tidemark {
namespace {

using report::Json;

constexpr std::size_t kMostOfName = 60;  // characters

std::string histories(std::size_t count) {
    return format_counted(count, "history", "histories");
}

std::string_view state_of(const CachedHistory& history) {
    if (history.entry.is_draft)
        return "draft";
    return history.head ? "kept" : "unreadable";
}

std::string cleared_text(const CacheContent& content) {
    const ClearedCache& cleared = *content.cleared;
    std::string text = fmt::format("{} deleted from {}, {} freed.\n", histories(cleared.entries),
                                   printable(content.folder), format_bytes(cleared.bytes));
    for (const std::string& name : cleared.left)
        text += fmt::format(
            "{} stays: a viewer is making it, or something in it isn't Tidemark's.\n", name);
    return text;
}

}  // namespace

Bytes CacheContent::bytes() const {
    Bytes sum = 0;
    for (const CachedHistory& history : histories)
        sum += history.entry.bytes;
    return sum;
}

std::string cache_text(const CacheContent& content) {
    if (content.cleared)
        return cleared_text(content);
    if (content.histories.empty())
        return fmt::format("Nothing is kept in {}.\n", printable(content.folder));
    Table table({{"history", Align::left},
                 {"of the trace", Align::left},
                 {"policy", Align::left},
                 {"events"},
                 {"size"},
                 {"last used"}});
    for (const CachedHistory& history : content.histories) {
        const auto& head = history.head;
        table.row(history.entry.name.substr(0, history.entry.name.find('-')),
                  head ? one_line(head->trace, kMostOfName) : std::string(state_of(history)),
                  head ? one_line(head->policy, kMostOfName) : "",
                  head ? format_count(head->events) : "", format_bytes(history.entry.bytes),
                  format_duration(history.age) + " ago");
    }
    return table.ruled(Emphasis::none) +
           fmt::format(
               "\n{}, {}, in {}; the limit is {} ({}).\n"
               "tidemark cache --clear deletes them.\n",
               histories(content.histories.size()), format_bytes(content.bytes()),
               printable(content.folder), format_bytes(content.limit), kCacheLimit);
}

std::string cache_json(const CacheContent& content, const Provenance& provenance) {
    Json entries = report::list_of(content.histories, [](const CachedHistory& history) -> Json {
        const auto& head = history.head;
        return {{"name", history.entry.name},
                {"state", state_of(history)},
                {"trace", head ? Json(head->trace) : Json()},
                {"trace_hash", head ? Json(fmt::format("{:016x}", head->trace_hash)) : Json()},
                {"policy", head ? Json(head->policy) : Json()},
                {"events", head ? Json(head->events) : Json()},
                {"bytes", history.entry.bytes},
                {"age_ns", history.age}};
    });
    Json object{{"folder", content.folder},
                {"bytes", content.bytes()},
                {"limit_bytes", content.limit},
                {"entries", std::move(entries)},
                {"cleared", nullptr}};
    if (content.cleared)
        object["cleared"] = {{"entries", content.cleared->entries},
                             {"bytes", content.cleared->bytes},
                             {"left", content.cleared->left}};
    object["provenance"] = report::provenance_of(provenance);
    return report::text_of(object);
}

}  // namespace tidemark
