import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Runner, runnerHost, runnerUrl } from './runner-host.js';
import type { TrainingHost } from './training-run.js';

/**
 * Trains in a child process: neither a crash of the runtime nor the system's out-of-memory killer can end the
 * caller's.
 */
export function childProcessHost(): TrainingHost {
  return runnerHost(startChild);
}

function startChild(): Runner {
  const child = fork(fileURLToPath(runnerUrl()), { serialization: 'advanced', execArgv: [] });
  return {
    send(message) {
      if (child.connected) child.send(message);
    },
    onMessage: (listener) => child.on('message', listener),
    onExit: (listener) => {
      child.once('exit', (code, signal) =>
        listener(code === 0 ? undefined : `its process ended with ${signal ?? `exit code ${code}`}`),
      );
    },
  };
}
