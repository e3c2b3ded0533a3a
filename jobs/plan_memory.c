/* jobs/plan_memory.c - see plan_memory.h. */
#include "jobs/plan_memory.h"

#include "runtime/base/alloc.h"

#include <stdio.h>

enum { BLOCK_BYTES = 16 * 1024 };

struct br_plan_memory {
    br_arena *arena;
    br_layout **layouts;
    size_t layout_count, layout_cap;
    br_expr **exprs;
    size_t expr_count, expr_cap;
};

br_plan_memory *br_plan_memory_create(void)
{
    br_plan_memory *memory = BR_NEW(br_plan_memory);
    memory->arena = br_arena_create(BLOCK_BYTES);
    return memory;
}

void br_plan_memory_destroy(br_plan_memory *memory)
{
    if (!memory) return;
    for (size_t i = 0; i < memory->expr_count; i++) br_expr_destroy(memory->exprs[i]);
    for (size_t i = 0; i < memory->layout_count; i++) br_layout_destroy(memory->layouts[i]);
    br_free(memory->exprs);
    br_free(memory->layouts);
    br_arena_destroy(memory->arena);
    br_free(memory);
}

void *br_plan_alloc(br_plan_memory *memory, size_t count, size_t size)
{
    void *mem = br_arena_alloc(memory->arena, count * size);
    memset(mem, 0, count * size);
    return mem;
}

const char *br_plan_text(br_plan_memory *memory, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    char *text = br_arena_alloc(memory->arena, (size_t)len + 1);
    (void)vsnprintf(text, (size_t)len + 1, fmt, again);
    va_end(again);
    va_end(args);
    return text;
}

br_layout *br_plan_layout(br_plan_memory *memory)
{
    br_layout *layout = br_layout_create();
    memory->layouts = br_grow(memory->layouts, &memory->layout_cap, memory->layout_count + 1,
                              sizeof(br_layout *));
    memory->layouts[memory->layout_count++] = layout;
    return layout;
}

br_expr *br_plan_keep_expr(br_plan_memory *memory, br_expr *expr)
{
    memory->exprs =
        br_grow(memory->exprs, &memory->expr_cap, memory->expr_count + 1, sizeof(br_expr *));
    memory->exprs[memory->expr_count++] = expr;
    return expr;
}
