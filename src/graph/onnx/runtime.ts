import { dirname } from 'node:path';
import type { InferenceSession } from 'onnxruntime-node';
import type { ExecutionProvider } from '../../device-names.js';
import { requireFor } from '../../own-files.js';
import { turnTelemetryOff } from '../../runtime-telemetry.js';
import type { StoredWeights } from '../stored-weights.js';
import { deviceWork } from './device-work.js';
import { runtimeFailure } from './runtime-failure.js';

export type Runtime = typeof import('onnxruntime-node');

/**
 * Loaded with the first session, so that the application's own thread needn't wait for it if workers compute.
 */
let runtime: Runtime | undefined;

/** @throws InstallationError where the package or its native library is missing, or doesn't fit the system. */
export async function loadRuntime(): Promise<Runtime> {
  if (runtime !== undefined) return runtime;
  await turnTelemetryOff();
  try {
    // It is CommonJS: an import would parse each of its files once more, for the names that they export.
    const loaded: Runtime = requireFor('onnxruntime-node')('onnxruntime-node');
    runtime = loaded;
    return loaded;
  } catch (thrown) {
    throw runtimeFailure(thrown);
  }
}

/** Where and how a session computes. */
export interface SessionSettings {
  readonly provider: ExecutionProvider;
  readonly threads: number;
  readonly idleSpinning: boolean;
  readonly spinning: boolean;
  /** Path of the profile that the runtime writes, without its ending; none where undefined. */
  readonly profile?: string | undefined;
}

/** What one session needs besides. */
export interface SessionNeeds {
  /** Weights of the model that lie in a file. Default: none. */
  readonly stored?: StoredWeights | undefined;
  /** Default: every output is written to the processor's memory. */
  readonly preferredOutputLocation?: NonNullable<InferenceSession.SessionOptions['preferredOutputLocation']>;
}

/**
 * @param model the path or the bytes of an ONNX model.
 * @throws RangeError for a provider that the runtime lacks; DeviceError for a device that doesn't start
 */
export async function createSession(
  { InferenceSession, listSupportedBackends }: Runtime,
  model: string | Uint8Array,
  { provider, threads, idleSpinning, spinning, profile }: SessionSettings,
  { stored, ...places }: SessionNeeds = {},
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
    extra: {
      session: {
        ...(!idleSpinning && { force_spinning_stop: '1' }),
        ...(!spinning && { intra_op: { allow_spinning: '0' } }),
        ...(stored && storedSettings(stored)),
      },
    },
    ...places,
  };
  return deviceWork(provider, 'start', () =>
    typeof model === 'string'
      ? InferenceSession.create(model, options)
      : InferenceSession.create(model, options),
  );
}

/**
 * The runtime maps the file into memory, where all sessions, threads and processes share it. Prepacking would give each
 * session a copy after all, one for each layer's forward and another for its backward product.
 */
function storedSettings({ file }: StoredWeights): Readonly<Record<string, string>> {
  return { model_external_initializers_file_folder_path: dirname(file), disable_prepacking: '1' };
}
