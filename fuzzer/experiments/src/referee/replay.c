/* Replays inputs on one function and has libgcov write the branches that they cover. Not instrumented itself.
 *
 *     program REQUEST LIMIT_MS MEMORY_BYTES
 *
 * REQUEST holds 64-bit numbers: the number of counter arrays, and for each the distance of its address from that of
 * main and its size; the number of inputs, and for each its size and whether a snapshot is taken after it. Then come
 * the inputs themselves. The program writes 0.gcda, 1.gcda, ... (one for each snapshot) and `statuses`, a byte for each
 * input, to the working directory.
 *
 * This process, the watcher, never calls the function. A child of it, the worker, runs one input after the other. If
 * the worker dies, or an input takes too long, the next worker continues after that input. They share the pages of the
 * counters, so no count is lost however a worker ends. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Sources with a main of their own are compiled with another name for it; this one is the program's. */
#undef main

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);
/* Set by the decoder of arguments when the call was left because it accessed memory of unknown size. */
extern volatile int penfuzz_was_rejected __attribute__((weak));
void __gcov_dump(void);
void __gcov_reset(void);
int main(int argc, char **argv);

enum { RETURNED, ENDED, FAULTED, HUNG, REJECTED };  /* statuses of inputs */
enum { FILE_BYTES = 64 << 20 };                     /* a target may not fill the disk */
enum { START_MS = 10000 };                          /* for what LLVMFuzzerInitialize does, on a loaded machine */
enum { HANGS_PER_HALVING = 8, LEAST_LIMIT_MS = 20 }; /* so that a corpus of hangs comes to an end */

struct span { int64_t offset; uint64_t size; };
struct input { uint64_t size, snapshot; };

/* State that both processes write; its pages are shared. */
struct progress {
  volatile uint64_t next;     /* the input that runs, or will */
  volatile uint64_t began;    /* when it began, in ns */
  volatile uint64_t snapshots;
  volatile uint64_t started;  /* an input has been run */
};

/* Located on the watcher's stack: a global variable could be on the pages that are shared. */
struct job {
  const struct span *spans;
  uint64_t span_count;
  const struct input *inputs;
  uint64_t input_count;
  const unsigned char *bytes; /* of the next input */
  uint64_t counter_bytes;     /* of all spans together */
  unsigned char *pages, *pristine;
  size_t page_bytes;
  struct progress *progress;
  unsigned char *before;      /* the counters when the running input began */
  unsigned char *snapshots;
  unsigned char *statuses;
  uint64_t limit, least_limit, hangs; /* ns */
  rlim_t memory;
};

static void die(const char *what) {
  perror(what);
  _exit(1);
}

static void *shared(size_t size) {
  void *p = mmap(NULL, size ? size : 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) die("mmap");
  return p;
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static unsigned char *at(const struct span *span) {
  return (unsigned char *)((intptr_t)&main + span->offset);
}

static void save(const struct job *job, unsigned char *to) {
  for (uint64_t i = 0; i < job->span_count; to += job->spans[i++].size)
    memcpy(to, at(&job->spans[i]), job->spans[i].size);
}

static void load(const struct job *job, const unsigned char *from) {
  for (uint64_t i = 0; i < job->span_count; from += job->spans[i++].size)
    memcpy(at(&job->spans[i]), from, job->spans[i].size);
}

static void read_request(struct job *job, const char *path) {
  int file = open(path, O_RDONLY);
  struct stat stat;
  if (file < 0 || fstat(file, &stat)) die(path);
  const uint64_t *words = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  if (words == MAP_FAILED) die(path);
  close(file);
  job->span_count = *words++;
  job->spans = (const struct span *)words;
  words += 2 * job->span_count;
  job->input_count = *words++;
  job->inputs = (const struct input *)words;
  job->bytes = (const unsigned char *)(words + 2 * job->input_count);
}

/* Moves the pages of all counters into shared memory, at the same addresses. */
static void share_counters(struct job *job) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), low = UINTPTR_MAX, high = 0;
  for (uint64_t i = 0; i < job->span_count; i++) {
    uintptr_t first = (uintptr_t)at(&job->spans[i]), end = first + job->spans[i].size;
    low = first < low ? first : low;
    high = end > high ? end : high;
    job->counter_bytes += job->spans[i].size;
  }
  low &= ~(page - 1);
  high = (high + page - 1) & ~(page - 1);
  job->pages = (unsigned char *)low;
  job->page_bytes = high - low;
  job->pristine = shared(job->page_bytes);
  memcpy(job->pristine, job->pages, job->page_bytes);
  /* In one step, because the addresses of functions of the C library may be on these pages, too. */
  void *copy = shared(job->page_bytes);
  memcpy(copy, job->pages, job->page_bytes);
  if (mremap(copy, job->page_bytes, job->page_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, job->pages) == MAP_FAILED)
    die("mremap");
}

