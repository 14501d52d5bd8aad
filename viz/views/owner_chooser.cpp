// Choices that tell something in this history, in a row.
#include "viz/views/owner_chooser.h"

#include <vector>

#include "viz/draw/filter_bar.h"

namespace tidemark::viz {

OwnerChooser choose_owners(Frame& frame, const History& history, std::string_view label,
                           float left) {
    Canvas& canvas = frame.canvas;
    const std::vector<OwnerChoice> choices = owner_choices(history);
    std::vector<std::string_view> titles;
    std::size_t before = 0;
    for (std::size_t i = 0; i < choices.size(); ++i) {
        titles.push_back(choices[i].title);
        if (frame.selection.owners == choices[i].trait)
            before = i;
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
