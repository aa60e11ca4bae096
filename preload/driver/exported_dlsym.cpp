// In the preloaded library only: the name by which every library finds the stub, and a marker that
// the preload is present. libpeakline.so has neither: its own calls must reach the real dlsym.
extern "C" __attribute__((visibility("default"))) int peakline_driver_is_preloaded() {
    return 1;
}

extern "C" [[gnu::naked, gnu::visibility("default")]] void* dlsym(void*, const char*) {
    asm("jmp peakline_driver_dlsym");
}
