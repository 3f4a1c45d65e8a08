import { dirname } from 'node:path';
import { setImmediate } from 'node:timers';
import type { InferenceSession, Tensor } from 'onnxruntime-node';
import {
  DeviceError,
  type ExecutionProvider,
  InstallationError,
  isOrchardError,
  messageOf,
} from '../../contract/index.js';
import { lockDevice, requireFor, turnTelemetryOff } from '../../system/index.js';
import type { StoredWeights } from '../executor.js';

export type Runtime = typeof import('onnxruntime-node');

/** Loaded with the first session, so that the application's own thread needn't wait for it if workers compute. */
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

/** Why it can't be loaded; undefined if it is. */
export async function runtimeProblem(): Promise<InstallationError | undefined> {
  try {
    await loadRuntime();
    return undefined;
  } catch (thrown) {
    if (isOrchardError(thrown) && thrown.code === 'installation') return thrown;
    throw thrown;
  }
}

export interface SessionSettings {
  readonly provider: ExecutionProvider;
  readonly threads: number;
  readonly idleSpinning: boolean;
  readonly spinning: boolean;
  /** Path of the profile that the runtime writes, without its ending; none where undefined. */
  readonly profile?: string | undefined;
}

interface SessionOptions {
  readonly stored?: StoredWeights | undefined;
  /** Default: every output is written to the processor's memory. */
  readonly preferredOutputLocation?: NonNullable<InferenceSession.SessionOptions['preferredOutputLocation']>;
}

/** A session of the runtime. On a device other than the CPU, it takes turns with those of other threads. */
export class Session {
  readonly runtime: Runtime;
  readonly #settings: SessionSettings;
  readonly #session: InferenceSession;
  #isReleased = false;

  private constructor(runtime: Runtime, session: InferenceSession, settings: SessionSettings) {
    this.runtime = runtime;
    this.#session = session;
    this.#settings = settings;
  }

  /** @throws RangeError for a provider that the runtime lacks; DeviceError for a device that doesn't start */
  static async create(
    model: string | Uint8Array,
    settings: SessionSettings,
    { stored, ...places }: SessionOptions = {},
  ): Promise<Session> {
    const runtime = await loadRuntime();
    const { provider, threads, idleSpinning, spinning, profile } = settings;
    const providers = runtime.listSupportedBackends().map(({ name }) => name);
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
      // Failures are thrown; the runtime would write them to the standard error of the application, too.
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
    const create = () =>
      typeof model === 'string'
        ? runtime.InferenceSession.create(model, options)
        : runtime.InferenceSession.create(model, options);
    const session = await deviceWork(provider, 'start', () => withRealImmediate(create));
    return new Session(runtime, session, settings);
  }

  get inputs(): readonly InferenceSession.ValueMetadata[] {
    return this.#session.inputMetadata;
  }

  get outputs(): readonly InferenceSession.ValueMetadata[] {
    return this.#session.outputMetadata;
  }

