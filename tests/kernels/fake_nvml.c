/* Stands in for libnvidia-ml where there is no GPU: the same C interface, two devices, and a text file
   ($FAKE_NVML) that says what they do. Lines: "util PID TIMESTAMP SM", "context PID", "nosamples". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned pid; unsigned long long stamp; unsigned sm, mem, enc, dec; } Sample;
typedef struct { unsigned pid; unsigned long long memory; unsigned gpu, compute; } Process;
typedef struct { unsigned long long total, free, used; } Memory;

enum { SUCCESS = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7 };

int nvmlInitWithFlags(unsigned flags) { return flags == 0 ? SUCCESS : NOT_SUPPORTED; }
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int code) { return code == NOT_FOUND ? "Not Found" : "Error"; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
  if (index > 1) return NOT_FOUND;
  *device = (void *)(size_t)(index + 1);
  return SUCCESS;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
  *device = (void *)(size_t)(uuid[strlen(uuid) - 1] - '0' + 1);
  return SUCCESS;
}
int nvmlDeviceGetUUID(void *device, char *uuid, unsigned length) {
  snprintf(uuid, length, "GPU-0000-%d", (int)(size_t)device - 1);
  return SUCCESS;
}
int nvmlDeviceGetName(void *device, char *name, unsigned length) {
  (void)device;
  snprintf(name, length, "NVIDIA A100-SXM4-80GB");
  return SUCCESS;
}
int nvmlDeviceGetMemoryInfo(void *device, Memory *memory) {
  (void)device;
  memory->total = 80ULL << 30;
  return SUCCESS;
}

static unsigned read_samples(Sample *samples, unsigned room, unsigned long long since, int *supported) {
  char line[200];
  unsigned found = 0;
  FILE *file = fopen(getenv("FAKE_NVML"), "r");
  *supported = 1;
  while (file && fgets(line, sizeof line, file)) {
    Sample one = {0};
    if (!strncmp(line, "nosamples", 9)) *supported = 0;
    if (sscanf(line, "util %u %llu %u", &one.pid, &one.stamp, &one.sm) == 3 && one.stamp > since) {
      if (samples && found < room) samples[found] = one;
      found++;
    }
  }
  if (file) fclose(file);
  return found;
}

int nvmlDeviceGetProcessUtilization(void *device, Sample *samples, unsigned *count, unsigned long long since) {
  int supported;
  unsigned found = (size_t)device == 1 ? read_samples(samples, *count, since, &supported)
                                       : read_samples(0, 0, ~0ULL, &supported);
  if (!supported) return NOT_SUPPORTED;
  if (!found) return NOT_FOUND;
  *count = found;
  return samples ? SUCCESS : TOO_SMALL;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, Process *processes) {
  char line[200];
  unsigned found = 0, pid;
  FILE *file = (size_t)device == 1 ? fopen(getenv("FAKE_NVML"), "r") : 0;
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "context %u", &pid) == 1) {
      if (processes && found < *count) processes[found] = (Process){pid, 1 << 20, 0, 0};
      found++;
    }
  if (file) fclose(file);
  *count = found;
  return found && !processes ? TOO_SMALL : SUCCESS;
}
