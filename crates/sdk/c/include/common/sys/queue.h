/*
 * Lists of elements that hold their own links, as on Linux and the BSDs: SLIST (single links),
 * LIST (double links), STAILQ (single links and a tail) and TAILQ (double links and a tail).
 *
 * LIST and TAILQ keep in each element the address of the pointer that points to the element, so
 * that an element is removed without its list.
 */
#ifndef __CELLWORKS_SYS_QUEUE_H__
#define __CELLWORKS_SYS_QUEUE_H__

/* Single links. */
#define SLIST_HEAD(name, type) struct name { struct type *slh_first; }
#define SLIST_HEAD_INITIALIZER(head) { 0 }
#define SLIST_ENTRY(type) struct { struct type *sle_next; }
#define SLIST_INIT(head) ((void)((head)->slh_first = 0))
#define SLIST_EMPTY(head) ((head)->slh_first == 0)
#define SLIST_FIRST(head) ((head)->slh_first)
#define SLIST_NEXT(element, field) ((element)->field.sle_next)
#define SLIST_FOREACH(at, head, field) \
    for ((at) = SLIST_FIRST(head); (at); (at) = SLIST_NEXT(at, field))
#define SLIST_INSERT_HEAD(head, element, field) do { \
        SLIST_NEXT(element, field) = SLIST_FIRST(head); \
        SLIST_FIRST(head) = (element); \
    } while (0)
#define SLIST_INSERT_AFTER(before, element, field) do { \
        SLIST_NEXT(element, field) = SLIST_NEXT(before, field); \
        SLIST_NEXT(before, field) = (element); \
    } while (0)
#define SLIST_REMOVE_HEAD(head, field) \
    ((void)(SLIST_FIRST(head) = SLIST_NEXT(SLIST_FIRST(head), field)))
#define SLIST_REMOVE(head, element, type, field) do { \
        struct type **link_ = &SLIST_FIRST(head); \
        while (*link_ != (element)) \
            link_ = &SLIST_NEXT(*link_, field); \
        *link_ = SLIST_NEXT(*link_, field); \
    } while (0)

/* Double links. */
#define LIST_HEAD(name, type) struct name { struct type *lh_first; }
#define LIST_HEAD_INITIALIZER(head) { 0 }
#define LIST_ENTRY(type) struct { struct type *le_next; struct type **le_prev; }
#define LIST_INIT(head) ((void)((head)->lh_first = 0))
#define LIST_EMPTY(head) ((head)->lh_first == 0)
#define LIST_FIRST(head) ((head)->lh_first)
#define LIST_NEXT(element, field) ((element)->field.le_next)
#define LIST_FOREACH(at, head, field) \
    for ((at) = LIST_FIRST(head); (at); (at) = LIST_NEXT(at, field))
/* Puts an element where the pointer `link` points. */
#define LIST_PUT_(link, element, field) do { \
        LIST_NEXT(element, field) = *(link); \
        (element)->field.le_prev = (link); \
        if (*(link)) \
            (*(link))->field.le_prev = &LIST_NEXT(element, field); \
        *(link) = (element); \
    } while (0)
#define LIST_INSERT_HEAD(head, element, field) LIST_PUT_(&LIST_FIRST(head), element, field)
#define LIST_INSERT_AFTER(before, element, field) \
    LIST_PUT_(&LIST_NEXT(before, field), element, field)
#define LIST_INSERT_BEFORE(after, element, field) do { \
        (element)->field.le_prev = (after)->field.le_prev; \
        LIST_NEXT(element, field) = (after); \
        *(after)->field.le_prev = (element); \
        (after)->field.le_prev = &LIST_NEXT(element, field); \
    } while (0)
#define LIST_REMOVE(element, field) do { \
        if (LIST_NEXT(element, field)) \
            LIST_NEXT(element, field)->field.le_prev = (element)->field.le_prev; \
        *(element)->field.le_prev = LIST_NEXT(element, field); \
    } while (0)

/* Single links, and the address of the last pointer. */
#define STAILQ_HEAD(name, type) struct name { struct type *stqh_first; struct type **stqh_last; }
#define STAILQ_HEAD_INITIALIZER(head) { 0, &(head).stqh_first }
#define STAILQ_ENTRY(type) struct { struct type *stqe_next; }
#define STAILQ_INIT(head) do { \
        (head)->stqh_first = 0; \
        (head)->stqh_last = &(head)->stqh_first; \
    } while (0)
#define STAILQ_EMPTY(head) ((head)->stqh_first == 0)
#define STAILQ_FIRST(head) ((head)->stqh_first)
#define STAILQ_NEXT(element, field) ((element)->field.stqe_next)
#define STAILQ_FOREACH(at, head, field) \
    for ((at) = STAILQ_FIRST(head); (at); (at) = STAILQ_NEXT(at, field))
