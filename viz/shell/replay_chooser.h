// ReplayChooser: "replay under ...": a policy from the list of all, then a field for each of its
// options, and the resulting setting as a command line would have it. A whole setting may be typed
// as well. All of its texts come from what policies declare.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "viz/draw/table.h"
#include "viz/model/navigation/policy_form.h"
#include "viz/shell/keys.h"
#include "viz/shell/text_field.h"

namespace tidemark::viz {

class ReplayChooser {
  public:
    // Starts with the list.
    void begin();

    // Keys that are pressed while it is there; all others are typed. False: Esc, on the list.
    bool take_key(const KeyPress& press);

    // A frame into `box`, about the run of that label. The setting that was chosen, once.
    std::optional<std::string> draw(Frame& frame, const Box& box, const std::string& run);

    // The text copied in the last frame; empty: none was.
    const std::string& copied() const { return copied_; }

    // Why the typed text is not a setting; empty if it is one.
    const std::string& problem() const { return problem_; }

  private:
    bool take_enter();
    void show_form(const PolicyInfo& policy);
    void show_list();
    void move(std::ptrdiff_t by);
    std::optional<std::string> enter_list();
    std::optional<std::string> enter_form();
    std::optional<std::string> draw_list(Frame& frame, const Box& box);
    std::optional<std::string> draw_form(Frame& frame, const Box& box);
    void draw_fields(Frame& frame, const Box& box);
    float draw_field(Frame& frame, const Box& row, std::size_t index);
    void draw_choices(Frame& frame, const Box& box, std::size_t index);
    std::optional<std::string> draw_foot(Frame& frame, const Box& box);
    bool press(Frame& frame, const Box& box, std::string_view text);

    TextField line_;                           // over the list: words, or a whole setting
    std::string problem_;                      // why the entered text is not a setting
    std::vector<const PolicyInfo*> policies_;  // that match the typed text
    std::string listed_;                       // typed when they were chosen
    std::size_t chosen_ = 0;                   // of them
    VirtualTable table_;

    std::optional<PolicyForm> form_;  // instead of the list
    std::vector<TextField> fields_;   // of it
    std::vector<int> field_numbers_;  // ImGui keeps the text of one that has the focus
    std::size_t field_ = 0;           // where the user types
    int entries_ = 0;                 // presses of Enter; each applies to the result of the one
                                      // before
    bool copies_ = false;             // with the next frame
    std::string copied_;
};

}  // namespace tidemark::viz
