/* The floor: what starting `bash -c true` costs without any Python. Both streams captured, own session.
   Once: a posix_spawn, both pipes read to their end, waitpid. For each byte on stdin: COUNT times in all, by WORKERS
   threads, each without a pause; prints the nanoseconds. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void once(char *bash, char *text) {
    int out[2], err[2], status;
    char buffer[65536];
    pid_t pid;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char *argv[] = {"bash", "-c", text, NULL};

    if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) exit(1);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, err[1], 2);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    if (posix_spawn(&pid, bash, &actions, &attributes, argv, environ)) exit(1);
    close(out[1]);
    close(err[1]);
    struct pollfd fds[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
    for (int open = 2; open > 0;) {
        poll(fds, 2, -1);
        for (int i = 0; i < 2; i++)
            if (fds[i].fd >= 0 && fds[i].revents && read(fds[i].fd, buffer, sizeof buffer) <= 0) {
                close(fds[i].fd);
                fds[i].fd = -1;
                open--;
            }
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
}

static char *bash, *text;
static atomic_int left;

static void *work(void *nothing) {
    while (atomic_fetch_sub(&left, 1) > 0) once(bash, text);
    return nothing;
}

int main(int argc, char **argv) {
    char go;
    if (argc != 5) return 2;
    bash = argv[1];
    text = argv[2];
    int workers = atoi(argv[3]), count = atoi(argv[4]);
    pthread_t threads[workers];
    while (read(0, &go, 1) == 1) {
        long long start = now();
        left = count;
        for (int i = 1; i < workers; i++)
            if (pthread_create(&threads[i], NULL, work, NULL)) return 1;
        work(NULL);
        for (int i = 1; i < workers; i++) pthread_join(threads[i], NULL);
        printf("%lld\n", now() - start);
        fflush(stdout);
    }
    return 0;
}
