/* printf prints vectors, as that of the SDK does: "%vd" four int, "%vf" four float, "%hvd" eight
 * short, "%vc" sixteen char. A letter of `,;:_` before the width separates elements, else a space
 * does, and nothing separates "%vc".
 *
 * Source: AltiVec Technology Programming Interface Manual, 1999, 3.11. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The function of musl, which knows no vectors. */
int __cw_vfprintf(FILE *restrict file, const char *restrict format, va_list arguments);

typedef __vector unsigned char bytes;

/* A conversion: `%`, flags, width and precision, sizes, and a letter. */
struct conversion {
    const char *begin, *sizes, *end;
    char letter, separator;
    int vector, stars, half, longs;
};

/* Reads the conversion after the next `%`. Returns 0 if there is none. */
static int next(const char *format, struct conversion *found) {
    const char *at = strchr(format, '%');
    if (!at)
        return 0;
    *found = (struct conversion){.begin = at++};
    for (; *at && strchr("-+ #0123456789.*'I,;:_", *at); at++) {
        found->stars += *at == '*';
        if (strchr(",;:_", *at))
            found->separator = *at;
    }
    for (found->sizes = at; *at && strchr("hlLjztqv", *at); at++) {
        found->vector |= *at == 'v';
        found->half += *at == 'h';
        found->longs += *at == 'l' ? 1 : *at == 'L' || *at == 'j' || *at == 'q' ? 2 : 0;
    }
    found->letter = *at;
    found->end = at + (*at != 0);
    return 1;
}

static int has_vector(const char *format) {
    struct conversion found;
    for (; next(format, &found); format = found.end)
        if (found.vector)
            return 1;
    return 0;
}

/* Goes past the arguments of a conversion that is no vector. */
static void pass(struct conversion *found, va_list *arguments) {
    for (int star = 0; star < found->stars; star++)
        (void)va_arg(*arguments, int);
    if (found->letter == '%' || found->letter == 0 || found->letter == 'm')
        return;
    if (strchr("aAeEfFgG", found->letter))
        (void)va_arg(*arguments, double);
    else if (found->longs > 1)
        (void)va_arg(*arguments, long long);
    else
        (void)va_arg(*arguments, int);
}

static int one(FILE *file, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int printed = __cw_vfprintf(file, format, arguments);
    va_end(arguments);
    return printed;
}

/* Prints the elements of a vector. */
static int elements(FILE *file, const struct conversion *found, va_list *arguments) {
    char format[48] = "";
    union {
        bytes all;
        signed char chars[16];
        short shorts[8];
        int ints[4];
        long long longs[2];
        float floats[4];
        double doubles[2];
    } vector;
    int printed = 0, real = strchr("aAeEfFgG", found->letter) != NULL, is_signed = strchr("di", found->letter) != NULL;
    int count = real ? (found->longs ? 2 : 4)
                : found->letter == 'c' || found->half > 1 ? 16
                : found->half ? 8
                : found->longs > 1 ? 2 : 4;
    unsigned length = 0;
    for (const char *at = found->begin; at < found->sizes && length < sizeof format - 4; at++)
        if (*at == '*')
            length += snprintf(format + length, sizeof format - 4 - length, "%d", va_arg(*arguments, int));
        else if (!strchr(",;:_", *at))
            format[length++] = *at;
    if (count == 2 && !real)
        format[length++] = 'l', format[length++] = 'l';
    format[length++] = found->letter;
    format[length] = 0;
    vector.all = va_arg(*arguments, bytes);
    for (int at = 0; at < count; at++) {
        if (at && (found->separator || found->letter != 'c'))
            printed += one(file, "%c", found->separator ? found->separator : ' ');
        if (real)
            printed += one(file, format, count == 2 ? vector.doubles[at] : vector.floats[at]);
        else if (count == 2)
            printed += one(file, format, vector.longs[at]);
        else if (count == 4)
            printed += one(file, format, vector.ints[at]);
        else if (count == 8)
            printed += one(file, format, is_signed ? vector.shorts[at] : (unsigned short)vector.shorts[at]);
        else
            printed += one(file, format, is_signed ? vector.chars[at] : (unsigned char)vector.chars[at]);
    }
    return printed;
}

int vfprintf(FILE *restrict file, const char *restrict format, va_list arguments) {
    struct conversion found;
    va_list now, part;
    char *copy;
    int printed = 0, result = 0;
    if (!has_vector(format))
        return __cw_vfprintf(file, format, arguments);
    copy = malloc(strlen(format) + 1);
    if (!copy)
        return -1;
    va_copy(now, arguments);
    /* What is between vectors is printed together. */
    for (;;) {
        const char *at = format;
        va_copy(part, now);
        while (next(at, &found) && !found.vector) {
            pass(&found, &now);
            at = found.end;
        }
        const char *end = next(at, &found) ? found.begin : at + strlen(at);
        memcpy(copy, format, end - format);
        copy[end - format] = 0;
        if ((result = __cw_vfprintf(file, copy, part)) < 0)
            break;
        printed += result;
        if (!*end)
            break;
        printed += elements(file, &found, &now);
        format = found.end;
    }
    free(copy);
    return result < 0 ? result : printed;
}
