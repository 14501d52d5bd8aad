// ProcessReport: how a recorded process and `tidemark record` communicate: the command sets
// environment variables, and each process with the recorder in it leaves a file in a folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::inject {

// NVIDIA's: the file that the driver loads into every process when it is initialized.
constexpr const char* kInjectionVariable = "CUDA_INJECTION64_PATH";

// NVIDIA's: the file that each part of a program that has NVTX loads when it first uses it.
constexpr const char* kRangesVariable = "NVTX_INJECTION64_PATH";

constexpr const char* kReportsVariable = "TIDEMARK_RECORD_REPORTS";  // the folder
constexpr const char* kOutputVariable = "TIDEMARK_RECORD_OUTPUT";    // the recording; "" = usual
constexpr const char* kOverwriteVariable = "TIDEMARK_RECORD_OVERWRITE";  // set: may replace a file
constexpr const char* kNameVariable = "TIDEMARK_RECORD_NAME";            // of the program
constexpr const char* kHistoryVariable = "TIDEMARK_RECORD_HISTORY";      // bytes; 0 = all
constexpr const char* kStacksVariable = "TIDEMARK_RECORD_STACKS";        // set: with stacks
constexpr const char* kKernelsVariable = "TIDEMARK_RECORD_KERNELS";      // set: with uses
constexpr const char* kNoTimesVariable = "TIDEMARK_RECORD_NO_TIMES";     // set: none of the GPU
constexpr const char* kChildOfVariable = "TIDEMARK_RECORD_CHILD_OF";  // only children of this one

// The tag of what ended with its context.
constexpr const char* kContextEndTag = "context destroyed";

struct ProcessReport {
    std::uint32_t process = 0;
    std::string problem;    // why nothing is recorded; "" = it is
    std::string recording;  // its path; "" = the process hasn't allocated anything
    std::string cupti;      // the file
    std::string untimed =
        {};  // why launches have no times of the GPU; "" = they have, or need none
};

// The file of this process in a folder. Written line by line, so that what a killed process had
// to say is there.
class ReportFile {
  public:
    // Makes it; without a folder, nothing is written.
    explicit ReportFile(const std::string& folder);

    // What becomes of `key` in ProcessReport.
    void write(std::string_view key, std::string_view value) const;

    // A path for this process's recording, which no other process of the folder gets: `output`
    // itself for the first, then with the process's number in its name. `output` where there is
    // no folder.
    std::string claim_recording(const std::string& output) const;

  private:
    std::string folder_;
    std::string path_;
};

// What the processes left, in order of process. What can't be read is left out.
std::vector<ProcessReport> read_reports(const std::string& folder);

}  // namespace tidemark::inject
