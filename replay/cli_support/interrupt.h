// Interrupt: Ctrl-C in a search asks it to end with the best so far; a second one ends the program.
#pragma once

namespace tidemark {

// While one lives, the first SIGINT only makes requested() true. At most one at a time. requested()
// may be called by any thread.
class Interrupt {
  public:
    Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;
    ~Interrupt();

    static bool requested();
};

}  // namespace tidemark
