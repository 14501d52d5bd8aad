// Finding ranks by the numbers in their files' names.
#include "viz/model/ranks/rank_names.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "replay/analysis/compare/ranks.h"

namespace tidemark::viz {
namespace {

bool is_numeral(char letter) {
    return letter >= '0' && letter <= '9';
}

// The numbers of a name, in order, without zeros before them.
std::vector<std::string> numbers_of(std::string_view name) {
    std::vector<std::string> numbers;
    for (std::size_t begin = 0; begin < name.size();) {
        std::size_t end = begin;
        while (end < name.size() && is_numeral(name[end]))
            ++end;
        if (end > begin) {
            while (begin + 1 < end && name[begin] == '0')
                ++begin;
            numbers.emplace_back(name.substr(begin, end - begin));
        }
        begin = end + 1;
    }
    return numbers;
}

// Longer ones are larger: they have no zeros before them.
bool is_below(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        if (a[i] != b[i])
            return a[i].size() != b[i].size() ? a[i].size() < b[i].size() : a[i] < b[i];
    return a.size() < b.size();
}

// The word before the n-th number is "rank", with or without something between them.
bool is_called_rank(std::string_view name, std::size_t which) {
    std::size_t at = 0;
    for (std::size_t number = 0; at < name.size(); ++number) {
        while (at < name.size() && !is_numeral(name[at]))
            ++at;
        if (number == which)
            break;
        while (at < name.size() && is_numeral(name[at]))
            ++at;
    }
    std::string_view before = name.substr(0, at);
    while (!before.empty() && std::string_view("_-. =").find(before.back()) != before.npos)
        before.remove_suffix(1);
    constexpr std::string_view kWord = "rank";
    if (before.size() < kWord.size())
        return false;
    before.remove_prefix(before.size() - kWord.size());
    return std::ranges::equal(before, kWord, [](char letter, char wanted) {
        return static_cast<char>(letter | 0x20) == wanted;
    });
}

struct Candidate {
    NamedRank rank;
    std::vector<std::string> numbers;
};

// The numbers of the names that identify the ranks: one that differs in each of them, preferably
// one that is called rank, else the shortest; all that differ if none does alone.
std::vector<std::size_t> telling_numbers(const std::vector<Candidate>& ranks,
                                         std::string_view name) {
    std::vector<std::size_t> telling;
    std::optional<std::pair<bool, std::size_t>> best;  // isn't called rank, its longest
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < ranks.front().numbers.size(); ++i) {
        std::set<std::string_view> values;
        std::size_t longest = 0;
        for (const Candidate& each : ranks) {
            values.insert(each.numbers[i]);
            longest = std::max(longest, each.numbers[i].size());
        }
        if (values.size() > 1)
            telling.push_back(i);
        const std::pair cost(!is_called_rank(name, i), longest);
        if (values.size() == ranks.size() && (!best || cost < *best)) {
            best = cost;
            chosen = i;
        }
    }
    return best ? std::vector{chosen} : telling;
}

bool is_sibling(const ViewedRun& run, const ViewedRun& shown, const std::string& pattern) {
    return run.policy == shown.policy && !run.live && rank_pattern(run.path) == pattern;
}

}  // namespace

bool has_ranks(const Session& session, const Selection& selection) {
    const ViewedRun* const shown = session.shown(selection.run);
    if (shown == nullptr || session.runs.size() < 2 || shown->tiers)
        return false;
    const std::string pattern = rank_pattern(shown->path);
    return !pattern.empty() && std::ranges::any_of(session.runs, [&](const ViewedRun& run) {
        return run.path != shown->path && is_sibling(run, *shown, pattern);
    });
}

std::vector<NamedRank> find_ranks(const Session& session, const Selection& selection) {
    if (!has_ranks(session, selection))
        return {};
    const ViewedRun& shown = session.runs[selection.run];
    const std::string pattern = rank_pattern(shown.path);
    std::map<std::string_view, bool> seen;  // a file that is given twice is one rank
    std::vector<Candidate> ranks;
    for (std::size_t i = 0; i < session.runs.size(); ++i) {
        const ViewedRun& run = session.runs[i];
        if (is_sibling(run, shown, pattern) && !std::exchange(seen[run.path], true))
            ranks.push_back({{i, {}}, numbers_of(run.path)});
    }
    const std::vector<std::size_t> telling = telling_numbers(ranks, shown.path);
    for (Candidate& each : ranks) {
        std::vector<std::string> kept;
        for (const std::size_t i : telling)
            kept.push_back(each.numbers[i]);
        for (const std::string& number : kept)
            each.rank.number += (each.rank.number.empty() ? "" : "/") + number;
        each.numbers = std::move(kept);
    }
    std::ranges::stable_sort(ranks, [](const Candidate& a, const Candidate& b) {
        return is_below(a.numbers, b.numbers);
    });
    std::vector<NamedRank> named;
    for (Candidate& each : ranks)
        named.push_back(std::move(each.rank));
    return named;
}

}  // namespace tidemark::viz
