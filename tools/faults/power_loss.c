/* Stops the process after given write calls, so that its files can be copied as a crash leaves them.

   A write call changes a file below the folder of REGROUP_POWER_FOLDER: write, pwrite, rename, link.
   The numbers of the calls are in REGROUP_POWER_STOPS, in order, separated by commas.  At the end the
   number of calls is written to the file REGROUP_POWER_COUNT. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long calls;
static char *stops;

static void count(const char *path) {
    const char *folder = getenv("REGROUP_POWER_FOLDER");
    if (!folder || strncmp(path, folder, strlen(folder)) != 0) return;
    pthread_mutex_lock(&lock);
    if (!stops) stops = getenv("REGROUP_POWER_STOPS") ? getenv("REGROUP_POWER_STOPS") : "";
    calls++;
    if (*stops && strtol(stops, NULL, 10) == calls) {
        stops += strcspn(stops, ",");
        if (*stops) stops++;
        kill(getpid(), SIGSTOP);
    }
    pthread_mutex_unlock(&lock);
}

static void count_descriptor(int descriptor) {
    char link[40], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size > 0) {
        path[size] = 0;
        count(path);
    }
}

#define NEXT(name) static __typeof__(&name) next; if (!next) next = dlsym(RTLD_NEXT, #name)

ssize_t write(int descriptor, const void *data, size_t size) {
    NEXT(write);
    ssize_t written = next(descriptor, data, size);
    count_descriptor(descriptor);
    return written;
}

ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t at) {
    NEXT(pwrite64);
    ssize_t written = next(descriptor, data, size, at);
    count_descriptor(descriptor);
    return written;
}

int rename(const char *from, const char *to) {
    NEXT(rename);
    int result = next(from, to);
    count(to);
    return result;
}

int link(const char *from, const char *to) {
    NEXT(link);
    int result = next(from, to);
    count(to);
    return result;
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    NEXT(linkat);
    int result = next(from_folder, from, to_folder, to, flags);
    count(to);
    return result;
}

__attribute__((destructor)) static void end(void) {
    const char *name = getenv("REGROUP_POWER_COUNT");
    FILE *file = name ? fopen(name, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", calls);
        fclose(file);
    }
}
