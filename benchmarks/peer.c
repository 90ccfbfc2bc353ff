/* A stand-in for Claude Code 2.1.332 that costs next to nothing, so that what is measured is the SDK in front of it.
 *
 * It answers every control request at once. A prompt with "bench: key=value ..." in it scripts one turn:
 *   n=COUNT kind=delta|assistant|stamp size=CHARACTERS gap=MICROSECONDS   messages, as fast as the pipe takes them
 *   asks=COUNT ask=permission|hook mode=seq|burst                         requests to the host, each answer timed
 *   asks=COUNT ask=tool|hello|ready server=NAME mode=seq|burst            the same to a server of its tools: a call, and
 *                                                                         the two messages of the handshake
 * The result's text says how long the messages and the answers took, in microseconds.
 *
 * Environment: PEER_INIT, bytes of the initialize answer (8192); PEER_EXIT_MS, delay between the end of stdin and the
 * exit; PEER_DUMP, a script whose messages are written at once, without protocol; PEER_ECHO, echo stdin.
 */
#define _GNU_SOURCE
#include <time.h>

#include "peer_pipes.h"

#define SESSION "5f0c2d1e-93b7-4c55-8f5e-6a1d0b7c9e21"

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* -- scripts -- */

struct turn {
    long n, size, gap, asks;
    char kind[16], ask[16], mode[16], server[32], uuid[64];
};

static void read_word(const char *script, const char *key, char *value, size_t room)
{
    char pattern[24];
    int length = snprintf(pattern, sizeof pattern, " %s=", key);
    const char *at = strstr(script, pattern);
    size_t used = 0;
    if (!at)
        return;
    for (at += length; *at && !strchr(" \"\\\n", *at) && used + 1 < room; at++)
        value[used++] = *at;
    value[used] = 0;
}

static long read_number(const char *script, const char *key, long otherwise)
{
    char digits[24] = "";
    read_word(script, key, digits, sizeof digits);
    return digits[0] ? atol(digits) : otherwise;
}

static struct turn parse_turn(const char *script)
{
    struct turn t = {0, 0, 0, 0, "delta", "permission", "seq", "lab", ""};
    t.n = read_number(script, "n", 0);
    t.size = read_number(script, "size", 60);
    t.gap = read_number(script, "gap", 0);
    t.asks = read_number(script, "asks", 0);
    read_word(script, "kind", t.kind, sizeof t.kind);
    read_word(script, "ask", t.ask, sizeof t.ask);
    read_word(script, "mode", t.mode, sizeof t.mode);
    read_word(script, "server", t.server, sizeof t.server);
    return t;
}

/* -- messages -- */

struct message {
    char *text;
    size_t size;
    char *number; /* eight digits inside of the uuid, so that no two lines are the same */
    char *id;     /* eight characters of the id of the API's message, if it has one */
    char *stamp;  /* where the time goes, if it has one */
};

/* Prose as a model writes it to a terminal: quotes and newlines have to be unescaped by whoever decodes it. */
static char *prose(long size)
{
    static const char piece[] = "Here the build stops: \\\"no rule to make target\\\", see line 42 of the Makefile.\\n";
    static const char plain[] = "and then the tests run once more, ";
    char *text = grown(NULL, (size_t)size + sizeof piece + 1);
    long used = 0;
    while (used + (long)sizeof piece - 1 <= size) {
        memcpy(text + used, piece, sizeof piece - 1);
        used += (long)sizeof piece - 1;
    }
    for (long i = 0; used < size; i++, used++)
        text[used] = plain[i % (long)(sizeof plain - 1)]; /* nothing escaped, which the end could cut in two */
    text[size] = 0;
    return text;
}

