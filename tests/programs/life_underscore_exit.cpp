// A program without Python: leaves by _exit from a second thread while the first one allocates.
// Nothing of the preloaded library may show: no output, the same exit status.
#include <cstdlib>
#include <thread>

#include <unistd.h>

int main() {
    std::thread leaving([] { _exit(7); });
    for (;;) {
        free(malloc(100));
    }
}
