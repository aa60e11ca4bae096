// Names that this system's headers and compiler use, and the libraries of manylinux_2_28 lack. Each
// library that is linked for a wheel and needs one has it as its own, hidden one. One object for each
// (-DOLD_stat ...): a library may define another of them itself.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

// glibc 2.33 made functions of these; before it, headers called __xstat().
#ifdef OLD_stat
int stat(const char* path, struct stat* facts) {
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, facts, 0);
}
#endif

#ifdef OLD_lstat
int lstat(const char* path, struct stat* facts) {
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, facts, AT_SYMLINK_NOFOLLOW);
}
#endif

#ifdef OLD_fstat
int fstat(int descriptor, struct stat* facts) {
    return (int)syscall(SYS_fstat, descriptor, facts);
}
#endif

// glibc 2.32: whether there is one thread only. False is always right, and costs atomic additions.
#ifdef OLD_libc_single_threaded
char __libc_single_threaded = 0;
#endif

#pragma GCC visibility pop
