/* Both ends of the stand-in's pipes: lines come in, and what goes out is collected. Included by peer.c alone. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUT_ROOM 65536
#define READ_ROOM 65536

static void *grown(void *block, size_t size)
{
    void *bigger = realloc(block, size);
    if (!bigger)
        _exit(4);
    return bigger;
}

/* -- output: collected to 64 KiB, and flushed before every wait -- */

static char out[OUT_ROOM];
static size_t out_used;

static void write_all(const char *data, size_t size)
{
    while (size) {
        ssize_t done = write(STDOUT_FILENO, data, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            _exit(3); /* the host is gone */
        data += done;
        size -= (size_t)done;
    }
}

static void flush_out(void)
{
    write_all(out, out_used);
    out_used = 0;
}

static void put(const char *data, size_t size)
{
    if (out_used + size > OUT_ROOM)
        flush_out();
    if (size > OUT_ROOM) {
        write_all(data, size);
        return;
    }
    memcpy(out + out_used, data, size);
    out_used += size;
}

static void put_text(const char *text)
{
    put(text, strlen(text));
}

/* -- input: one buffer, cut into lines in place -- */

static char *in;
static size_t in_start, in_scan, in_end, in_room;
static int in_over;

static int input_waits(void)
{
    struct pollfd one = {STDIN_FILENO, POLLIN, 0};
    return poll(&one, 1, 0) > 0;
}

static void read_more(void)
{
    if (in_start) {
        memmove(in, in + in_start, in_end - in_start);
        in_end -= in_start;
        in_scan -= in_start;
        in_start = 0;
    }
    if (in_room - in_end < READ_ROOM)
        in = grown(in, in_room = in_room * 2 + READ_ROOM);
    ssize_t size = read(STDIN_FILENO, in + in_end, in_room - in_end);
    if (size > 0)
        in_end += (size_t)size;
    else if (size == 0 || errno != EINTR)
        in_over = 1;
}

/* Returns the next whole line, ended by a zero byte, or NULL when more must be read first. */
static char *next_line(size_t *size)
{
    char *end = in_scan < in_end ? memchr(in + in_scan, '\n', in_end - in_scan) : NULL;
    if (!end) {
        in_scan = in_end;
        return NULL;
    }
    char *line = in + in_start;
    *end = 0;
    *size = (size_t)(end - line);
    in_start = in_scan = (size_t)(end + 1 - in);
    return line;
}

/* Copies the string behind `key` and a colon; keys of the host's JSON are unique enough for the first one to count. */
static int text_of(const char *line, size_t size, const char *key, char *value, size_t room)
{
    const char *end = line + size, *at = memmem(line, size, key, strlen(key));
    size_t used = 0;
    value[0] = 0;
    if (!at)
        return 0;
    for (at += strlen(key); at < end && strchr(": [", *at); at++)
        ;
    if (at >= end || *at++ != '"')
        return 0;
    while (at < end && *at != '"' && used + 1 < room)
        value[used++] = *at++;
    value[used] = 0;
    return 1;
}
