/* Linked lists as macros, by the names of the BSD systems, which the C library of a Cell has too.
 *
 * SLIST: single links. LIST: links in both directions. STAILQ: single links and an end. TAILQ: both.
 */
#ifndef __SYS_QUEUE_H__
#define __SYS_QUEUE_H__

#define SLIST_HEAD(name, type) struct name { struct type *slh_first; }
#define SLIST_HEAD_INITIALIZER(head) { 0 }
#define SLIST_ENTRY(type) struct { struct type *sle_next; }
#define SLIST_INIT(head) ((void)((head)->slh_first = 0))
#define SLIST_EMPTY(head) ((head)->slh_first == 0)
#define SLIST_FIRST(head) ((head)->slh_first)
#define SLIST_NEXT(item, link) ((item)->link.sle_next)
#define SLIST_FOREACH(item, head, link) for ((item) = SLIST_FIRST(head); (item); (item) = SLIST_NEXT(item, link))
#define SLIST_INSERT_HEAD(head, item, link) \
  do { (item)->link.sle_next = (head)->slh_first; (head)->slh_first = (item); } while (0)
#define SLIST_INSERT_AFTER(before, item, link) \
  do { (item)->link.sle_next = (before)->link.sle_next; (before)->link.sle_next = (item); } while (0)
#define SLIST_REMOVE_HEAD(head, link) ((void)((head)->slh_first = (head)->slh_first->link.sle_next))
#define SLIST_REMOVE(head, item, type, link) \
  do { \
    struct type **__at = &(head)->slh_first; \
    while (*__at != (item)) __at = &(*__at)->link.sle_next; \
    *__at = (*__at)->link.sle_next; \
  } while (0)

#define LIST_HEAD(name, type) struct name { struct type *lh_first; }
#define LIST_HEAD_INITIALIZER(head) { 0 }
#define LIST_ENTRY(type) struct { struct type *le_next; struct type **le_prev; }
#define LIST_INIT(head) ((void)((head)->lh_first = 0))
#define LIST_EMPTY(head) ((head)->lh_first == 0)
#define LIST_FIRST(head) ((head)->lh_first)
#define LIST_NEXT(item, link) ((item)->link.le_next)
#define LIST_FOREACH(item, head, link) for ((item) = LIST_FIRST(head); (item); (item) = LIST_NEXT(item, link))
#define __CW_LIST_INSERT(at, item, link) \
  do { \
    if (((item)->link.le_next = *(at)) != 0) (item)->link.le_next->link.le_prev = &(item)->link.le_next; \
    (item)->link.le_prev = (at); \
    *(item)->link.le_prev = (item); \
  } while (0)
#define LIST_INSERT_HEAD(head, item, link) __CW_LIST_INSERT(&(head)->lh_first, item, link)
#define LIST_INSERT_AFTER(before, item, link) __CW_LIST_INSERT(&(before)->link.le_next, item, link)
#define LIST_INSERT_BEFORE(after, item, link) \
  do { \
    (item)->link.le_prev = (after)->link.le_prev, (item)->link.le_next = (after); \
    *(item)->link.le_prev = (item), (after)->link.le_prev = &(item)->link.le_next; \
  } while (0)
#define LIST_REMOVE(item, link) \
  do { \
    if ((item)->link.le_next) (item)->link.le_next->link.le_prev = (item)->link.le_prev; \
    *(item)->link.le_prev = (item)->link.le_next; \
  } while (0)

#define STAILQ_HEAD(name, type) struct name { struct type *stqh_first; struct type **stqh_last; }
#define STAILQ_HEAD_INITIALIZER(head) { 0, &(head).stqh_first }
#define STAILQ_ENTRY(type) struct { struct type *stqe_next; }
#define STAILQ_INIT(head) ((void)((head)->stqh_first = 0, (head)->stqh_last = &(head)->stqh_first))
#define STAILQ_EMPTY(head) ((head)->stqh_first == 0)
#define STAILQ_FIRST(head) ((head)->stqh_first)
#define STAILQ_NEXT(item, link) ((item)->link.stqe_next)
#define STAILQ_FOREACH(item, head, link) for ((item) = STAILQ_FIRST(head); (item); (item) = STAILQ_NEXT(item, link))
#define STAILQ_INSERT_HEAD(head, item, link) \
  do { \
    if (((item)->link.stqe_next = (head)->stqh_first) == 0) (head)->stqh_last = &(item)->link.stqe_next; \
    (head)->stqh_first = (item); \
  } while (0)
