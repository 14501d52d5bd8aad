// A policy's text: parsing and writing it.
#include "core/allocator/spec.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/allocator/cached_allocator.h"
#include "core/allocator/private_pools_allocator.h"
#include "core/base/check.h"
#include "core/base/text.h"

namespace tidemark {
namespace {

constexpr std::string_view kPolicyItself = "policy";
constexpr std::string_view kPrivatePools[] = {kPolicyItself, "torch"};

constexpr OptionInfo kWrapperOptions[] = {
    {.name = "defer_frees",
     .type = OptionType::count,
     .default_value = "0",
     .maximum = "1000000",
     .summary = "collect frees, and make them in a batch once there are more than this many, as "
                "Numba does (10 there)"},
    {.name = "defer_share",
     .type = OptionType::real,
     .default_value = "0.2",
     .maximum = "1",
     .summary = "with defer_frees: also make the batch once it holds more than this share of the "
                "device's memory; 0 = however much it holds"},
    {.name = "private_pools",
     .type = OptionType::choice,
     .default_value = kPolicyItself,
     .choices = kPrivatePools,
     .summary =
         "which allocator serves private pools (captured graphs, MemPools): the policy itself, or "
         "PyTorch's own allocator with its defaults, as under tidemark.torch.use()"},
    {.name = "threads",
     .type = OptionType::count,
     .default_value = "0",
     .maximum = "1024",
     .summary =
         "put the caches of this many threads in front of the policy; requests go to them in turn"},
    {.name = "thread_cache",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "0",
     .summary = "most that each thread's cache keeps; 0 = 1/1024 of the peak of granted memory, "
                "but at most 1/2048 of the device's memory (4 to 64 MiB)"},
};

// Removes `word` from the front of `text` if `text` starts with it.
bool take(std::string_view& text, std::string_view word) {
    if (!text.starts_with(word))
        return false;
    text.remove_prefix(word.size());
    return true;
}

// Whether `text` assigns to `variable` as a shell would read it ("export NAME='value'", with the
// value bare or quoted). `value` is then the assigned text, plus whatever follows the quotes.
bool is_assignment(std::string_view text, std::string_view variable, std::string& value) {
    text = trimmed(text);
    if (take(text, "export "))
        text = trimmed(text);
    if (!take(text, variable) || !take(text, "="))
        return false;
    const char quote = text.empty() ? ' ' : text.front();
    const std::size_t end = quote == '"' || quote == '\'' ? text.find(quote, 1) : text.npos;
    value = end == text.npos ? std::string(text)
                             : fmt::format("{}{}", text.substr(1, end - 1), text.substr(end + 1));
    return true;
}

// The options that pasted assignments "A=1 B=2" set, where `variables` has "A=first", "B=second":
// "first=1,second=2". Empty if the text is anything else.
std::string assigned_options(std::span<const std::string_view> variables, std::string_view text) {
    constexpr std::string_view kSeparators = " ;\n";
    std::string options;
    for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
        if (take(text, "export "))
            continue;
        const auto variable =
            std::find_if(variables.begin(), variables.end(), [text](std::string_view one) {
                const std::size_t mark = one.find('=');
                return mark != one.npos && text.starts_with(one.substr(0, mark + 1));
            });
        if (variable == variables.end())
            return {};
        const std::size_t mark = variable->find('=');
        text.remove_prefix(mark + 1);
        const std::size_t end = std::min(text.find_first_of(kSeparators), text.size());
        std::string_view value = text.substr(0, end);
        if (value.size() >= 2 && value.front() == value.back() &&
            (value.front() == '"' || value.front() == '\''))
            value = value.substr(1, value.size() - 2);
        options +=
            fmt::format("{}{}={}", options.empty() ? "" : ",", variable->substr(mark + 1), value);
        text.remove_prefix(end);
        text.remove_prefix(std::min(text.find_first_not_of(kSeparators), text.size()));
    }
    return options;
}

// The options' text with pasted assignments resolved.
std::string resolved(const PolicyInfo& policy, std::string_view options) {
    std::string value = assigned_options(policy.variables, options);
    if (!value.empty())
        return value;
    for (const std::string_view variable : policy.variables) {
        if (is_assignment(options, variable, value))
            return value;
    }
    return std::string(options);
}

// The policy that a pasted assignment without a policy's name is for; null if there is none.
const PolicyInfo* policy_of_assignment(std::string_view text) {
    std::string value;
    for (const PolicyInfo& policy : all_policies()) {
        if (!assigned_options(policy.variables, text).empty())
            return &policy;
        for (const std::string_view variable : policy.variables) {
            if (is_assignment(text, variable, value))
                return &policy;
        }
    }
    return nullptr;
}

}  // namespace