  requireOpen(): void {
    if (this.#isReleased) throw new Error('the compiled graph was released');
  }

  /** @param fetches tensors to write outputs to. @param before work on the device that precedes the run. */
  run(
    feeds: InferenceSession.FeedsType,
    fetches?: Readonly<Record<string, Tensor>>,
    before?: () => void,
  ): Promise<InferenceSession.ReturnType> {
    const run = () =>
      withRealImmediate(() => (fetches === undefined ? this.#session.run(feeds) : this.#session.run(feeds, fetches)));
    if (this.#settings.provider === 'cpu') return run();
    return deviceWork(this.#settings.provider, 'run', () => {
      before?.();
      return run();
    });
  }

  /** @param before work on the device that precedes the release. @returns whether it was open until now. */
  async release(before: () => void = () => undefined): Promise<boolean> {
    if (this.#isReleased) return false;
    this.#isReleased = true;
    await deviceWork(this.#settings.provider, 'run', async () => {
      before();
      if (this.#settings.profile !== undefined) this.#session.endProfiling();
      await this.#session.release();
    });
    return true;
  }
}

/** The runtime starts its work by the global `setImmediate`, which tests may have replaced by one that waits for them. */
async function withRealImmediate<Value>(work: () => Promise<Value>): Promise<Value> {
  const present = globalThis.setImmediate;
  if (present === setImmediate) return work();
  globalThis.setImmediate = setImmediate;
  try {
    return await work();
  } finally {
    globalThis.setImmediate = present;
  }
}

/** The runtime maps the file, so that all sessions and processes share it; prepacking would copy it. */
function storedSettings({ file }: StoredWeights): Readonly<Record<string, string>> {
  return { model_external_initializers_file_folder_path: dirname(file), disable_prepacking: '1' };
}

/** Takes a turn on a device other than the CPU. @throws DeviceError for whatever the runtime throws there. */
async function deviceWork<Value>(
  provider: ExecutionProvider,
  when: DeviceError['when'],
  work: () => Promise<Value>,
): Promise<Value> {
  if (provider === 'cpu') return work();
  const done = await lockDevice(provider);
  try {
    return await work();
  } catch (cause) {
    throw new DeviceError(provider, when, reasonOf(cause), { cause });
  } finally {
    done();
  }
}

/** The runtime's message, without the place in its own source. */
function reasonOf(thrown: unknown): string {
  const message = messageOf(thrown);
  return message.replace(/^\/\S+:\d+ .* was false\. /s, '');
}

const RUNTIME = 'onnxruntime-node';

interface Machine {
  readonly platform: string;
  readonly arch: string;
}

/** A kind of failure: the pattern of the loader's message, and the advice. */
interface Known {
  readonly sign: RegExp;
  readonly advice: (machine: Machine) => string;
}

const known: readonly Known[] = [
  {
    sign: /loading addons is disabled/,
    advice: () => 'Node.js runs without permission to load native libraries; add --allow-addons to its flags',
  },
  {
    // musl's loader, which Alpine has: the binaries ask for glibc's.
    sign: /Error loading shared library (?:ld-linux|libc\.so|libstdc\+\+|libgcc_s)|Error relocating/,
    advice: (machine) =>
      `onnxruntime has no binary for this platform (${nameOf(machine)} with musl, as in Alpine); use a system with glibc, such as the image node:22-slim`,
  },
  {
    sign: /version [`'"](?:GLIBC|GLIBCXX|CXXABI)_[\d.]+[`'"]? not found/,
    advice: (machine) =>
      `onnxruntime has no binary for this platform (${nameOf(machine)} with a C or C++ library that is too old); use a newer system: glibc 2.28 and libstdc++ of GCC 8 at least, as in Debian 10 or RHEL 8`,
  },
  {
    sign: /libonnxruntime|onnxruntime\.dll/,
    advice: () =>
      `the library next to onnxruntime_binding.node is missing; copy the whole folder node_modules/${RUNTIME}/bin. If a bundler or file tracer left the library out, see docs/bundlers.md in the repository`,
  },
  {
    sign: /lib(?:stdc\+\+|gcc_s)\.so/,
    advice: () =>
      'the system lacks the C++ library; install it (Debian: apt-get install libstdc++6), or use an image that has it, such as node:22-slim or distroless/nodejs22 on Debian',
  },
];

/** The failure in words that say what to do. */
export function runtimeFailure(thrown: unknown, machine: Machine = process): InstallationError {
  const message = messageOf(thrown);
  return new InstallationError(RUNTIME, adviceFor(message, machine), { cause: thrown });
}

function adviceFor(message: string, machine: Machine): string {
  if (/Cannot find (?:module|package) ['"]onnxruntime-node['"]/.test(message)) {
    return [
      `the package is not installed where this application looks for it; to install it, run npm install --ignore-scripts ${RUNTIME} in the application's folder.`,
      `The package can't be put into a bundle: leave it out (external), and ship node_modules/${RUNTIME} and node_modules/onnxruntime-common with the bundle (docs/bundlers.md in the repository)`,
    ].join(' ');
  }
  if (/Cannot find module .*onnxruntime_binding\.node/.test(message)) {
    return `onnxruntime has no binary for this platform (${nameOf(machine)}), or its folder node_modules/${RUNTIME}/bin was left out; there are binaries for Linux and Windows on x64 and arm64, and for macOS on arm64`;
  }
  const found = known.find(({ sign }) => sign.test(message));
  return found?.advice(machine) ?? `its native library can't be loaded on ${nameOf(machine)}: ${message}`;
}

const nameOf = ({ platform, arch }: Machine): string => `${platform} ${arch}`;
