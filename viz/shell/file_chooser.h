// FileChooser: finds a file to open, inside the window: a line for a part of a name, or a path,
// above the entries of a folder. Enter opens the newest recording, unless the user types or moves.
// Folders are read in the background.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "viz/draw/table.h"
#include "viz/model/navigation/folder_listing.h"
#include "viz/shell/keys.h"
#include "viz/shell/text_field.h"

namespace tidemark::viz {

class FileChooser {
  public:
    // Starts in the folder where it was left; at first, in that of the process.
    void begin();

    // Keys that are pressed while it is there; all others are typed into its line.
    void take_key(const KeyPress& press);

    // A frame into `box`. The path that was chosen, once.
    std::optional<std::string> draw(Frame& frame, const Box& box);

    // Folders are being read.
    bool busy() const { return listing_job_.running() || recognition_job_.running(); }

    // Why the entered path can't be opened, or the folder can't be read; empty if neither is so.
    std::string problem() const;

  private:
    enum class Kind : std::uint8_t { unknown, recording, other };

    void read_folder();
    void take_answers();
    void choose_entries();
    void choose_row();
    void go_into(const std::string& folder);
    void go_up();
    void move(std::ptrdiff_t by);
    std::optional<std::string> enter();
    std::optional<std::string> pick(std::size_t row);
    std::string path_of(const std::string& name) const;
    std::string about_text() const;
    void draw_line(const Box& box);
    std::optional<std::string> draw_entries(Frame& frame, const Box& box);
    std::optional<std::string> draw_foot(Frame& frame, const Box& box);
    std::string cell_text(std::uint64_t row, std::size_t column) const;

    std::string folder_;  // current: the start of the line's path
    TextField line_;
    int line_number_ = 0;    // ImGui keeps the text of one that has the focus
    double erased_at_ = -1;  // when Backspace was pressed last
    TypedPath typed_;        // the folder and the part of a name in the line
    std::string problem_;    // why the entered path can't be opened

    std::shared_ptr<const FolderListing> listing_;  // null: there is none yet
    std::string listed_folder_;                     // that it is of, or will be
    std::vector<Kind> kinds_;                       // of its entries
    std::size_t recognised_ = 0;                    // how many of them are known
    Job<FolderListing> listing_job_;
    Job<std::vector<bool>> recognition_job_;

    bool is_stale_ = true;            // the rows are to be chosen again
    std::vector<std::size_t> shown_;  // entries, in the order of rows, behind ".."
    bool has_above_ = false;          // the first row is ".."
    std::size_t chosen_ = 0;          // a row
    bool has_moved_ = false;          // the user chose it
    std::size_t sorted_by_ = 3;       // a column
    bool descending_ = false;
    VirtualTable table_;
};

}  // namespace tidemark::viz