#define STAILQ_INSERT_TAIL(head, item, link) \
  do { \
    (item)->link.stqe_next = 0, *(head)->stqh_last = (item); \
    (head)->stqh_last = &(item)->link.stqe_next; \
  } while (0)
#define STAILQ_INSERT_AFTER(head, before, item, link) \
  do { \
    if (((item)->link.stqe_next = (before)->link.stqe_next) == 0) (head)->stqh_last = &(item)->link.stqe_next; \
    (before)->link.stqe_next = (item); \
  } while (0)
#define STAILQ_REMOVE_HEAD(head, link) \
  do { \
    if (((head)->stqh_first = (head)->stqh_first->link.stqe_next) == 0) (head)->stqh_last = &(head)->stqh_first; \
  } while (0)
#define STAILQ_REMOVE(head, item, type, link) \
  do { \
    struct type **__at = &(head)->stqh_first; \
    while (*__at != (item)) __at = &(*__at)->link.stqe_next; \
    if ((*__at = (*__at)->link.stqe_next) == 0) (head)->stqh_last = __at; \
  } while (0)

#define TAILQ_HEAD(name, type) struct name { struct type *tqh_first; struct type **tqh_last; }
#define TAILQ_HEAD_INITIALIZER(head) { 0, &(head).tqh_first }
#define TAILQ_ENTRY(type) struct { struct type *tqe_next; struct type **tqe_prev; }
#define TAILQ_INIT(head) ((void)((head)->tqh_first = 0, (head)->tqh_last = &(head)->tqh_first))
#define TAILQ_EMPTY(head) ((head)->tqh_first == 0)
#define TAILQ_FIRST(head) ((head)->tqh_first)
#define TAILQ_NEXT(item, link) ((item)->link.tqe_next)
/* The address of the last `next` is that of the entry before it: both structures begin with such an address. */
#define TAILQ_LAST(head, name) (*((struct name *)(head)->tqh_last)->tqh_last)
#define TAILQ_PREV(item, name, link) (*((struct name *)(item)->link.tqe_prev)->tqh_last)
#define TAILQ_FOREACH(item, head, link) for ((item) = TAILQ_FIRST(head); (item); (item) = TAILQ_NEXT(item, link))
#define TAILQ_FOREACH_REVERSE(item, head, name, link) \
  for ((item) = TAILQ_LAST(head, name); (item); (item) = TAILQ_PREV(item, name, link))
#define __CW_TAILQ_INSERT(head, at, item, link) \
  do { \
    (item)->link.tqe_prev = (at); \
    if (((item)->link.tqe_next = *(at)) != 0) (item)->link.tqe_next->link.tqe_prev = &(item)->link.tqe_next; \
    else (head)->tqh_last = &(item)->link.tqe_next; \
    *(item)->link.tqe_prev = (item); \
  } while (0)
#define TAILQ_INSERT_HEAD(head, item, link) __CW_TAILQ_INSERT(head, &(head)->tqh_first, item, link)
#define TAILQ_INSERT_TAIL(head, item, link) \
  do { \
    (item)->link.tqe_next = 0, (item)->link.tqe_prev = (head)->tqh_last; \
    *(head)->tqh_last = (item), (head)->tqh_last = &(item)->link.tqe_next; \
  } while (0)
#define TAILQ_INSERT_AFTER(head, before, item, link) __CW_TAILQ_INSERT(head, &(before)->link.tqe_next, item, link)
#define TAILQ_INSERT_BEFORE(after, item, link) \
  do { \
    (item)->link.tqe_prev = (after)->link.tqe_prev, (item)->link.tqe_next = (after); \
    *(item)->link.tqe_prev = (item), (after)->link.tqe_prev = &(item)->link.tqe_next; \
  } while (0)
#define TAILQ_REMOVE(head, item, link) \
  do { \
    if ((item)->link.tqe_next) (item)->link.tqe_next->link.tqe_prev = (item)->link.tqe_prev; \
    else (head)->tqh_last = (item)->link.tqe_prev; \
    *(item)->link.tqe_prev = (item)->link.tqe_next; \
  } while (0)

#endif