static struct message make_message(const char *kind, long size)
{
    static const char delta[] =
        "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{"
        "\"type\":\"text_delta\",\"text\":\"%s\"}},\"session_id\":\"" SESSION "\",\"parent_tool_use_id\":null,"
        "\"uuid\":\"00000000-1c9d-4e0f-8a77-3b5d2f6e8c10\"}\n";
    static const char assistant[] =
        "{\"type\":\"assistant\",\"message\":{\"model\":\"claude-opus-5-5\",\"id\":\"msg_01Qm7cT4vLx9bR2sWf8kHdNe\","
        "\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"%s\"}],"
        "\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":9,\"cache_creation_input_tokens\":4411,"
        "\"cache_read_input_tokens\":11873,\"output_tokens\":57,\"service_tier\":\"standard\",\"cache_creation\":{"
        "\"ephemeral_5m_input_tokens\":4411,\"ephemeral_1h_input_tokens\":0}}},\"parent_tool_use_id\":null,"
        "\"session_id\":\"" SESSION "\",\"uuid\":\"00000000-1c9d-4e0f-8a77-3b5d2f6e8c10\"}\n";
    int stamped = !strcmp(kind, "stamp");
    char *text = prose(stamped && size < 20 ? 20 : size);
    size_t room = strlen(text) + sizeof assistant + 64;
    struct message m = {grown(NULL, room), 0, NULL, NULL, NULL};
    m.size = (size_t)snprintf(m.text, room, strcmp(kind, "assistant") ? delta : assistant, text);
    m.number = (char *)memrchr(m.text, '}', m.size) - 37;
    if (!strcmp(kind, "assistant"))
        m.id = strstr(m.text, "\"id\":\"msg_") + 10;
    if (stamped)
        m.stamp = strstr(m.text, "\"text\":\"") + 8;
    free(text);
    return m;
}

static void put_message(struct message *m, long number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%08lx", (unsigned long)number & 0xffffffffUL);
    memcpy(m->number, digits, 8);
    if (m->id)
        memcpy(m->id, digits, 8);
    if (m->stamp) {
        snprintf(digits, sizeof digits, "%020lld", now_ns());
        memcpy(m->stamp, digits, 20);
    }
    put(m->text, m->size);
}

/* -- requests to the host -- */

static long long *asked_at, *answered_after;
static long asks_made, asks_open;
static char hook_id[64] = "hook_0";

/* The message of MCP that a request to a server carries, without its "jsonrpc". */
static void write_mcp(char *text, size_t size, const char *what, long number)
{
    if (!strcmp(what, "hello"))
        snprintf(text, size, "\"method\":\"initialize\",\"id\":0,\"params\":{\"protocolVersion\":\"2025-11-25\","
            "\"capabilities\":{},\"clientInfo\":{\"name\":\"claude-code\",\"version\":\"2.1.332\"}}");
    else if (!strcmp(what, "ready"))
        snprintf(text, size, "\"method\":\"notifications/initialized\"");
    else
        snprintf(text, size, "\"method\":\"tools/call\",\"id\":%ld,\"params\":{\"name\":\"echo\",\"arguments\":{"
            "\"text\":\"hello\"},\"_meta\":{\"claudecode/toolUseId\":\"toolu_01VwKq3nZr6TgYb8PdXsMf2a\","
            "\"progressToken\":%ld}}", number + 1, number + 1);
}

static int write_mcp_ask(char *line, size_t size, const char *what, const char *server, long number)
{
    char message[400];
    write_mcp(message, sizeof message, what, number);
    return snprintf(line, size,
        "{\"type\":\"control_request\",\"request_id\":\"ask-%08ld\",\"request\":{\"subtype\":\"mcp_message\","
        "\"server_name\":\"%s\",\"message\":{\"jsonrpc\":\"2.0\",%s}}}\n", number, server, message);
}

static void put_ask(const char *what, const char *server, long number)
{
    static const char permission[] =
        "{\"type\":\"control_request\",\"request_id\":\"ask-%08ld\",\"request\":{\"subtype\":\"can_use_tool\","
        "\"tool_name\":\"Bash\",\"display_name\":\"Bash\",\"input\":{\"command\":\"make check\",\"description\":\"Run the "
        "checks\"},\"permission_suggestions\":[{\"type\":\"addRules\",\"rules\":[{\"toolName\":\"Bash\",\"ruleContent\":"
        "\"make check\"}],\"behavior\":\"allow\",\"destination\":\"localSettings\"}],"
        "\"tool_use_id\":\"toolu_01VwKq3nZr6TgYb8PdXsMf2a\"}}\n";
    static const char hook[] =
        "{\"type\":\"control_request\",\"request_id\":\"ask-%08ld\",\"request\":{\"subtype\":\"hook_callback\","
        "\"callback_id\":\"%s\",\"input\":{\"session_id\":\"" SESSION "\",\"transcript_path\":\"/tmp/transcript.jsonl\","
        "\"cwd\":\"/srv/project\",\"permission_mode\":\"default\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\","
        "\"tool_input\":{\"command\":\"make check\",\"description\":\"Run the checks\"},"
        "\"tool_use_id\":\"toolu_01VwKq3nZr6TgYb8PdXsMf2a\"},\"tool_use_id\":\"toolu_01VwKq3nZr6TgYb8PdXsMf2a\"}}\n";
    char line[1200];
    int size = !strcmp(what, "permission") ? snprintf(line, sizeof line, permission, number)
        : !strcmp(what, "hook") ? snprintf(line, sizeof line, hook, number, hook_id)
        : write_mcp_ask(line, sizeof line, what, server, number);
    asks_open++;
    asked_at[number] = now_ns();
    put(line, (size_t)size);
}