static void prepare(struct job *job) {
  uint64_t snapshots = 0;
  for (uint64_t i = 0; i < job->input_count; i++) snapshots += job->inputs[i].snapshot;
  job->progress = shared(sizeof *job->progress);
  job->before = shared(job->counter_bytes);
  job->snapshots = shared(snapshots * job->counter_bytes);
  job->statuses = shared(job->input_count);
}

/* Records the status of the running input. */
static void finish(const struct job *job, int status) {
  struct progress *progress = job->progress;
  job->statuses[progress->next] = (unsigned char)status;
  if (job->inputs[progress->next].snapshot) save(job, job->snapshots + job->counter_bytes * progress->snapshots++);
  progress->began = now();
  progress->next++;
}

static void limit(int resource, rlim_t most) {
  struct rlimit r;
  getrlimit(resource, &r);
  r.rlim_cur = r.rlim_max = most < r.rlim_max ? most : r.rlim_max;
  setrlimit(resource, &r);
}

static void work(struct job *job, pid_t watcher) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != watcher) _exit(1);
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  /* The parent process keeps the output of this program. */
  int nothing = open("/dev/null", O_RDWR);
  if (nothing < 0 || dup2(nothing, 1) < 0 || dup2(nothing, 2) < 0 || close(nothing) || chdir("scratch")) _exit(1);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, FILE_BYTES);
  limit(RLIMIT_AS, job->memory);
  pid_t self = getpid();
  if (LLVMFuzzerInitialize) {
    char name[] = "target", *arguments[] = {name, NULL}, **argv = arguments;
    int argc = 1;
    LLVMFuzzerInitialize(&argc, &argv);
  }
  while (job->progress->next < job->input_count) {
    size_t size = job->inputs[job->progress->next].size;
    /* A block of exactly this size, as in libFuzzer. */
    unsigned char *data = malloc(size ? size : 1);
    if (!data) _exit(1);
    memcpy(data, job->bytes, size);
    save(job, job->before);
    fesetenv(FE_DFL_ENV);
    errno = 0;
    job->progress->started = 1;
    job->progress->began = now();
    LLVMFuzzerTestOneInput(data, size);
    /* A process that the target has forked must not continue here. */
    if (getpid() != self) _exit(0);
    free(data);
    job->bytes += size;
    /* The branches of a rejected input do not count, and gcov would infer wrong counts from a call that was left in the
     * middle of a function. */
    int is_rejected = &penfuzz_was_rejected && penfuzz_was_rejected;
    if (is_rejected) load(job, job->before);
    finish(job, is_rejected ? REJECTED : RETURNED);
  }
  _exit(0);
}

static int is_late(const struct job *job) {
  uint64_t time = now(), limit = job->progress->started ? job->limit : START_MS * 1000000ull;
  return time > job->progress->began && time - job->progress->began >= limit;
}

