// Trace files as people name them: folders and patterns stand for the recordings in them, and a
// report calls each by as little of its path as tells it from the others.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace tidemark {

// Each of `paths` that is a folder replaced by the recordings anywhere in it (files that a reader
// recognises; names that begin with a dot are left out), and each pattern (*, ?, [...]) that names
// no file itself by what it matches, both sorted; a file of several recordings by each of them
// ("ranks.pickle#0"). Errors (not_found): a folder without recordings,
// a pattern that matches nothing.
Result<std::vector<std::string>> expand_traces(std::span<const std::string> paths);

// The same where one trace is taken. Errors (bad_option): there are several.
Result<std::string> expand_trace(const std::string& path);

// What a pattern matches that names no file itself, sorted, be it nothing; else `path` alone.
std::vector<std::string> matches_of_pattern(const std::string& path);

// What reports call the trace: the file's name without its folder, or "standard input".
std::string trace_name(const std::string& path);

// What they call each of several: its name, with as many of its folders as make it differ from
// every other: "rank0/snapshot.pickle". The same file given twice keeps its plain name.
std::vector<std::string> trace_names(std::span<const std::string> paths);

}  // namespace tidemark
