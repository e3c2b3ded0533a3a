/* runtime/restorer.c - see restorer.h. */
#include "runtime/restorer.h"

#include "runtime/base/alloc.h"

#include <pthread.h>

typedef struct task_list {
    br_task **at;
    size_t count, cap;
} task_list;

struct br_restorer {
    bool threaded;
    pthread_t thread;     /* if threaded */
    pthread_mutex_t lock; /* all below */
    pthread_cond_t wake;
    task_list waiting, done;
    br_task *current;
    bool stop;
};

static void push(task_list *list, br_task *task)
{
    list->at = br_grow(list->at, &list->cap, list->count + 1, sizeof(*list->at));
    list->at[list->count++] = task;
}

static br_task *shift(task_list *list)
{
    if (list->count == 0) return NULL;
    br_task *first = list->at[0];
    memmove(list->at, list->at + 1, --list->count * sizeof(*list->at));
    return first;
}

static bool withdraw(task_list *list, const br_task *task)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->at[i] != task) continue;
        memmove(list->at + i, list->at + i + 1, (--list->count - i) * sizeof(*list->at));
        return true;
    }
    return false;
}

/* @locks restorer->lock held on entry and exit, not while restoring. */
static void restore_one(br_restorer *restorer, br_task *task)
{
    restorer->current = task;
    pthread_mutex_unlock(&restorer->lock);
    task->restore_status = br_task_restore(task, &task->restore_err);
    pthread_mutex_lock(&restorer->lock);
    restorer->current = NULL;
    if (atomic_load(&task->abandoned))
        br_task_destroy(task, false);
    else
        push(&restorer->done, task);
}

static void *work(void *arg)
{
    br_restorer *restorer = arg;
    pthread_mutex_lock(&restorer->lock);
    while (!restorer->stop) {
        br_task *task = shift(&restorer->waiting);
        if (task)
            restore_one(restorer, task);
        else
            pthread_cond_wait(&restorer->wake, &restorer->lock);
    }
    pthread_mutex_unlock(&restorer->lock);
    return NULL;
}

br_restorer *br_restorer_create(bool inline_restore)
{
    br_restorer *restorer = BR_NEW(br_restorer);
    pthread_mutex_init(&restorer->lock, NULL);
    pthread_cond_init(&restorer->wake, NULL);
    restorer->threaded = !inline_restore;
    if (inline_restore) return restorer;
    int failed = pthread_create(&restorer->thread, NULL, work, restorer);
    BR_ASSERT(!failed && "a thread can be made at start");
    return restorer;
}

void br_restorer_destroy(br_restorer *restorer)
{
    if (!restorer) return;
    pthread_mutex_lock(&restorer->lock);
    restorer->stop = true;
    if (restorer->current) atomic_store(&restorer->current->abandoned, true);
    pthread_cond_signal(&restorer->wake);
    pthread_mutex_unlock(&restorer->lock);
    if (restorer->threaded) pthread_join(restorer->thread, NULL);
    for (br_task *task; (task = shift(&restorer->waiting)) != NULL;) br_task_destroy(task, false);
    for (br_task *task; (task = shift(&restorer->done)) != NULL;) br_task_destroy(task, false);
    br_free(restorer->waiting.at);
    br_free(restorer->done.at);
    pthread_cond_destroy(&restorer->wake);
    pthread_mutex_destroy(&restorer->lock);
    br_free(restorer);
}

void br_restorer_add(br_restorer *restorer, br_task *task)
{
    pthread_mutex_lock(&restorer->lock);
    push(&restorer->waiting, task);
    pthread_cond_signal(&restorer->wake);
    pthread_mutex_unlock(&restorer->lock);
}

void br_restorer_abandon(br_restorer *restorer, br_task *task)
{
    pthread_mutex_lock(&restorer->lock);
    if (restorer->current == task)
        atomic_store(&task->abandoned, true);
    else if (withdraw(&restorer->waiting, task) || withdraw(&restorer->done, task))
        br_task_destroy(task, false);
    pthread_mutex_unlock(&restorer->lock);
}

br_task *br_restorer_take(br_restorer *restorer)
{
    pthread_mutex_lock(&restorer->lock);
    br_task *next = restorer->threaded ? NULL : shift(&restorer->waiting);
    if (next) restore_one(restorer, next);
    br_task *task = shift(&restorer->done);
    pthread_mutex_unlock(&restorer->lock);
    return task;
}
