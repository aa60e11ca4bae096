// Preloaded into a Python with a shared libpython: it then says that it is a version that nobody
// knows. Everything else of it stays as it is.
extern "C" const char* Py_GetVersion() {
    return "3.99.0 (a version that nobody knows)";
}
