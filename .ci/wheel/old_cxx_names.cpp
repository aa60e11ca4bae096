// As old_names.c: what the compiler calls, and the libstdc++ of GCC 8 lacks.
#include <new>

#ifdef OLD_bad_array_new_length
namespace std {
__attribute__((visibility("hidden"))) void __throw_bad_array_new_length() {
    throw std::bad_array_new_length();
}
}  // namespace std
#endif
