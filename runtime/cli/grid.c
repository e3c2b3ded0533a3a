/* runtime/cli/grid.c - see grid.h. */
#include "runtime/cli/grid.h"

#include "runtime/base/alloc.h"

#include <unistd.h>

struct br_grid {
    br_column *columns;
    size_t *widths; /* characters of the widest cell */
    size_t column_count;
    br_buf text; /* all cells, one behind the other */
    size_t *ends;
    size_t cell_count, cell_cap;
};

/* UTF-8 characters, whatever their width on screen. */
static size_t characters(br_bytes text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) n += ((unsigned char)text.data[i] & 0xc0) != 0x80;
    return n;
}

br_grid *br_grid_create(const br_column *columns, size_t count)
{
    BR_ASSERT(count > 0);
    br_grid *grid = BR_NEW(br_grid);
    grid->columns = br_calloc(count, sizeof(*columns));
    grid->widths = br_calloc(count, sizeof(*grid->widths));
    grid->column_count = count;
    br_buf_reserve(&grid->text, 1); /* so that an empty first cell has a place */
    memcpy(grid->columns, columns, count * sizeof(*columns));
    for (size_t i = 0; i < count; i++) grid->widths[i] = characters(br_str(columns[i].title));
    return grid;
}

void br_grid_destroy(br_grid *grid)
{
    if (!grid) return;
    br_free(grid->columns);
    br_free(grid->widths);
    br_buf_dispose(&grid->text);
    br_free(grid->ends);
    br_free(grid);
}

void br_grid_add(br_grid *grid, br_bytes text)
{
    size_t start = grid->text.len;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c < 0x20 || c == 0x7f)
            br_buf_printf(&grid->text, "\\x%02x", (unsigned)c);
        else
            br_buf_addc(&grid->text, text.data[i]);
    }
    size_t column = grid->cell_count % grid->column_count;
    size_t width = characters(br_bytes_of(grid->text.data + start, grid->text.len - start));
    if (width > grid->widths[column]) grid->widths[column] = width;
    grid->ends = br_grow(grid->ends, &grid->cell_cap, grid->cell_count + 1, sizeof(*grid->ends));
    grid->ends[grid->cell_count++] = grid->text.len;
}

void br_grid_printf(br_grid *grid, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    BR_ASSERT(n >= 0 && (size_t)n < sizeof(text));
    br_grid_add(grid, br_bytes_of(text, (size_t)n));
}

static void write_cell(const br_grid *grid, size_t column, br_bytes text, bool aligned, br_buf *out)
{
    bool last = column + 1 == grid->column_count;
    size_t pad = aligned ? grid->widths[column] - characters(text) : 0;
    bool right = grid->columns[column].number;
    if (right) br_buf_printf(out, "%*s", (int)pad, "");
    br_buf_addb(out, text);
    if (last)
        br_buf_addc(out, '\n');
    else if (!aligned)
        br_buf_addc(out, '\t');
    else
        br_buf_printf(out, "%*s", (int)(right ? 2 : pad + 2), "");
}

void br_grid_write(const br_grid *grid, bool aligned, br_buf *out)
{
    BR_ASSERT(grid->column_count > 0);
    for (size_t i = 0; i < grid->column_count; i++)
        write_cell(grid, i, br_str(grid->columns[i].title), aligned, out);
    size_t start = 0;
    for (size_t i = 0; i < grid->cell_count; i++) {
        br_bytes text = br_bytes_of(grid->text.data + start, grid->ends[i] - start);
        write_cell(grid, i % grid->column_count, text, aligned, out);
        start = grid->ends[i];
    }
}

void br_grid_print(const br_grid *grid, FILE *file)
{
    br_buf text = {0};
    br_grid_write(grid, isatty(fileno(file)) == 1, &text);
    (void)fwrite(text.data, 1, text.len, file); /* br_cli_main checks standard output */
    br_buf_dispose(&text);
}
