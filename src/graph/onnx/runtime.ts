import { createRequire } from 'node:module';
import type { InferenceSession } from 'onnxruntime-node';
import type { ExecutionProvider } from '../../device-names.js';
import { turnTelemetryOff } from '../../runtime-telemetry.js';
import { deviceWork } from './device-work.js';

export type Runtime = typeof import('onnxruntime-node');

/**
 * Loaded with the first session, so that the application's own thread needn't wait for it if workers compute.
 */
let runtime: Runtime | undefined;

export async function loadRuntime(): Promise<Runtime> {
  if (runtime !== undefined) return runtime;
  await turnTelemetryOff();
  // It is CommonJS: an import would parse each of its files once more, for the names that they export.
  const loaded: Runtime = createRequire(import.meta.url)('onnxruntime-node');
  runtime = loaded;
  return loaded;
}

/** Where and how a session computes. */
export interface SessionSettings {
  readonly provider: ExecutionProvider;
  readonly threads: number;
  readonly idleSpinning: boolean;
  /** Path of the profile that the runtime writes, without its ending; none where undefined. */
  readonly profile?: string | undefined;
}

/**
 * @param model the path or the bytes of an ONNX model.
 * @param more options of the runtime besides those that follow from the settings.
 * @throws RangeError for a provider that the runtime lacks; DeviceError for a device that doesn't start
 */
export async function createSession(
  { InferenceSession, listSupportedBackends }: Runtime,
  model: string | Uint8Array,
  { provider, threads, idleSpinning, profile }: SessionSettings,
  more: InferenceSession.SessionOptions = {},
): Promise<InferenceSession> {
  const providers = listSupportedBackends().map(({ name }) => name);
  if (!providers.includes(provider)) {
    const there = providers.join(', ');
    throw new RangeError(`ONNX Runtime has no provider ${provider} here; use one of ${there}`);
  }
  const options: InferenceSession.SessionOptions = {
    executionProviders: [provider],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    // Without the arena, every intermediate result is allocated anew, which costs more than some operations.
    enableCpuMemArena: true,
    // What fails is thrown; the runtime would write it to the standard error of the application, too.
    logSeverityLevel: 4,
    ...(profile !== undefined && { enableProfiling: true, profileFilePrefix: profile }),
    ...(!idleSpinning && { extra: { session: { force_spinning_stop: '1' } } }),
    ...more,
  };
  return deviceWork(provider, 'start', () =>
    typeof model === 'string'
      ? InferenceSession.create(model, options)
      : InferenceSession.create(model, options),
  );
}
