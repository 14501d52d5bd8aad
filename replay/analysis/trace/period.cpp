// From each place the lengths of what repeats from there, for all periods at once.
#include "replay/analysis/trace/period.h"

#include <algorithm>
#include <vector>

namespace tidemark {
namespace {

// Twice may be chance, unless it is most of the whole.
bool is_telling(const Period& period, std::size_t symbols) {
    return period.repeats() >= 3 ||
           (period.repeats() == 2 && (period.end - period.begin) * 2 >= symbols);
}

// z[i]: how many symbols from i on are those from 0 on.
void find_matches(std::span<const std::uint32_t> symbols, std::vector<std::size_t>& z) {
    z.assign(symbols.size(), 0);
    std::size_t begin = 0;  // of the match that reaches farthest
    std::size_t end = 0;
    for (std::size_t i = 1; i < symbols.size(); ++i) {
        std::size_t length = i < end ? std::min(end - i, z[i - begin]) : 0;
        while (i + length < symbols.size() && symbols[length] == symbols[i + length])
            ++length;
        z[i] = length;
        if (i + length > end) {
            begin = i;
            end = i + length;
        }
    }
}

// The one that reaches farthest of those from `start` on that repeat so often at least, begun as
// early as it can be.
Period longest_from(std::size_t start, std::span<const std::uint32_t> symbols,
                    const std::vector<std::size_t>& matches, std::size_t least_repeats) {
    Period longest;
    for (std::size_t length = 1; length < matches.size(); ++length) {
        const std::size_t end = start + length + matches[length];
        if ((end - start) / length >= least_repeats && end > longest.end)
            longest = {start, end, length};
    }
    while (longest.begin > 0 &&
           symbols[longest.begin - 1] == symbols[longest.begin - 1 + longest.length])
        --longest.begin;
    return longest;
}

}  // namespace

Period find_period(std::span<const std::uint32_t> symbols) {
    Period best;
    std::vector<std::size_t> matches;
    const auto look_from = [&](std::size_t start) {
        find_matches(symbols.subspan(start), matches);
        for (const std::size_t least_repeats : {std::size_t{3}, std::size_t{2}}) {
            const Period found = longest_from(start, symbols, matches, least_repeats);
            if (!is_telling(found, symbols.size()))
                continue;
            const std::size_t covered = found.end - found.begin;
            if (covered > best.end - best.begin ||
                (covered == best.end - best.begin && found.length < best.length))
                best = found;
        }
    };
    for (std::size_t start = symbols.size() / 2; start > 0; start /= 2)
        look_from(start);
    look_from(0);
    return best;
}

}  // namespace tidemark
