// The program `tidemark`: its main() alone, so that in a wheel the rest is in libtidemark.so.
#include "replay/app/tidemark_main.h"

int main(int argc, char** argv) {
    return tidemark_main(argc, argv);
}
