// Traits that are informative in this history, in a row.
#include "viz/views/owner_chooser.h"

#include <algorithm>
#include <vector>

#include "viz/draw/filter_bar.h"

namespace tidemark::viz {

OwnerChooser choose_owners(Frame& frame, const History& history, std::string_view label, float left,
                           std::optional<BlockTrait> usual) {
    Canvas& canvas = frame.canvas;
    const std::vector<OwnerChoice> choices = owner_choices(history);
    std::vector<std::string_view> titles;
    for (const OwnerChoice& choice : choices)
        titles.push_back(choice.title);
    std::size_t before = 0;
    for (const std::optional<BlockTrait>& trait : {usual, frame.selection.owners}) {
        const auto found = std::ranges::find(choices, trait, &OwnerChoice::trait);
        if (found != choices.end())
            before = static_cast<std::size_t>(found - choices.begin());
    }
    left += canvas.px(6);
    const float top = frame.area.top + canvas.px(3);
    left += canvas.text({left, top + canvas.px(3)}, label, canvas.theme().faint_text);
    OwnerChooser chooser;
    const std::size_t chosen =
        choose(frame, {left + canvas.px(8), top}, "owners", titles, before, chooser.right);
    chooser.right += canvas.px(8);
    chooser.trait = choices[chosen].trait;
    if (chosen != before)
        frame.selection.owners = chooser.trait;
    return chooser;
}

}  // namespace tidemark::viz