#define STAILQ_PUT_(head, link, element, field) do { \
        STAILQ_NEXT(element, field) = *(link); \
        if (STAILQ_NEXT(element, field) == 0) \
            (head)->stqh_last = &STAILQ_NEXT(element, field); \
        *(link) = (element); \
    } while (0)
#define STAILQ_INSERT_HEAD(head, element, field) \
    STAILQ_PUT_(head, &STAILQ_FIRST(head), element, field)
#define STAILQ_INSERT_AFTER(head, before, element, field) \
    STAILQ_PUT_(head, &STAILQ_NEXT(before, field), element, field)
#define STAILQ_INSERT_TAIL(head, element, field) do { \
        STAILQ_NEXT(element, field) = 0; \
        *(head)->stqh_last = (element); \
        (head)->stqh_last = &STAILQ_NEXT(element, field); \
    } while (0)
#define STAILQ_TAKE_(head, link, field) do { \
        *(link) = STAILQ_NEXT(*(link), field); \
        if (*(link) == 0) \
            (head)->stqh_last = (link); \
    } while (0)
#define STAILQ_REMOVE_HEAD(head, field) STAILQ_TAKE_(head, &STAILQ_FIRST(head), field)
#define STAILQ_REMOVE(head, element, type, field) do { \
        struct type **link_ = &STAILQ_FIRST(head); \
        while (*link_ != (element)) \
            link_ = &STAILQ_NEXT(*link_, field); \
        STAILQ_TAKE_(head, link_, field); \
    } while (0)

/* Double links, and the address of the last pointer. The head looks like the links of an
   element. */
#define TAILQ_HEAD(name, type) struct name { struct type *tqh_first; struct type **tqh_last; }
#define TAILQ_HEAD_INITIALIZER(head) { 0, &(head).tqh_first }
#define TAILQ_ENTRY(type) struct { struct type *tqe_next; struct type **tqe_prev; }
#define TAILQ_INIT(head) do { \
        (head)->tqh_first = 0; \
        (head)->tqh_last = &(head)->tqh_first; \
    } while (0)
#define TAILQ_EMPTY(head) ((head)->tqh_first == 0)
#define TAILQ_FIRST(head) ((head)->tqh_first)
#define TAILQ_NEXT(element, field) ((element)->field.tqe_next)
#define TAILQ_LAST(head, name) (*((struct name *)((head)->tqh_last))->tqh_last)
#define TAILQ_PREV(element, name, field) \
    (*((struct name *)((element)->field.tqe_prev))->tqh_last)
#define TAILQ_FOREACH(at, head, field) \
    for ((at) = TAILQ_FIRST(head); (at); (at) = TAILQ_NEXT(at, field))
#define TAILQ_FOREACH_REVERSE(at, head, name, field) \
    for ((at) = TAILQ_LAST(head, name); (at); (at) = TAILQ_PREV(at, name, field))
#define TAILQ_PUT_(head, link, element, field) do { \
        TAILQ_NEXT(element, field) = *(link); \
        (element)->field.tqe_prev = (link); \
        if (*(link)) \
            (*(link))->field.tqe_prev = &TAILQ_NEXT(element, field); \
        else \
            (head)->tqh_last = &TAILQ_NEXT(element, field); \
        *(link) = (element); \
    } while (0)
#define TAILQ_INSERT_HEAD(head, element, field) \
    TAILQ_PUT_(head, &TAILQ_FIRST(head), element, field)
#define TAILQ_INSERT_AFTER(head, before, element, field) \
    TAILQ_PUT_(head, &TAILQ_NEXT(before, field), element, field)
#define TAILQ_INSERT_BEFORE(after, element, field) do { \
        (element)->field.tqe_prev = (after)->field.tqe_prev; \
        TAILQ_NEXT(element, field) = (after); \
        *(after)->field.tqe_prev = (element); \
        (after)->field.tqe_prev = &TAILQ_NEXT(element, field); \
    } while (0)
#define TAILQ_INSERT_TAIL(head, element, field) do { \
        TAILQ_NEXT(element, field) = 0; \
        (element)->field.tqe_prev = (head)->tqh_last; \
        *(head)->tqh_last = (element); \
        (head)->tqh_last = &TAILQ_NEXT(element, field); \
    } while (0)
#define TAILQ_REMOVE(head, element, field) do { \
        if (TAILQ_NEXT(element, field)) \
            TAILQ_NEXT(element, field)->field.tqe_prev = (element)->field.tqe_prev; \
        else \
            (head)->tqh_last = (element)->field.tqe_prev; \
        *(element)->field.tqe_prev = TAILQ_NEXT(element, field); \
    } while (0)

#endif
