// Catch2's version 3 as version 2 is used: Debian 12 and Ubuntu 22.04 have that, newer ones only this.
#pragma once

#include <string>

#include <catch2/catch_all.hpp>

using Catch::Approx;

namespace Catch {

using Matchers::StartsWith;

inline auto Contains(const std::string& text) {
    return Matchers::ContainsSubstring(text);
}

}  // namespace Catch