static void note_answer(const char *line, size_t size)
{
    char id[64];
    if (!text_of(line, size, "\"request_id\"", id, sizeof id) || strncmp(id, "ask-", 4))
        return;
    long number = atol(id + 4);
    if (number < 0 || number >= asks_made || answered_after[number])
        return;
    answered_after[number] = now_ns() - asked_at[number];
    asks_open--;
}

/* -- requests of the host -- */

static void answer_initialize(const char *id)
{
    const char *wanted = getenv("PEER_INIT");
    size_t size = wanted ? (size_t)atol(wanted) : 8192, used;
    char *text = grown(NULL, size + 2048);
    used = (size_t)sprintf(text,
        "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"%s\",\"response\":{"
        "\"agents\":[],\"output_style\":\"default\",\"available_output_styles\":[\"default\"],\"models\":[],"
        "\"account\":{},\"capabilities\":[\"ui_surface_v1\"],\"commands\":[", id);
    for (int i = 0; used < size; i++)
        used += (size_t)sprintf(text + used, "%s{\"name\":\"command-%d\",\"description\":\"Do what the project calls "
            "number %d\",\"argumentHint\":\"[path]\"}", i ? "," : "", i, i);
    used += (size_t)sprintf(text + used, "]}}}\n");
    put(text, used);
    free(text);
}

static void answer(const char *line, size_t size)
{
    char id[128], subtype[64], text[1024];
    text_of(line, size, "\"request_id\"", id, sizeof id);
    text_of(line, size, "\"subtype\"", subtype, sizeof subtype);
    if (!strcmp(subtype, "initialize")) {
        text_of(line, size, "\"hookCallbackIds\"", hook_id, sizeof hook_id);
        answer_initialize(id);
        return;
    }
    const char *payload = strcmp(subtype, "mcp_status") ? "{}"
        : "{\"mcpServers\":[{\"name\":\"files\",\"status\":\"connected\",\"serverInfo\":{\"name\":\"files\","
          "\"version\":\"1.0.0\"},\"scope\":\"project\",\"tools\":[{\"name\":\"read\"}]}]}";
    snprintf(text, sizeof text, "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":"
        "\"%s\",\"response\":%s}}\n", id, payload);
    put_text(text);
}

/* -- prompts wait while a turn runs; control requests are answered at once -- */

static struct turn *prompts;
static size_t prompts_count;

static void note_prompt(const char *line, size_t size)
{
    char *script = memmem(line, size, "bench:", 6);
    prompts = grown(prompts, (prompts_count + 1) * sizeof *prompts);
    struct turn t = parse_turn(script ? script : "");
    if (!text_of(line, size, "\"uuid\"", t.uuid, sizeof t.uuid))
        t.uuid[0] = 0;
    prompts[prompts_count++] = t;
}

static void take_line(const char *line, size_t size)
{
    char kind[32];
    const char *at = memmem(line, size, "\"type\":\"control_re", 18);
    if (!at)
        at = memmem(line, size, "\"type\": \"control_re", 19);
    /* A prompt's own text could hold that too, but escaped. */
    if (!at) {
        if (memmem(line, size, "\"user\"", 6))
            note_prompt(line, size);
        return;
    }
    text_of(at, size - (size_t)(at - line), "\"type\"", kind, sizeof kind);
    if (!strcmp(kind, "control_request"))
        answer(line, size);
    else if (!strcmp(kind, "control_response") && asks_made)
        note_answer(line, size);
}

/* Takes what has come; with `wait` until at least one line has. */
static void listen(int wait)
{
    size_t size;
    char *line;
    int any = 0;
    for (;;) {
        while ((line = next_line(&size))) {
            take_line(line, size);
            any = 1;
        }
        if (in_over || (wait ? any : !input_waits()))
            return;
        if (wait)
            flush_out();
        read_more();
    }
}

/* -- a turn -- */

static void send_messages(const struct turn *t, int deaf)
{
    struct message m = make_message(t->kind, t->size);
    long every = t->size > 4096 ? 1 : 64;
    long long due = now_ns();
    for (long i = 0; i < t->n && !in_over; i++) {
        if (t->gap) {
            due += t->gap * 1000LL;
            struct timespec at = {due / 1000000000LL, due % 1000000000LL};
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        }
        put_message(&m, i);
        if (t->gap)
            flush_out();
        if (!deaf && i % every == 0)
            listen(0);
    }
    free(m.text);
}

