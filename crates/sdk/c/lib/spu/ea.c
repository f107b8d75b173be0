/* Functions of the C library for memory of the PPU (ea.h). */
#include <ea.h>
#include <spu_cache.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

extern int __send_to_ppe(unsigned int signal, unsigned int opcode, void *data);

/* The PPU's own functions, by the numbers that libspe2 has for them. */
enum { CALLOC = 1, FREE, MALLOC, REALLOC };

static __ea void *asked(unsigned what, uint32_t first, uint32_t second) {
    /* Each argument is the first of four words. */
    uint32_t words[8] __attribute__((aligned(16))) = {[0] = first, [4] = second};
    /* The PPU may write to memory that it gives or takes. */
    __cache_flush();
    return (__ea void *)(uint32_t)__send_to_ppe(0x2102, what, words);
}

__ea void *malloc_ea(size_ea_t size) { return asked(MALLOC, size, 0); }
__ea void *calloc_ea(size_ea_t nelem, size_ea_t elsize) { return asked(CALLOC, nelem, elsize); }
__ea void *realloc_ea(__ea void *p, size_ea_t size) { return asked(REALLOC, (uint32_t)p, size); }
void free_ea(__ea void *p) { asked(FREE, (uint32_t)p, 0); }

/* A structure that is copied: the compiler calls the cache for all of its bytes. */
#define BLOCK 128
struct block {
    char bytes[BLOCK];
};

__ea void *memcpy_ea(__ea void *dest, __ea const void *src, size_ea_t n) {
    __ea char *to = dest;
    __ea const char *from = src;
    for (; n >= BLOCK; n -= BLOCK, to += BLOCK, from += BLOCK) {
        struct block block = *(__ea const struct block *)from;
        *(__ea struct block *)to = block;
    }
    while (n-- > 0)
        *to++ = *from++;
    return dest;
}

__ea void *memmove_ea(__ea void *dest, __ea const void *src, size_ea_t n) {
    __ea char *to = dest;
    __ea const char *from = src;
    if ((uint32_t)to - (uint32_t)from >= n)
        return memcpy_ea(dest, src, n);
    while (n-- > 0)
        to[n] = from[n];
    return dest;
}

__ea void *memset_ea(__ea void *dest, int c, size_ea_t n) {
    __ea char *to = dest;
    while (n-- > 0)
        *to++ = (char)c;
    return dest;
}

__ea void *memchr_ea(__ea const void *s, int c, size_ea_t n) {
    for (__ea const unsigned char *at = s; n-- > 0; at++)
        if (*at == (unsigned char)c)
            return (__ea void *)at;
    return NULL;
}

int memcmp_ea(__ea void *s1, __ea const void *s2, size_ea_t n) {
    __ea const unsigned char *one = s1, *other = s2;
    for (; n-- > 0; one++, other++)
        if (*one != *other)
            return *one - *other;
    return 0;
}

size_ea_t strlen_ea(__ea const char *s) {
    size_ea_t length = 0;
    while (s[length])
        length++;
    return length;
}

__ea char *strcpy_ea(__ea char *dest, __ea const char *src) {
    memcpy_ea(dest, src, strlen_ea(src) + 1);
    return dest;
}

__ea char *strncpy_ea(__ea char *dest, __ea const char *src, size_ea_t n) {
    for (size_ea_t at = 0; at < n; at++) {
        dest[at] = *src;
        src += *src != 0;
    }
    return dest;
}

__ea char *strcat_ea(__ea char *dest, __ea const char *src) {
    strcpy_ea(dest + strlen_ea(dest), src);
    return dest;
}

__ea char *strncat_ea(__ea char *dest, __ea const char *src, size_ea_t n) {
    __ea char *to = dest + strlen_ea(dest);
    while (n-- > 0 && *src)
        *to++ = *src++;
    *to = 0;
    return dest;
}

int strncmp_ea(__ea const char *s1, __ea const char *s2, size_ea_t n) {
    for (; n-- > 0; s1++, s2++)
        if (*s1 != *s2 || *s1 == 0)
            return (unsigned char)*s1 - (unsigned char)*s2;
    return 0;
}

int strcmp_ea(__ea const char *s1, __ea const char *s2) { return strncmp_ea(s1, s2, (size_ea_t)-1); }

__ea char *strchr_ea(__ea const char *s, int c) {
    return memchr_ea(s, c, strlen_ea(s) + 1);
}

__ea char *strrchr_ea(__ea const char *s, int c) {
    for (size_ea_t at = strlen_ea(s) + 1; at-- > 0;)
        if (s[at] == (char)c)
            return (__ea char *)s + at;
    return NULL;
}

/* The length of the part of `s` whose characters are all in `set`, or all not in it. */
static size_ea_t span(__ea const char *s, __ea const char *set, int in) {
    size_ea_t length = 0;
    while (s[length] && (strchr_ea(set, s[length]) != NULL) == in)
        length++;
    return length;
}

size_ea_t strspn_ea(__ea const char *s, __ea const char *accept) { return span(s, accept, 1); }
size_ea_t strcspn_ea(__ea const char *s, __ea const char *reject) { return span(s, reject, 0); }

__ea char *strpbrk_ea(__ea const char *s, __ea const char *accept) {
    s += strcspn_ea(s, accept);
    return *s ? (__ea char *)s : NULL;
}

__ea char *strstr_ea(__ea const char *s1, __ea const char *s2) {
    size_ea_t length = strlen_ea(s2);
    for (; strncmp_ea(s1, s2, length) != 0; s1++)
        if (*s1 == 0)
            return NULL;
    return (__ea char *)s1;
}

ssize_ea_t read_ea(int fd, __ea void *buf, size_ea_t count) {
    struct block block;
    size_ea_t done = 0;
    while (done < count) {
        ssize_t some = read(fd, &block, count - done < BLOCK ? count - done : BLOCK);
        if (some < 0)
            return done > 0 ? (ssize_ea_t)done : some;
        for (ssize_t at = 0; at < some; at++)
            ((__ea char *)buf)[done + at] = block.bytes[at];
        done += some;
        if (some < BLOCK)
            break;
    }
    return done;
}

ssize_ea_t write_ea(int fd, __ea const void *buf, size_ea_t count) {
    struct block block;
    size_ea_t done = 0;
    while (done < count) {
        size_ea_t bytes = count - done < BLOCK ? count - done : BLOCK;
        for (size_ea_t at = 0; at < bytes; at++)
            block.bytes[at] = ((__ea const char *)buf)[done + at];
        ssize_t some = write(fd, &block, bytes);
        if (some < 0)
            return done > 0 ? (ssize_ea_t)done : some;
        done += some;
    }
    return done;
}

/* The place in a file stays as it was. */
static off_t moved(int fd, off_t offset) {
    off_t old = lseek(fd, 0, SEEK_CUR);
    return old < 0 || lseek(fd, offset, SEEK_SET) < 0 ? -1 : old;
}

ssize_ea_t pread_ea(int fd, __ea void *buf, size_ea_t count, off_t offset) {
    off_t old = moved(fd, offset);
    ssize_ea_t done = old < 0 ? -1 : read_ea(fd, buf, count);
    if (old >= 0)
        lseek(fd, old, SEEK_SET);
    return done;
}

ssize_ea_t pwrite_ea(int fd, __ea const void *buf, size_ea_t count, off_t offset) {
    off_t old = moved(fd, offset);
    ssize_ea_t done = old < 0 ? -1 : write_ea(fd, buf, count);
    if (old >= 0)
        lseek(fd, old, SEEK_SET);
    return done;
}