/* Waits until the worker ends, and kills it if an input takes too long. Returns its status as of wait(). */
static int watch(const struct job *job, pid_t worker, int *is_hung) {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  const struct timespec pause = {(time_t)(job->limit / 4 / 1000000000u), (long)(job->limit / 4 % 1000000000u)};
  for (;;) {
    int status;
    if (waitpid(worker, &status, WNOHANG) == worker) return status;
    sigtimedwait(&child, NULL, &pause);
    if (!is_late(job)) continue;
    /* The worker is stopped first, so that the input that is killed is the late one and not the next. */
    kill(worker, SIGSTOP);
    if (waitpid(worker, &status, WUNTRACED) == worker && !WIFSTOPPED(status)) return status;
    if (!is_late(job)) {
      kill(worker, SIGCONT);
      continue;
    }
    *is_hung = 1;
    kill(worker, SIGKILL);
    waitpid(worker, &status, 0);
    return status;
  }
}

/* Completes an input that ended its worker. One that ended the process by a call keeps its counts: in gcov's graph a
 * call need not return. One that was interrupted between two counters loses them: gcov interprets counters as a flow
 * and would report branches that were not taken. */
static void bury(struct job *job, int status, int is_hung) {
  int has_ended = !is_hung && (WIFEXITED(status) || (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
  if (!has_ended) load(job, job->before);
  uint64_t size = job->inputs[job->progress->next].size;
  finish(job, is_hung ? HUNG : has_ended ? ENDED : FAULTED);
  job->bytes += size;
  job->hangs += (uint64_t)is_hung;
  if (is_hung && job->hangs % HANGS_PER_HALVING == 0 && job->limit / 2 >= job->least_limit) job->limit /= 2;
}

/* Resets all variables on the pages of the counters to their first values, except for the counters. */
static void restore(const struct job *job) {
  save(job, job->before);
  memcpy(job->pages, job->pristine, job->page_bytes);
  load(job, job->before);
}

static void replay(struct job *job) {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, NULL);
  pid_t watcher = getpid();
  while (job->progress->next < job->input_count) {
    uint64_t first = job->progress->next;
    job->progress->began = now();
    job->progress->started = 0;
    pid_t worker = fork();
    if (worker < 0) die("fork");
    if (worker == 0) work(job, watcher);
    setpgid(worker, worker);
    int is_hung = 0, status = watch(job, worker, &is_hung);
    /* Processes that the target has started are killed, too. */
    kill(-worker, SIGKILL);
    if (!job->progress->started) {
      fprintf(stderr, "the program ends before its first input\n");
      _exit(1);
    }
    for (; first < job->progress->next; first++) job->bytes += job->inputs[first].size;
    if (job->progress->next < job->input_count) bury(job, status, is_hung);
    restore(job);
  }
}

/* Writes one file of libgcov for each snapshot. */
static void dump(const struct job *job) {
  char name[32];
  setenv("GCOV_PREFIX", ".", 1);
  for (uint64_t i = 0; i < job->progress->snapshots; i++) {
    __gcov_reset();
    load(job, job->snapshots + i * job->counter_bytes);
    __gcov_dump();
    snprintf(name, sizeof name, "%llu.gcda", (unsigned long long)i);
    if (rename("measured.gcda", name)) die("measured.gcda");
  }
  int file = open("statuses", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || write(file, job->statuses, job->input_count) != (ssize_t)job->input_count || close(file))
    die("statuses");
}

int main(int argc, char **argv) {
  struct job job = {0};
  if (argc != 4) return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  read_request(&job, argv[1]);
  uint64_t least = LEAST_LIMIT_MS * 1000000ull;
  job.limit = strtoull(argv[2], NULL, 10) * 1000000u;
  job.least_limit = least < job.limit ? least : job.limit;
  job.memory = strtoull(argv[3], NULL, 10);
  share_counters(&job);
  prepare(&job);
  replay(&job);
  dump(&job);
  _exit(0);
}
