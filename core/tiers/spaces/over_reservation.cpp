// The three policies that come with it, and their names.
#include "core/tiers/spaces/over_reservation.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/options.h"

namespace tidemark {
namespace {

class Ignore final : public OverReservationPolicy {
  public:
    OverReservationPlan plan(const OverReservationFacts& /*facts*/) const override {
        return {.growth = 0, .second_growth = 0, .allow_excess = true};
    }

    std::string text() const override { return "ignore"; }
};

class Fail final : public OverReservationPolicy {
  public:
    OverReservationPlan plan(const OverReservationFacts& /*facts*/) const override { return {}; }

    std::string text() const override { return "fail"; }
};

constexpr std::array<OptionInfo, 2> kIncreaseOptions = {
    OptionInfo{.name = "padding",
               .type = OptionType::real,
               .default_value = "1.25",
               .minimum = "1",
               .maximum = "1000",
               .summary = "how much more than what is missing it requests first",
               .source = "cuCascade's default"},
    OptionInfo{.name = "allow_excess",
               .type = OptionType::boolean,
               .default_value = "false",
               .summary = "whether the space pays when the reservation can't grow"}};

class Increase final : public OverReservationPolicy {
  public:
    Increase(double padding, bool allow_excess) : padding_(padding), allow_excess_(allow_excess) {
        TM_CHECK(padding >= 1);
    }

    OverReservationPlan plan(const OverReservationFacts& facts) const override {
        const Bytes missing = facts.missing();
        const double padded = static_cast<double>(missing) * padding_;
        const bool sensible = padded < static_cast<double>(kLargestRequest);
        return {.growth = sensible ? std::max(missing, static_cast<Bytes>(padded)) : missing,
                .second_growth = missing,
                .allow_excess = allow_excess_};
    }

    std::string text() const override {
        return fmt::format("increase:padding={}{}", padding_,
                           allow_excess_ ? ",allow_excess=true" : "");
    }

  private:
    double padding_;
    bool allow_excess_;
};

}  // namespace

OverReservation ignore_over_reservation() {
    static const OverReservation policy = std::make_shared<Ignore>();
    return policy;
}

OverReservation fail_over_reservation() {
    static const OverReservation policy = std::make_shared<Fail>();
    return policy;
}

OverReservation increase_reservation(double padding, bool allow_excess) {
    return std::make_shared<Increase>(padding, allow_excess);
}

Result<OverReservation> parse_over_reservation(std::string_view text) {
    constexpr std::string_view kWhere = "over-reservation policy";
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    const std::string_view settings =
        colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
    if (name == "increase") {
        TM_ASSIGN(const Options options, Options::parse(kIncreaseOptions, settings, kWhere));
        return increase_reservation(options.real("padding"), options.boolean("allow_excess"));
    }
    if (name != "ignore" && name != "fail")
        return fail(ErrorCode::bad_option, fmt::format("there is no policy '{}'", name),
                    std::string(kWhere), "take ignore, fail or increase");
    TM_TRY(Options::parse({}, settings, kWhere));
    return name == "ignore" ? ignore_over_reservation() : fail_over_reservation();
}

}  // namespace tidemark