static void ask_host(const struct turn *t)
{
    asked_at = calloc((size_t)t->asks, sizeof *asked_at);
    answered_after = calloc((size_t)t->asks, sizeof *answered_after);
    asks_made = t->asks;
    asks_open = 0;
    int one_by_one = strcmp(t->mode, "burst");
    for (long i = 0; i < t->asks && !in_over; i++) {
        put_ask(t->ask, t->server, i);
        while (one_by_one && asks_open && !in_over)
            listen(1);
        if (!one_by_one && i % 32 == 31)
            listen(0);
    }
    while (asks_open && !in_over)
        listen(1);
}

static int by_size(const void *one, const void *other)
{
    long long a = *(const long long *)one, b = *(const long long *)other;
    return (a > b) - (a < b);
}

static void run_turn(struct turn t)
{
    char line[2048], named[96] = "";
    double middle = 0, late = 0;
    if (t.uuid[0])
        snprintf(named, sizeof named, "\"%s\"", t.uuid);
    snprintf(line, sizeof line, "{\"type\":\"system\",\"subtype\":\"init\",\"cwd\":\"/srv/project\",\"session_id\":\""
        SESSION "\",\"tools\":[\"Task\",\"Bash\",\"Edit\",\"Read\",\"WebFetch\",\"Write\"],\"mcp_servers\":[],\"model\":"
        "\"claude-opus-5-5\",\"permissionMode\":\"default\",\"slash_commands\":[\"compact\",\"context\"],"
        "\"apiKeySource\":\"none\",\"claude_code_version\":\"2.1.332\",\"output_style\":\"default\",\"agents\":[],"
        "\"skills\":[],\"plugins\":[],\"user_message_uuids\":[%s],\"uuid\":\"00000001-1c9d-4e0f-8a77-3b5d2f6e8c10\"}\n",
        named);
    put_text(line);
    long long began = now_ns(), sent, ended;
    send_messages(&t, 0);
    sent = now_ns();
    if (t.asks) {
        flush_out();
        sent = now_ns();
        ask_host(&t);
    }
    ended = now_ns();
    if (t.asks) {
        qsort(answered_after, (size_t)t.asks, sizeof *answered_after, by_size);
        middle = (double)answered_after[t.asks / 2] / 1e3;
        late = (double)answered_after[t.asks * 99 / 100] / 1e3;
        free(asked_at);
        free(answered_after);
        asks_made = 0;
    }
    snprintf(line, sizeof line, "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"duration_ms\":%lld,"
        "\"duration_api_ms\":%lld,\"num_turns\":1,\"result\":\"messages=%lld asks=%lld p50=%.1f p99=%.1f\",\"stop_reason\":"
        "\"end_turn\",\"session_id\":\"" SESSION "\",\"total_cost_usd\":0.01,\"usage\":{\"input_tokens\":9,"
        "\"cache_creation_input_tokens\":4411,\"cache_read_input_tokens\":11873,\"output_tokens\":57,\"server_tool_use\":{"
        "\"web_search_requests\":0},\"service_tier\":\"standard\"},\"modelUsage\":{},\"permission_denials\":[],"
        "\"user_message_uuids\":[%s],\"uuid\":\"00000002-1c9d-4e0f-8a77-3b5d2f6e8c10\"}\n",
        (ended - began) / 1000000, (ended - began) / 1000000, (sent - began) / 1000, (ended - sent) / 1000, middle, late,
        named);
    put_text(line);
    flush_out();
}

int main(int count, char **arguments)
{
    const char *script = getenv("PEER_DUMP"), *delay = getenv("PEER_EXIT_MS");
    if (count > 1 && !strcmp(arguments[1], "--version")) {
        puts("2.1.332 (Claude Code)");
        return 0;
    }
    if (script) {
        struct turn t = parse_turn(script);
        send_messages(&t, 1);
        flush_out();
        return 0;
    }
    if (getenv("PEER_ECHO")) {
        static char block[READ_ROOM];
        for (ssize_t size; (size = read(STDIN_FILENO, block, sizeof block)) > 0;)
            write_all(block, (size_t)size);
        return 0;
    }
    while (!in_over) {
        listen(1);
        while (prompts_count) {
            struct turn t = prompts[0];
            memmove(prompts, prompts + 1, --prompts_count * sizeof *prompts);
            run_turn(t);
        }
        flush_out();
    }
    if (delay)
        usleep((useconds_t)atol(delay) * 1000);
    return 0;
}
