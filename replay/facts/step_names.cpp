// Reading the names of steps.
#include "replay/facts/step_names.h"

#include <array>
#include <charconv>
#include <tuple>

namespace tidemark::facts {
namespace {

struct StepTerm {
    std::string_view text;
    StepName::Kind kind;
};

// "epoch 2, step 18" is step 18.
constexpr std::array kTerms{
    StepTerm{"iteration", StepName::Kind::step}, StepTerm{"step", StepName::Kind::step},
    StepTerm{"iter", StepName::Kind::step}, StepTerm{"batch", StepName::Kind::batch},
    StepTerm{"epoch", StepName::Kind::epoch}};
constexpr std::string_view kBetween = " #_=:.-";  // a word and its number
constexpr std::size_t kMostBetween = 3;

bool is_letter(char letter) {
    return (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z');
}

bool is_digit_of_step(char letter) {
    return letter >= '0' && letter <= '9';
}

bool has_word_at(std::string_view name, std::size_t at, std::string_view word) {
    if (name.size() - at < word.size())
        return false;
    for (std::size_t i = 0; i < word.size(); ++i) {
        const char letter = name[at + i];
        if ((letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter) != word[i])
            return false;
    }
    return at + word.size() == name.size() || !is_letter(name[at + word.size()]);
}

struct StepNumber {
    std::size_t digits = 0;  // where they begin
    std::uint64_t value = 0;
};

// The number behind the word that ends at `from`.
std::optional<StepNumber> number_behind(std::string_view name, std::size_t from) {
    std::size_t at = from;
    while (at < name.size() && at - from < kMostBetween &&
           kBetween.find(name[at]) != std::string_view::npos)
        ++at;
    StepNumber read{at, 0};
    const char* const end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + at, end, read.value);
    if (parsed.ec != std::errc() || (parsed.ptr != end && is_letter(*parsed.ptr)))
        return std::nullopt;
    return read;
}

std::string without_numbers(std::string_view name) {
    std::string family;
    for (std::size_t i = 0; i < name.size(); ++i)
        if (!is_digit_of_step(name[i]))
            family += name[i];
        else if (i == 0 || !is_digit_of_step(name[i - 1]))
            family += 'N';
    return family;
}

}  // namespace

std::optional<StepName> parse_step_name(std::string_view name) {
    std::optional<StepName> unnumbered;
    for (const auto& [word, kind] : kTerms)
        for (std::size_t at = 0; at < name.size(); ++at) {
            if (!has_word_at(name, at, word))
                continue;
            if (const auto number = number_behind(name, at + word.size()))
                return StepName{kind, without_numbers(name.substr(0, number->digits)) + "N",
                                number->value};
            if (!unnumbered)
                unnumbered = StepName{kind, std::string(name), std::nullopt};
        }
    return unnumbered;
}

bool is_part_of(const StepName& open, const StepName& name) {
    const bool are_steps = open.kind == StepName::Kind::step && name.kind == StepName::Kind::step;
    return are_steps && open.number && (name.family != open.family || name.number == open.number);
}

bool goes_before(const StepFamily& one, const StepFamily& other) {
    const auto order = [](const StepFamily& family) {
        return std::tuple(!family.numbered, family.is_mark, family.kind);
    };
    return std::tuple(order(one), other.count, one.first) <
           std::tuple(order(other), one.count, other.first);
}

}  // namespace tidemark::facts