std::string PolicySpec::text() const {
    TM_CHECK(policy != nullptr);
    return with_options(with_options(policy->name, options), wrappers);
}

bool PolicySpec::keeps_limit() const {
    TM_CHECK(policy != nullptr);
    return std::any_of(policy->options.begin(), policy->options.end(), [](const OptionInfo& info) {
        return info.name == "limit" && info.type == OptionType::bytes;
    });
}

Result<PolicySpec> PolicySpec::with_limit(Bytes limit) const {
    if (limit == 0 || !keeps_limit() || options.bytes("limit") == limit)
        return *this;
    if (!options.is_default("limit"))
        return fail(ErrorCode::bad_option,
                    fmt::format("policy {} has a limit of its own ({})", policy->name,
                                format_bytes(options.bytes("limit"))),
                    "--limit", "give one of the two");
    const std::string without = text();
    const char mark = without.find(':') == std::string::npos ? ':' : ',';
    return parse_policy(fmt::format("{}{}limit={}", without, mark, limit));
}

DeferredFrees PolicySpec::deferred_frees(const Device& device) const {
    const double share = wrappers.real("defer_share");
    return {.count = wrappers.count("defer_frees"),
            .bytes = static_cast<Bytes>(share * static_cast<double>(device.memory().total))};
}

Result<std::unique_ptr<Allocator>> PolicySpec::make(Device& device) const {
    TM_CHECK(policy != nullptr);
    TM_ASSIGN(std::unique_ptr<Allocator> made, policy->make(device, options));
    if (const std::string_view own = wrappers.choice("private_pools"); own != kPolicyItself) {
        TM_ASSIGN(const PolicySpec pools, parse_policy(own));
        TM_ASSIGN(std::unique_ptr<Allocator> for_pools, pools.make(device));
        made = std::make_unique<PrivatePoolsAllocator>(std::move(made), std::move(for_pools));
    }
    if (const DeferredFrees deferred = deferred_frees(device); deferred.count != 0)
        made = std::make_unique<DeferringAllocator>(std::move(made), deferred);
    const auto count = static_cast<unsigned>(wrappers.count("threads"));
    if (count == 0)
        return made;
    const Bytes budget = wrappers.bytes("thread_cache");
    const ThreadCaches caches =
        budget == 0 ? ThreadCaches::for_device(device) : ThreadCaches{.budget = budget};
    return std::make_unique<CachedAllocator>(std::move(made), caches, count);
}

std::span<const OptionInfo> wrapper_options() {
    return kWrapperOptions;
}

Result<PolicySpec> parse_policy(std::string_view text) {
    PolicySpec spec;
    std::string_view options = text;
    if (const PolicyInfo* const named = policy_of_assignment(text)) {
        spec.policy = named;
    } else {
        const std::size_t mark = text.find(':');
        TM_ASSIGN(spec.policy, find_policy(trimmed(text.substr(0, mark))));
        options = mark == std::string_view::npos ? std::string_view{} : text.substr(mark + 1);
    }
    std::string text_of_options = resolved(*spec.policy, options);
    const std::string where = fmt::format("policy {}", spec.policy->name);
    TM_ASSIGN(spec.wrappers, Options::take(kWrapperOptions, text_of_options, where));
    TM_ASSIGN(spec.options, Options::parse(spec.policy->options, text_of_options, where));
    return spec;
}

}  // namespace tidemark
