// Options: typed key=value settings, declared once by their owner (a policy, a generator, a device)
// and used by parsing, --help, `tidemark policies`, sweeps, docs and the property suites.
//
// Text form: "key=value,key=value"; ':' may be written instead of '=' (PyTorch writes
// "max_split_size_mb:128"), and commas inside [...] belong to the value. Values are immutable after
// parsing; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"

namespace tidemark {

// `file` is the path of a file whose content matters; "" is none.
enum class OptionType : std::uint8_t { bytes, count, real, boolean, choice, text, file };

// One option as its owner declares it. All views must stay valid as long as the program runs
// (literals).
struct OptionInfo {
    std::string_view name = {};
    OptionType type = OptionType::text;
    std::string_view unit = {};           // "bytes", "MiB", "" if it has none
    std::string_view default_value = {};  // in text form; must itself parse
    std::string_view minimum = {};        // in text form, "" = none; numbers and bytes only
    std::string_view maximum = {};
    std::span<const std::string_view> choices = {};  // OptionType::choice only
    std::string_view summary = {};                   // one sentence
    std::string_view source = {};  // where the meaning or default comes from, or ""
};

std::string_view to_text(OptionType type);

// Values for a list of declared options: every one is present, defaults filled in.
class Options {
  public:
    // Each getter requires a declared name of that type: anything else is a defect (TM_CHECK).
    // O(number of options).
    Bytes bytes(std::string_view name) const;
    std::uint64_t count(std::string_view name) const;
    double real(std::string_view name) const;
    bool boolean(std::string_view name) const;
    std::string_view text(std::string_view name) const;    // as given; booleans: true, false
    std::string_view choice(std::string_view name) const;  // one of the declared choices

    bool is_default(std::string_view name) const;

    // (name, value as text) in the order of declaration: what provenance prints.
    std::span<const std::pair<std::string, std::string>> all() const { return values_; }

    // Reads `text` against `declared`. Errors (bad_option, where = `where`): unknown name (with the
    // nearest one), a value of the wrong type or out of range, a name given twice.
    static Result<Options> parse(std::span<const OptionInfo> declared, std::string_view text,
                                 std::string_view where);

    // Removes the entries with a declared name from `text` and parses them as parse does.
    static Result<Options> take(std::span<const OptionInfo> declared, std::string& text,
                                std::string_view where);

  private:
    const OptionInfo& info(std::string_view name) const;

    std::span<const OptionInfo> declared_;
    std::vector<std::pair<std::string, std::string>> values_;
};

// "name:key=value,key=value": `name`, which may have options already, plus those options that
// differ from their defaults.
std::string with_options(std::string_view name, const Options& options);

}  // namespace tidemark
