// Of the preloaded library only: the name under which every library finds the stub, and the sign
// that it is there. libpeakline.so has neither: its own calls mean the real dlsym.
extern "C" __attribute__((visibility("default"))) int peakline_driver_is_preloaded() {
    return 1;
}

extern "C" [[gnu::naked, gnu::visibility("default")]] void* dlsym(void*, const char*) {
    asm("jmp peakline_driver_dlsym");
}
