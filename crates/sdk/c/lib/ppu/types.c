/* The tables of the classes that describe types (`lib/cpp` and libc++abi). Only the library of C++
   calls their functions; a program without it needs no more than their addresses. */
const void *const of_class[3] __asm__("_ZTVN10__cxxabiv117__class_type_infoE") = {0};
const void *const of_derived[3] __asm__("_ZTVN10__cxxabiv120__si_class_type_infoE") = {0};
const void *const of_others[3] __asm__("_ZTVN10__cxxabiv121__vmi_class_type_infoE") = {0};
