#include <stdio.h>
#include <string.h>
#include <spu_mfcio.h>

#include <ea.h>
#include <spu_cache.h>

#include "ea-job.h"

static __ea struct job *job;

static int sum(__ea struct node *list) {
    int all = 0;
    for (__ea struct node *at = list; at != NULL; at = at->next) {
        struct three three = at->three;
        all += at->number + three.a + three.b + three.c;
    }
    return all;
}

int main(unsigned long long id, unsigned long long argp, unsigned long long envp) {
    vector unsigned int *there;
    static char kept[32];
    job = (__ea struct job *)(unsigned)argp;
    if (job->wrong == 1)
        return *(__ea int *)((unsigned)job->numbers + 126);
    if (job->wrong == 2)
        return *(__ea int *)16;
    for (int i = job->part; i < 128; i += 2)
        job->shared[i] = job->shared[i] ? job->part + 2 : 1;
    for (int i = 0; i < 10000; i++)
        job->numbers[i] *= 2;
    cache_evict(job->numbers);
    there = cache_fetch(job->numbers);
    if (spu_extract(*there, 1) != job->numbers[1] || ((unsigned)there & 15) != 0)
        printf("there is %d\n", spu_extract(*there, 1));
    cache_touch(job->list);
    strcpy_ea(job->said, job->text);
    strcat_ea(job->said, strchr_ea(job->text, ' '));
    memset_ea(job->said + strlen_ea(job->said) - 1, 'D', 1);
    job->made = malloc_ea(300);
    memset_ea(job->made, 'x', 300);
    memmove_ea(job->made + 5, job->said, strlen_ea(job->said) + 1);
    memmove_ea(job->made + 6, job->made + 5, strlen_ea(job->made) - 3);
    job->made = realloc_ea(job->made, 600);
    if (memcmp_ea(job->made, job->said, 3) <= 0 || strcmp_ea(job->text, job->said) >= 0 || strstr_ea(job->made, job->text) == NULL)
        printf("compared wrongly\n");
    if (job->part == 0) {
        job->list->next->next->number++;
        struct three new = {10, 20, job->list->three.c + 40};
        job->list->next->next->three = new;
    }
    return job->part ? 7 : sum(job->list);
}
