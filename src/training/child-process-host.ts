import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { heapLimit, type Runner, runnerHost, runnerUrl } from './runner-host.js';
import { STOP_SIGNALS } from './stop-signals.js';
import type { TrainingHost, TrainingSpec } from './training-run.js';

/**
 * Trains in a child process: neither a crash of the runtime nor the system's out-of-memory killer can end the
 * caller's. A signal to the group of both processes, as Ctrl-C or systemd sends it, is left to the caller's to follow.
 */
export function childProcessHost(): TrainingHost {
  return runnerHost(startChild);
}

function startChild(spec: TrainingSpec): Runner {
  const heap = heapLimit(spec);
  const execArgv = heap === undefined ? [] : [`--max-old-space-size=${heap}`];
  const child = fork(fileURLToPath(runnerUrl()), { serialization: 'advanced', execArgv });
  return {
    send(message) {
      if (child.connected) child.send(message);
    },
    onMessage: (listener) => child.on('message', listener),
    onExit: (listener) => {
      child.once('exit', (code, signal) => {
        if (code === 0) return listener({});
        const reason = `its process ended with ${signal ?? `exit code ${code}`}`;
        // The child ignores these signals, but for the moment in which it starts.
        const wasStopped = signal !== null && STOP_SIGNALS.includes(signal);
        listener({ reason, wasStopped, hasCrashed: !wasStopped });
      });
    },
  };
}
