// Catalogues: lists of named things (policies, victim policies) in which names are looked up. An
// entry is any type with a `std::string_view name`. Pure functions; thread-safe; O(entries).
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/base/result.h"
#include "core/base/text.h"

namespace tidemark {

// The entry called `name`, where '_' may be written instead of '-'. `kind` is what the entries are:
// "policy". Errors (bad_option): there is none; the hint is the nearest name, or all of them.
template <class Entry>
Result<const Entry*> find_named(std::span<const Entry> catalogue, std::string_view kind,
                                std::string_view name) {
    std::string wanted(name);
    std::replace(wanted.begin(), wanted.end(), '_', '-');
    std::vector<std::string_view> names;
    for (const Entry& entry : catalogue) {
        if (entry.name == wanted)
            return &entry;
        names.push_back(entry.name);
    }
    const std::string_view near = nearest(wanted, names);
    return fail(ErrorCode::bad_option, fmt::format("there is no {} '{}'", kind, name), {},
                near.empty() ? fmt::format("one of: {}", fmt::join(names, ", "))
                             : fmt::format("did you mean '{}'?", near));
}

}  // namespace tidemark
