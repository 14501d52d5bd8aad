// The curves of a replay over tiers: what GPUs, hosts and disks hold on the run's virtual time.
#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "viz/views/curves.h"

namespace tidemark::viz {
namespace {

struct TierLook {
    Tier tier;
    std::string_view name;
    CurveLook look;
};

constexpr TierLook kTiers[] = {
    {Tier::gpu, "in GPU memory", CurveLook::area},
    {Tier::host, "on hosts", CurveLook::line},
    {Tier::disk, "on disks", CurveLook::line},
};

class TierCurves final : public Curves {
  public:
    bool look(Frame& frame, const TrackInput& input, std::size_t columns) override {
        tracks_ = input.tiers;
        run_ = input.run.tiers;
        if (!tracks_ || !run_)
            return false;
        const Window& window = frame.camera.window();
        if (window == window_ && tracks_ == seen_ && columns_[0].size() == columns)
            return true;
        window_ = window;
        if (seen_ != tracks_)
            peak_ = tracks_->held(Tier::gpu).peak_time();
        seen_ = tracks_;
        for (const TierLook& tier : kTiers) {
            auto& row = columns_[static_cast<std::size_t>(tier.tier)];
            row.resize(columns);
            tracks_->held(tier.tier).columns(window.begin, window.end, row);
        }
        return true;
    }

    Bytes highest() const override {
        Bytes most = 0;
        for (const TierLook& tier : kTiers)
            if (is_shown(tier.tier))
                for (const LevelColumn& column : columns_[static_cast<std::size_t>(tier.tier)])
                    most = std::max(most, column.max);
        return most;
    }

    Bytes capacity() const override {
        Bytes sum = 0;
        for (const TierSpacePeak& space : run_->spaces)
            sum += space.space.tier == Tier::gpu ? space.capacity : 0;
        return sum;
    }

    std::vector<LegendEntry> legend(Frame& frame) const override {
        std::vector<LegendEntry> entries;
        const Position at = frame.selection.looked_at().value_or(peak_);
        for (const TierLook& tier : kTiers)
            if (has(tier.tier))
                entries.push_back({std::string(tier.name),
                                   format_bytes(tracks_->held(tier.tier).at(at)),
                                   colour_of(frame.canvas.theme(), tier.tier), tier.look,
                                   static_cast<std::size_t>(tier.tier), is_shown(tier.tier)});
        return entries;
    }

    void toggle(std::size_t entry) override { shown_[entry] = !shown_[entry]; }

    void draw(Frame& frame, const TimeArea& /*area*/, const ByteScale& scale,
              std::vector<Box>& labels) override {
        Canvas& canvas = frame.canvas;
        const Theme& theme = canvas.theme();
        for (const TierLook& tier : kTiers) {
            const auto& columns = columns_[static_cast<std::size_t>(tier.tier)];
            if (!is_shown(tier.tier) || !has(tier.tier))
                continue;
            const Colour colour = colour_of(theme, tier.tier);
            if (tier.look == CurveLook::area)
                draw_level_area(canvas, scale, columns, colour, mix(theme.plot, colour, 0.5));
            else
                draw_level_line(canvas, scale, columns, colour, std::round(canvas.px(2)));
        }
        draw_bound(canvas, scale, capacity(), "GPU capacity", theme.problem, labels);
    }

    void describe(Frame& frame, const TimeArea& area, Position position, HoverCard& card) override {
        const Theme& theme = frame.canvas.theme();
        card.head(position_label(frame, area, position));
        for (const TierLook& tier : kTiers)
            if (has(tier.tier))
                card.row(colour_of(theme, tier.tier), std::string(tier.name),
                         format_bytes(tracks_->held(tier.tier).at(position)));
        card.row(0, "GPU capacity", format_bytes(capacity()));
    }

  private:
    bool is_shown(Tier tier) const { return shown_[static_cast<std::size_t>(tier)]; }

    bool has(Tier tier) const { return tier == Tier::gpu || tracks_->held(tier).size() > 0; }

    std::shared_ptr<const TierTracks> tracks_;
    std::shared_ptr<const TierTracks> seen_;
    std::shared_ptr<const TierRun> run_;
    Window window_{0, 0};
    Position peak_ = 0;
    std::array<std::vector<LevelColumn>, kTierCount> columns_;
    std::array<bool, kTierCount> shown_ = {true, true, true};
};

}  // namespace

std::unique_ptr<Curves> tier_curves() {
    return std::make_unique<TierCurves>();
}

}  // namespace tidemark::viz
