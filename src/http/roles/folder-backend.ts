import { join } from 'node:path';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { fileStorage } from '../../storage/index.js';
import { type CalendarQuota, calendarQuota } from '../calendar-quota.js';
import type { Backend } from './backend.js';

/** A folder of this machine, and counts in the memory of this process: all that one process needs. */
export function folderBackend(data: string): Backend {
  const storage = fileStorage(data);
  const quotas: CalendarQuota[] = [];
  return {
    storage,
    uploads: { directory: join(data, 'uploads') },
    limiters(settings) {
      const quota = settings.quota && calendarQuota({ ...settings.quota, storage });
      if (quota) quotas.push(quota);
      const requests = settings.requestsPerMinute;
      return {
        ...(requests && { rateLimiter: perMinute(requests) }),
        ...(quota && { quota }),
        wrongKeyLimiter: perMinute(settings.wrongKeysPerMinute),
      };
    },
    forget: async () => undefined, // the quota is a record of the storage, the rest is gone within a minute
    checks: [
      {
        otherwise: 'the folder of jobs and models cannot be read',
        check: () => storage.listKeys('jobs', { limit: 1 }),
      },
    ],
    async close() {
      await Promise.all(quotas.map((each) => each.close()));
      await storage.close();
    },
  };
}

function perMinute(points: number): RateLimiterMemory {
  return new RateLimiterMemory({ points, duration: 60 });
}
