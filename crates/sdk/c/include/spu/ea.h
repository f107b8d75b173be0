/* Functions of the C library for memory of the PPU, by their published names. */
#ifndef _EA_H
#define _EA_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned long size_ea_t;
typedef long ssize_ea_t;

/* The memory is from malloc of the PPU. */
extern __ea void *malloc_ea(size_ea_t size);
extern __ea void *calloc_ea(size_ea_t nelem, size_ea_t elsize);
extern __ea void *realloc_ea(__ea void *p, size_ea_t size);
extern void free_ea(__ea void *p);

extern __ea void *memchr_ea(__ea const void *s, int c, size_ea_t n);
extern int memcmp_ea(__ea void *s1, __ea const void *s2, size_ea_t n);
extern __ea void *memcpy_ea(__ea void *dest, __ea const void *src, size_ea_t n);
extern __ea void *memmove_ea(__ea void *dest, __ea const void *src, size_ea_t n);
extern __ea void *memset_ea(__ea void *dest, int c, size_ea_t n);
extern __ea char *strcat_ea(__ea char *dest, __ea const char *src);
extern __ea char *strchr_ea(__ea const char *s, int c);
extern int strcmp_ea(__ea const char *s1, __ea const char *s2);
extern __ea char *strcpy_ea(__ea char *dest, __ea const char *src);
extern size_ea_t strcspn_ea(__ea const char *s, __ea const char *reject);
extern size_ea_t strlen_ea(__ea const char *s);
extern __ea char *strncat_ea(__ea char *dest, __ea const char *src, size_ea_t n);
extern int strncmp_ea(__ea const char *s1, __ea const char *s2, size_ea_t n);
extern __ea char *strncpy_ea(__ea char *dest, __ea const char *src, size_ea_t n);
extern __ea char *strpbrk_ea(__ea const char *s, __ea const char *accept);
extern __ea char *strrchr_ea(__ea const char *s, int c);
extern size_ea_t strspn_ea(__ea const char *s, __ea const char *accept);
extern __ea char *strstr_ea(__ea const char *s1, __ea const char *s2);

extern ssize_ea_t read_ea(int fd, __ea void *buf, size_ea_t count);
extern ssize_ea_t pread_ea(int fd, __ea void *buf, size_ea_t count, off_t offset);
extern ssize_ea_t write_ea(int fd, __ea const void *buf, size_ea_t count);
extern ssize_ea_t pwrite_ea(int fd, __ea const void *buf, size_ea_t count, off_t offset);

#ifdef __cplusplus
}
#endif
#endif
