// A file of PyTorch memory snapshots, in any of the forms that people have, as records.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "traces/io/byte_source.h"
#include "traces/model/trace.h"
#include "traces/readers/torch_parts.h"
#include "traces/readers/torch_records.h"

namespace tidemark::torch {

struct File {
    PickleObjects objects;
    Records records{objects};
    std::vector<Part> parts;
    std::optional<Error> end;           // where it was cut off (ReadOptions::lenient)
    std::vector<std::string> warnings;  // sentences for a person
};

// How snapshots were written to a file. To add a form, write a function and add one line to kForms
// (torch_file.cpp).
struct Form {
    std::string_view name;  // "a pickle"
    bool (*recognises)(std::string_view head);
    Result<void> (*read)(ByteSource& source, File& file, const ReadOptions& options);
};

// The form of a file that starts with `head`; null if it is not one of snapshots.
const Form* find_form(std::string_view head);

// Pickles one after another, of any protocol: dumps that were appended, and files that torch.save
// wrote before PyTorch 1.6. Unreadable data after the first snapshot is a warning.
bool begins_pickle(std::string_view head);
Result<void> read_pickles(ByteSource& source, File& file, const ReadOptions& options);

// The first member of the archive that torch.save writes since PyTorch 1.6: data.pkl.
bool begins_torch_archive(std::string_view head);
Result<void> read_torch_archive(ByteSource& source, File& file, const ReadOptions& options);

// The page that torch.cuda._memory_viz writes: the pickle is in it, in base64.
bool begins_memory_page(std::string_view head);
Result<void> read_memory_page(ByteSource& source, File& file, const ReadOptions& options);

// The output of json.dump for a snapshot.
bool begins_snapshot_json(std::string_view head);
Result<void> read_snapshot_json(ByteSource& source, File& file, const ReadOptions& options);

}  // namespace tidemark::torch
