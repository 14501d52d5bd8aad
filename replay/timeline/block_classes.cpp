// Which classes there are: found from a sample of the blocks, weighed by bytes x events.
#include "replay/timeline/block_classes.h"

#include <algorithm>
#include <bit>
#include <map>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark {
namespace {

constexpr std::size_t kSample = 1U << 20U;
constexpr std::size_t kMostSizes = 8;  // colours of one ramp that can be distinguished

// Four to a power of two: 8, 10, 12, 14, 16, 20, ...; 0 by itself.
std::size_t size_bin(Bytes size) {
    if (size == 0)
        return 0;
    const auto power = static_cast<std::size_t>(std::bit_width(size)) - 1;
    const Bytes quarters = power >= 2 ? size >> (power - 2) : size << (2 - power);
    return 4 * power + static_cast<std::size_t>(quarters & 3U) + 1;
}

// The least size of a bin; approximate for the bins between 1 and 4 that contain no whole number.
Bytes bin_begin(std::size_t bin) {
    if (bin == 0)
        return 0;
    const std::size_t power = (bin - 1) / 4;
    const Bytes quarters = 4 + (bin - 1) % 4;
    if (power >= 64)
        return ~Bytes{0};
    return power >= 2 ? quarters << (power - 2) : quarters >> (2 - power);
}

// "12 MiB", "1.5 GiB": a size without the zeros after it.
std::string edge_text(Bytes size) {
    std::string text = format_bytes(size);
    const std::size_t unit = text.find(' ');
    const std::size_t point = text.find('.');
    if (unit == std::string::npos || point > unit)
        return text;
    std::size_t end = text.find_last_not_of('0', unit - 1);
    end += end == point ? 0 : 1;
    return text.erase(end, unit - end);
}

// "10 to 12 MiB", "640 KiB to 1.25 MiB".
std::string range_text(std::string from, const std::string& until) {
    const std::size_t unit = from.find(' ');
    if (unit != std::string::npos && until.ends_with(from.substr(unit)))
        from.erase(unit);
    return from + " to " + until;
}

// "conv2d (model.py:12)".
std::string innermost(const History& history, std::uint32_t stack) {
    const std::span<const Frame> frames = history.stacks()[stack];
    if (frames.empty())
        return {};
    const StringTable& strings = history.strings();
    const std::string_view path = strings[frames[0].file];
    const std::size_t slash = path.rfind('/');
    const std::string_view file = slash == std::string_view::npos ? path : path.substr(slash + 1);
    if (file.empty())
        return std::string(strings[frames[0].name]);
    return fmt::format("{} ({}:{})", strings[frames[0].name], file, frames[0].line);
}

std::string site_name(const History& history, BlockTrait trait, const Site& site,
                      const StackNames& stack_name) {
    if (trait == BlockTrait::tag)
        return std::string(history.strings()[site.tag]);
    if (trait == BlockTrait::stack || trait == BlockTrait::module)
        return stack_name ? stack_name(site.stack) : innermost(history, site.stack);
    if (trait == BlockTrait::stream)
        return fmt::format("stream {}", to_integer(site.stream));
    return pool_title(history, site.pool);
}

std::uint32_t site_value(BlockTrait trait, const Site& site) {
    switch (trait) {
        case BlockTrait::tag:
            return site.tag;
        case BlockTrait::stream:
            return to_integer(site.stream);
        case BlockTrait::pool:
            return to_integer(site.pool);
        default:
            return site.stack;
    }
}

}  // namespace

std::string_view to_text(BlockTrait trait) {
    constexpr std::string_view kNames[] = {"tag",  "stream", "stack",  "size",
                                           "life", "pool",   "module", "annotation"};
    return kNames[static_cast<std::size_t>(trait)];
}

std::string pool_title(const History& history, PoolId pool) {
    const std::uint32_t number = to_integer(pool);
    const std::vector<std::string>& names = history.pools();
    const std::string name = number < names.size() ? names[number] : std::string();
    return fmt::format("pool {}{}{}", number, name.empty() ? "" : ": ", name);
}

std::size_t BlockClasses::bins() const {
    return trait_ == BlockTrait::size ? kSizeBins : kPowers;
}

std::size_t BlockClasses::bin(const Block& block) const {
    if (trait_ == BlockTrait::size)
        return size_bin(block.size);
    if (block.reused == kNever)
        return kForever;
    return static_cast<std::size_t>(std::bit_width(block.reused - block.born));
}

