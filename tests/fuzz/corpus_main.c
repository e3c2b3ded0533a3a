/* tests/fuzz/corpus_main.c - runs a fuzz target over the files of folders, without libFuzzer.
 * Usage: fuzz_<target> FOLDER…; fails where there is no file, since then nothing was tested. */
#include "fuzz/fuzz.h"
#include "runtime/base/alloc.h"
#include "runtime/base/bytes.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static void run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    br_buf buf = {0};
    char chunk[4096];
    size_t n;
    while ((n = fread(chunk, 1, sizeof(chunk), file)) > 0) br_buf_add(&buf, chunk, n);
    fclose(file);
    /* An allocation of exactly this size, so that a read behind the end is seen. */
    uint8_t *copy = br_alloc(buf.len);
    if (buf.len > 0) memcpy(copy, buf.data, buf.len);
    (void)LLVMFuzzerTestOneInput(copy, buf.len);
    br_free(copy);
    br_buf_dispose(&buf);
}

static int run_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    if (!dir) {
        perror(folder);
        exit(1);
    }
    int count = 0;
    br_buf path = {0};
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        if (entry->d_name[0] == '.') continue;
        br_buf_reset(&path);
        br_buf_printf(&path, "%s/%s", folder, entry->d_name);
        run_file(br_buf_cstr(&path));
        count++;
    }
    closedir(dir);
    br_buf_dispose(&path);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) count += run_folder(argv[i]);
    printf("%d files\n", count);
    return count > 0 ? 0 : 1;
}
