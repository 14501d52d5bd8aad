// Names of torch's settings by version; of others, those of their family's list.
#include "replay/analysis/advise/setting_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/analysis/advise/drop_in.h"

namespace tidemark {

SettingNames::SettingNames(const TraceInfo& info, Bytes requested)
    : releases_(torch_releases(info)), offers_(policy_offers(info, requested)) {
    // As policies print themselves, to be found again.
    for (PolicyOffer& offer : offers_)
        if (const Result<PolicySpec> spec = parse_policy(offer.policy))
            offer.policy = spec->text();
}

std::vector<PolicySpec> SettingNames::offers() const {
    std::vector<PolicySpec> list;
    for (const PolicyOffer& offer : offers_)
        if (Result<PolicySpec> spec = parse_policy(offer.policy))
            list.push_back(std::move(*spec));
    return list;
}

std::string SettingNames::line_of(const PolicySpec& policy) const {
    const auto offer = std::ranges::find(offers_, policy.text(), &PolicyOffer::policy);
    if (offer != offers_.end())
        return offer->line;
    if (policy.policy->name == "torch")
        return export_line(torch_conf(policy), releases_);
    if (offers_.empty() && policy.policy->name == "extent")
        return fmt::format("import tidemark.torch; tidemark.torch.use(\"{}\")",
                           drop_in_name(policy));
    return {};
}

void SettingNames::name(Tried& tried) const {
    const bool is_torch = tried.policy.policy->name == "torch";
    tried.name = is_torch ? torch_conf(tried.policy) : tried.policy.text();
    tried.line = line_of(tried.policy);
    if (is_drop_in(tried))
        tried.name = drop_in_name(tried.policy);
    const auto add = [&tried](std::string_view what) {
        tried.name += fmt::format("{}{}", tried.name.empty() ? "" : ", ", what);
    };
    if (tried.one_graph_pool) {
        add("one pool for all graphs");
        tried.line = "pool = torch.cuda.graph_pool_handle()";
    }
    if (tried.largest_graph_first) {
        add("the largest graph captured first");
        if (!tried.one_graph_pool)
            tried.line = "for size in sorted(sizes, reverse=True): capture(size)";
    }
    if (tried.prime == 0)
        return;
    tried.name =
        fmt::format("{}{} allocated and freed at the start",
                    tried.name.empty() ? "" : tried.name + ", ", format_bytes(tried.prime));
    tried.line = fmt::format("torch.empty({}, dtype=torch.uint8, device=\"cuda\")", tried.prime);
}

std::vector<std::string> SettingNames::remarks(const Tried& tried) const {
    std::vector<std::string> list;
    if (tried.policy.policy->name != "torch")
        return list;
    for (const auto& [key, value] : tried.policy.options.all()) {
        const unsigned version = brought_in(key);
        if (!tried.policy.options.is_default(key) && version != 0 && !releases_.all_from(version))
            list.push_back(
                fmt::format("{} came with PyTorch {}.{}{}", key, version / 100, version % 100,
                            releases_.first == 0
                                ? std::string()
                                : fmt::format("; the recording is of {}", text_of(releases_))));
    }
    if (tried.line.starts_with("export PYTORCH_ALLOC_CONF") &&
        tried.line.find("PYTORCH_CUDA_ALLOC_CONF") == std::string::npos)
        list.emplace_back(
            "a PYTORCH_CUDA_ALLOC_CONF that is set elsewhere takes precedence over this name");
    return list;
}

}  // namespace tidemark