std::uint8_t BlockClasses::of(const Block& block) const {
    if (trait_ == BlockTrait::size || trait_ == BlockTrait::life)
        return of_bin_[bin(block)];
    const std::uint32_t at =
        trait_ == BlockTrait::annotation ? annotations_.name_at(block.born) : block.site;
    return at < of_site_.size() ? of_site_[at] : rest_;
}

BlockClasses BlockClasses::of(const History& history, BlockTrait trait, std::size_t most,
                              const StackNames& stack_name, const std::atomic<bool>* cancel) {
    BlockClasses result;
    result.trait_ = trait;
    most = std::clamp<std::size_t>(most, 2, 64);
    const HistoryCounts counts = history.counts();
    const bool by_bin = trait == BlockTrait::size || trait == BlockTrait::life;
    const bool by_annotation = trait == BlockTrait::annotation;
    if (by_annotation)
        result.annotations_ = InnermostAnnotations(history);
    Weights weights(by_bin          ? result.bins()
                    : by_annotation ? history.strings().size()
                                    : counts.sites,
                    0.0);
    double all = 0;
    const std::size_t step = counts.blocks / kSample + 1;
    for (std::size_t i = 0; i < counts.blocks; i += step) {
        if (cancel != nullptr && i % 1024 == 0 && cancel->load(std::memory_order_relaxed))
            break;
        const Block block = history.block(static_cast<BlockIndex>(i));
        const std::size_t end = std::min<std::size_t>(block.reused, counts.events);
        const double life = static_cast<double>(end > block.born ? end - block.born : 0) + 0.01;
        const double weight = life * (static_cast<double>(block.size) + 0.01);
        const std::size_t at = by_bin          ? result.bin(block)
                               : by_annotation ? result.annotations_.name_at(block.born)
                                               : block.site;
        if (at < weights.size())
            weights[at] += weight;
        all += weight;
    }
    for (double& weight : weights)
        weight /= std::max(all, 1e-300);
    if (by_annotation)
        result.name_annotations(history, weights, most);
    else if (!by_bin)
        result.name_sites(history, weights, most, stack_name);
    else if (trait == BlockTrait::size)
        result.name_sizes(weights, std::min(most, kMostSizes));
    else
        result.name_lives(weights, most);
    return result;
}

void BlockClasses::name_sites(const History& history, const Weights& of_site, std::size_t most,
                              const StackNames& stack_name) {
    std::map<std::uint32_t, std::string> names;  // each looked up once
    name_groups(of_site, most, [&](std::uint32_t index) {
        const Site& site = history.site(index);
        const std::uint32_t value = site_value(trait_, site);
        auto name = names.find(value);
        if (name == names.end())
            name = names.emplace(value, site_name(history, trait_, site, stack_name)).first;
        return Named{value, name->second};
    });
}

// Of all strings those that are an annotation's name.
void BlockClasses::name_annotations(const History& history, const Weights& of_name,
                                    std::size_t most) {
    std::vector<std::uint32_t> names{0};
    const std::size_t count = history.counts().annotations;
    for (std::size_t i = 0; i < count; ++i)
        names.push_back(history.annotation(i).name);
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    Weights weights;
    for (const std::uint32_t name : names)
        weights.push_back(name < of_name.size() ? of_name[name] : 0);
    name_groups(weights, most, [&](std::uint32_t index) {
        return Named{names[index], std::string(history.strings()[names[index]])};
    });
    std::vector<std::uint8_t> of_all(history.strings().size(), rest_);
    for (std::size_t i = 0; i < names.size(); ++i)
        of_all[names[i]] = of_site_[i];
    of_site_ = std::move(of_all);
}

