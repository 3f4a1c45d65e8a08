import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import { onTestFinished, vi } from 'vitest';

const NAMES = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'clearImmediate'] as const;

/**
 * Fakes timers until the test has ended, those of node:timers too, which the library uses: what it imports from there follows
 * the module's properties once they are synchronised.
 */
export function fakeTimers(options?: Parameters<typeof vi.useFakeTimers>[0]): void {
  const real = NAMES.map((name) => [name, timers[name]] as const);
  vi.useFakeTimers(options);
  for (const name of NAMES) Object.assign(timers, { [name]: globalThis[name] });
  syncBuiltinESMExports();
  onTestFinished(() => {
    vi.useRealTimers();
    Object.assign(timers, Object.fromEntries(real));
    syncBuiltinESMExports();
  });
}
