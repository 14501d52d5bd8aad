// Recorded settings, as our policies' options.
#include "replay/record/recorded_policy.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "core/allocator/spec.h"
#include "core/base/text.h"
#include "core/policies/torch_settings.h"
#include "replay/record/allocator_family.h"

namespace tidemark {
namespace {

// Gathers "name:key=value,..." of options that the policy declares.
class PolicyText {
  public:
    explicit PolicyText(const PolicyInfo& policy)
        : policy_(policy), result_{std::string(policy.name), {}, {}} {}

    // Sets an option; a setting that the policy doesn't know becomes a warning. The first of a
    // name counts.
    void set(std::string_view key, std::string_view value) {
        if (std::find(given_.begin(), given_.end(), key) != given_.end())
            return;
        given_.emplace_back(key);
        const bool known = std::any_of(policy_.options.begin(), policy_.options.end(),
                                       [key](const OptionInfo& info) { return info.name == key; });
        if (!known) {
            result_.warnings.push_back(
                fmt::format("the recorded setting {}:{} is ignored: policy {} has no such option",
                            key, value, policy_.name));
            return;
        }
        result_.text += fmt::format("{}{}={}", options_++ == 0 ? ':' : ',', key, value);
    }

    // Says that `key` has its default: whatever else mentions it is not used.
    void keep_default(std::string_view key) { given_.emplace_back(key); }

    // What has been gathered; values that are defaults anyway are left out.
    RecordedPolicy take() {
        if (const Result<PolicySpec> spec = parse_policy(result_.text))
            result_.text = spec->text();
        return std::move(result_);
    }

  private:
    const PolicyInfo& policy_;
    RecordedPolicy result_;
    std::vector<std::string> given_;
    int options_ = 0;
};

bool is_true(std::string_view text) {
    return text == "True" || text == "true" || text == "1";
}

bool is_number_above_zero(std::string_view text) {
    const Result<double> value = parse_real(text);
    return value && *value > 0;
}

// The 16 entries of a snapshot's table ("{'1': 0, '2': 4, ...}" or "1:0,2:4,..."), as the list that
// PyTorch's configuration takes; "" if every entry is off or the text is not a table.
std::string divisions(std::string_view table) {
    std::string list;
    bool any = false;
    std::string entry;
    const auto add = [&] {
        const std::size_t colon = entry.find(':');
        if (colon != std::string::npos) {
            const Result<double> steps = parse_real(std::string_view(entry).substr(colon + 1));
            any = any || (steps && *steps > 1);
            list += (list.empty() ? "" : ",") + entry;
        }
        entry.clear();
    };
    for (const char c : table) {
        if ((c >= '0' && c <= '9') || c == ':' || c == '>')
            entry += c;
        else if (c == '=')
            entry += ':';
        else if (c == ',')
            add();
    }
    add();
    return any ? fmt::format("[{}]", list) : std::string();
}

// What the snapshot states for itself. Its values are those in force when it was dumped.
void add_torch_settings(const TraceInfo& info, PolicyText& text) {
    if (const std::string_view size = info.setting("max_split_size"); !size.empty()) {
        const Result<std::uint64_t> bytes = parse_count(size);  // -1 (unlimited) is not a count
        if (bytes && *bytes < kLargestRequest)
            text.set("max_split_size_mb", fmt::format("{}", *bytes >> 20U));
        else
            text.keep_default("max_split_size_mb");
    }
    if (const std::string_view share = info.setting("garbage_collection_threshold");
        !share.empty()) {
        if (is_number_above_zero(share))
            text.set("garbage_collection_threshold", share);
        else
            text.keep_default("garbage_collection_threshold");
    }
    if (const std::string_view table = info.setting("roundup_power2_divisions"); !table.empty()) {
        if (const std::string list = divisions(table); !list.empty())
            text.set("roundup_power2_divisions", list);
        else
            text.keep_default("roundup_power2_divisions");
    }
    if (const std::string_view value = info.setting("expandable_segments"); is_true(value))
        text.set("expandable_segments", "true");
    else if (!value.empty())
        text.keep_default("expandable_segments");
}

// The "key:value" entries of a configuration string in order. Of a key that occurs twice the
// last counts, as for PyTorch.
std::vector<std::pair<std::string, std::string>> entries(std::string conf) {
    std::erase(conf, ' ');
    std::vector<std::pair<std::string, std::string>> found;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i <= conf.size(); ++i) {
        const char c = i < conf.size() ? conf[i] : ',';
        depth += c == '[' ? 1 : c == ']' ? -1 : 0;
        if (c != ',' || (depth > 0 && i < conf.size()))
            continue;
        const std::string entry = conf.substr(begin, i - begin);
        begin = i + 1;
        const std::size_t colon = entry.find(':');
        if (colon == std::string::npos)
            continue;
        std::string key = entry.substr(0, colon);
        std::erase_if(found, [&key](const auto& earlier) { return earlier.first == key; });
        found.emplace_back(std::move(key), entry.substr(colon + 1));
    }
    return found;
}

// The rest of the configuration string: keys that the snapshot's own table lacks.
void add_torch_configuration(std::string_view conf, PolicyText& text) {
    for (const auto& [key, value] : entries(std::string(conf))) {
        if (!policies::torch_ignores(key))
            text.set(key, value);
    }
}

Result<RecordedPolicy> torch_policy(const TraceInfo& info) {
    TM_ASSIGN(const PolicyInfo* const policy, find_policy("torch"));
    PolicyText text(*policy);
    add_torch_settings(info, text);
    for (const std::string_view variable : policies::torch_variables())
        add_torch_configuration(info.setting(variable), text);
    return text.take();
}

// The threshold is what the reader found: decisions under it are those that were recorded.
Result<RecordedPolicy> driver_pool_policy(const TraceInfo& info) {
    TM_ASSIGN(const PolicyInfo* const policy, find_policy("cuda-async"));
    PolicyText text(*policy);
    text.set("threshold", info.setting("release_threshold"));
    return text.take();
}

tl::unexpected<Error> unknown(std::string what) {
    return fail(ErrorCode::bad_option, std::move(what), "--policy",
                "name a policy: `tidemark policies` lists them");
}

}  // namespace

Result<RecordedPolicy> recorded_policy(const TraceInfo& info) {
    if (info.from_torch())
        return torch_policy(info);
    if (info.format == "rmm-decisions")
        return unknown("the log doesn't say which of RMM's resources made these decisions");
    if (info.format == "driver-pool")
        return driver_pool_policy(info);
    if (const AllocatorFamily* const family = allocator_family(info))
        return RecordedPolicy{std::string(family->policy), {}, std::string(family->assumed)};
    return unknown(
        fmt::format("a trace of format '{}' doesn't say what managed its memory", info.format));
}

}  // namespace tidemark