void BlockClasses::name_groups(const Weights& weights, std::size_t most,
                               const std::function<Named(std::uint32_t)>& name) {
    struct Group {
        double weight = 0;
        std::uint32_t value = 0;
        std::vector<std::size_t> members;
    };

    std::map<std::string, Group> groups;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const Named named = name(static_cast<std::uint32_t>(i));
        Group& group = groups[named.name];
        group.weight += weights[i];
        group.value = named.value;
        group.members.push_back(i);
    }
    std::vector<std::pair<const std::string, Group>*> order;
    for (auto& entry : groups)
        order.push_back(&entry);
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
        return a->second.weight > b->second.weight;
    });
    const std::size_t own = order.size() <= most ? order.size() : most - 1;
    of_site_.resize(weights.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        const Group& group = order[i]->second;
        if (i < own) {
            BlockClass one{order[i]->first, group.weight, false, order[i]->first.empty(),
                           group.value};
            if (one.blank)
                one.name = fmt::format("no {}", to_text(trait_));
            classes_.push_back(std::move(one));
        } else if (i == own) {
            classes_.push_back({fmt::format("{} others", order.size() - own), 0, true, false, 0});
        }
        classes_[std::min(i, own)].weight += i < own ? 0 : group.weight;
        for (const std::size_t member : group.members)
            of_site_[member] = static_cast<std::uint8_t>(std::min(i, own));
    }
    if (classes_.empty())
        classes_.push_back({fmt::format("no {}", to_text(trait_)), 0, false, true, 0});
    rest_ = static_cast<std::uint8_t>(classes_.size() - 1);
}

// From the smallest upward, a class ends when it has its share of the rest; a bin with more than
// that is a class by itself, and counts only as one share: even if one size holds nearly
// everything, the others are still distinguished. Few bins have a class each.
void BlockClasses::name_sizes(const Weights& of_bin, std::size_t most) {
    of_bin_.assign(of_bin.size(), 0);
    const auto counted = [most](double weight) {
        return std::min(weight, 1 / static_cast<double>(most));
    };
    double rest = 0;
    std::size_t filled = 0;
    for (const double weight : of_bin) {
        rest += counted(weight);
        filled += weight > 0 ? 1 : 0;
    }
    std::size_t from = 0;
    double current = 0;
    for (std::size_t at = 0; at < of_bin.size(); ++at) {
        const double more = counted(of_bin[at]);
        const auto left = static_cast<double>(most - classes_.size());
        const bool ends = filled <= most || (left > 1 && current + more / 2 > rest / left);
        if (current > 0 && more > 0 && ends) {
            name_size(of_bin, from, at);
            rest -= current;
            current = 0;
            from = at;
        }
        current += more;
    }
    name_size(of_bin, from, of_bin.size());
}

// One class of the bins [from, until), called after those of them that hold something.
void BlockClasses::name_size(const Weights& of_bin, std::size_t from, std::size_t until) {
    std::size_t first = until;
    std::size_t last = from;
    BlockClass one;
    for (std::size_t at = from; at < until; ++at) {
        of_bin_[at] = static_cast<std::uint8_t>(classes_.size());
        one.weight += of_bin[at];
        if (of_bin[at] > 0) {
            first = std::min(first, at);
            last = at;
        }
    }
    one.end = edge_text(bin_begin(last + 1));
    one.least = from == 0 ? 0 : bin_begin(from);
    one.most = until >= of_bin.size() ? ~Bytes{0} : bin_begin(until) - 1;
    one.name = from == 0 ? "below " + one.end : range_text(edge_text(bin_begin(first)), one.end);
    classes_.push_back(std::move(one));
}

// Steps of sixteen, and what is never freed.
void BlockClasses::name_lives(const Weights& of_power, std::size_t most) {
    constexpr unsigned kStep = 4;
    of_bin_.assign(of_power.size(), 0);
    unsigned highest = 0;
    for (unsigned i = 0; i < kForever; ++i)
        if (of_power[i] > 0)
            highest = i;
    const auto lives = static_cast<unsigned>(std::min<std::size_t>(highest / kStep + 1, most - 1));
    for (unsigned i = 0; i < kForever; ++i)
        of_bin_[i] = static_cast<std::uint8_t>(std::min(i / kStep, lives - 1));
    of_bin_[kForever] = static_cast<std::uint8_t>(lives);
    for (unsigned i = 0; i < lives; ++i) {
        const std::uint64_t least = i == 0 ? 0 : std::uint64_t{1} << (i * kStep - 1);
        const std::uint64_t beyond = std::uint64_t{1} << ((i + 1) * kStep - 1);
        BlockClass one;
        one.name =
            i + 1 == lives && i > 0
                ? fmt::format("{} and more", format_counted(least, "event"))
                : fmt::format("{} to {}", format_count(least), format_counted(beyond, "event"));
        for (unsigned k = i * kStep; k < (i + 1 == lives ? kForever : (i + 1) * kStep); ++k)
            one.weight += of_power[k];
        classes_.push_back(std::move(one));
    }
    BlockClass forever;
    forever.name = "never freed";
    forever.weight = of_power[kForever];
    classes_.push_back(std::move(forever));
}

}  // namespace tidemark
