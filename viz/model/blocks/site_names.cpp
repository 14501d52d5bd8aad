// Names for sites. The analysis decides what to show of a stack (replay/analysis); this file
// decides how it is cut to fit a row.
#include "viz/model/blocks/site_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "traces/model/trace.h"

namespace tidemark::viz {

std::string brief_call_site(std::string_view text) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::size_t folder = text.substr(0, end).rfind('/');
    return std::string(folder == std::string_view::npos ? text : text.substr(folder + 1));
}

SiteNames::SiteNames(const History& history)
    : history_(history), sites_(history.strings(), history.stacks()) {}

const std::string& SiteNames::call_site(std::uint32_t stack) {
    const auto [found, fresh] = call_sites_.try_emplace(stack);
    if (fresh)
        found->second = one_line(sites_.site(stack));
    return found->second;
}

std::string SiteNames::module(std::uint32_t stack) {
    const std::string& site = call_site(stack);
    if (const std::size_t file = site.find(".py:"); file != std::string::npos)
        return site.substr(0, file + 3);
    const std::size_t colons = site.rfind("::", site.find_first_of("<("));
    return colons == std::string::npos ? std::string() : site.substr(0, colons);
}

std::string SiteNames::tag(const Site& site) const {
    const StringTable& strings = history_.strings();
    return site.tag < strings.size() ? one_line(strings[site.tag]) : std::string();
}

std::string SiteNames::name(const Site& site) {
    std::string name = tag(site);
    const std::string& where = call_site(site.stack);
    if (!name.empty() && !where.empty())
        name += " \u00b7 ";
    name += where;
    return name.empty() ? "no stack recorded" : name;
}

std::vector<std::string> SiteNames::frames(std::uint32_t stack) const {
    std::vector<std::string> lines;
    if (stack >= history_.stacks().size())
        return lines;
    for (const tidemark::Frame& at : history_.stacks()[stack])
        lines.push_back(frame(at));
    return lines;
}

std::string SiteNames::frame(const tidemark::Frame& frame) const {
    return one_line(sites_.describe(frame));
}

bool SiteNames::has_tags() {
    for (const std::size_t sites = history_.counts().sites; !has_tags_ && sites_seen_ < sites;)
        has_tags_ = history_.site(sites_seen_++).tag != 0;
    return has_tags_;
}

std::string SiteNames::stream(StreamId stream) const {
    const std::uint32_t number = to_integer(stream);
    const std::vector<std::uint64_t>& handles = history_.streams();
    if (number >= handles.size() || handles[number] == 0 || handles[number] == number)
        return fmt::format("{}", number);
    return fmt::format("{} ({:#x})", number, handles[number]);
}

std::string SiteNames::pool(PoolId pool) const {
    const std::uint32_t number = to_integer(pool);
    const std::vector<std::string>& names = history_.pools();
    if (number < names.size() && !names[number].empty())
        return one_line(names[number]);
    return number == 0 ? "default" : fmt::format("{}", number);
}

std::string SiteNames::device(std::uint16_t device) const {
    const std::vector<std::string>& names = history_.devices();
    if (device > 0 && device + 1U == names.size() && names[device] == kHostMemory)
        return names[device];
    if (device < names.size() && !names[device].empty())
        return fmt::format("{} {}", device, one_line(names[device], 60));
    return fmt::format("{}", device);
}

}  // namespace tidemark::viz
