import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';

/**
 * Keeps ONNX Runtime from looking up a host of its maker and from writing to the home folder. It reads an environment
 * variable of the process when its first session is made. Other threads than the main one have a copy of the
 * environment, so what they set there doesn't reach it.
 */

const VARIABLE = 'ORT_DISABLE_TELEMETRY';
/** Says to threads that are started later, and to theirs, that the variable is set in the process. */
const MARK = 'orchard-nlp: the telemetry of ONNX Runtime is off';
const MAIN_THREAD_TIMEOUT_MS = 10_000;

/** Call this before starting a thread that may load the runtime. Does nothing outside the main thread. */
export function turnTelemetryOffForThreads(): void {
  if (!isMainThread) return;
  process.env[VARIABLE] = '1';
  setEnvironmentData(MARK, true);
}

/**
 * Await this before loading the runtime, in any thread.
 * @throws Error if this thread can't set the variable and its environment lacks it: the main thread doesn't react for
 *   10 s, or may not be asked (as with Node's `--permission`) and has never started a thread of Orchard's.
 */
export async function turnTelemetryOff(): Promise<void> {
  turnTelemetryOffForThreads();
  if (getEnvironmentData(MARK) === true) return;
  try {
    await setInMainThread();
  } catch (cause) {
    if (process.env[VARIABLE] === '1') return;
    const reason = `the telemetry of ONNX Runtime can't be turned off from this thread: set ${VARIABLE}=1 in the environment of the process`;
    throw new Error(reason, { cause });
  }
  setEnvironmentData(MARK, true);
}

/** The debugger's protocol reaches the main thread without code of ours there, even while it is in a loop. */
async function setInMainThread(): Promise<void> {
  const { Session } = await import('node:inspector');
  const session = new Session();
  session.connectToMainThread();
  const expression = `process.env.${VARIABLE} = '1'`;
  try {
    await new Promise<void>((resolve, reject) => {
      const late = () => reject(new Error(`the main thread did not react for ${MAIN_THREAD_TIMEOUT_MS} ms`));
      const timer = setTimeout(late, MAIN_THREAD_TIMEOUT_MS);
      session.post('Runtime.evaluate', { expression }, (error, answer) => {
        clearTimeout(timer);
        if (error === null && answer.result.value === '1') resolve();
        else reject(error ?? new Error('the main thread could not set it'));
      });
    });
  } finally {
    session.disconnect();
  }
}
