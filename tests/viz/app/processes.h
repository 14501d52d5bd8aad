// Other programs, for tests that need a display: started, watched, and gone when the test is over.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace tidemark::support {

using Environment = std::vector<std::pair<std::string, std::string>>;  // added to the test's own

// What a program that has ended said.
struct Ended {
    int code = -1;  // exit code, or 128 + the signal; 127: there is no such program
    std::string out;
    std::string err;
};

Ended run_program(const std::vector<std::string>& arguments, const Environment& environment = {});

// A program that goes on beside the test; ended with it.
class Running {
  public:
    Running(const std::vector<std::string>& arguments, const Environment& environment,
            const std::string& errors_to);
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running();

    bool alive();

    // Waits until it has ended by itself; its exit code, or 128 + the signal.
    int wait();

  private:
    pid_t child_ = -1;
    int code_ = -1;
};

// Whether the system has a program of that name.
bool has_program(const std::string& name);

// True as soon as `met` is; false if it isn't for long.
bool wait_until(const std::function<bool()>& met);

// A display without a screen, 1280 x 900; `name()` is empty if there is no Xvfb.
class Display {
  public:
    Display();
    Display(const Display&) = delete;
    Display& operator=(const Display&) = delete;
    ~Display();

    const std::string& name() const { return name_; }  // ":97"

  private:
    pid_t server_ = -1;
    std::string name_;
};

}  // namespace tidemark::support
