import { randomUUID } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ClosedError, callResult, type UsedRuntime, validate } from '../contract/index.js';
import {
  changedFolder,
  FolderSnapshot,
  type FolderState,
  type FoundModel,
  folderState,
  type ModelFolderConfig,
  readConfig,
  readUnchanged,
} from '../models/index.js';
import { version as release, TemporaryDirectory } from '../system/index.js';
import { untilAborted } from './calls.js';
import type { InferenceService, Predictions, RequestOptions } from './inference-service.js';
import { CLOSE_MS, createService, type ServiceOptions, type ServiceSettings, serviceSchema } from './service.js';

/**
 * A model is loaded once in a process, however often its folder is opened: what opens it with the same options gets a handle
 * to one service. Folders are the same if their real paths are, and none of the model's files was written in between.
 */

/** How a model is opened. */
export interface OpenOptions {
  readonly service: ServiceOptions;
  /** Called after the model is closed, to remove temporary files. */
  readonly onClose?: (() => Promise<void>) | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface Sharing {
  readonly models: Map<string, SharedModel>;
  /** Closes what is dropped without being closed. A registry that is dropped, too, would no longer do so. */
  readonly dropped: FinalizationRegistry<() => Promise<void>>;
}

/** Development servers evaluate the package's modules again, too. Copies of another release share among themselves. */
const SHARING = Symbol.for(`orchard-nlp.loaded-models ${release}`);

function sharing(): Sharing {
  const known: Sharing | undefined = Reflect.get(globalThis, SHARING);
  if (known !== undefined) return known;
  const dropped = new FinalizationRegistry((close: () => Promise<void>) => void close().catch(() => undefined));
  const made: Sharing = { models: new Map(), dropped };
  Object.defineProperty(globalThis, SHARING, { value: made });
  return made;
}

/** Development servers drop what they made when they evaluate a module again. @param close refers to no part of the owner. */
export function closeWhenDropped(owner: object, close: () => Promise<void>): void {
  sharing().dropped.register(owner, close);
}

interface LoadedFolder {
  readonly config: ModelFolderConfig;
  readonly snapshot: FolderSnapshot;
  readonly runtime: UsedRuntime;
}

/** A loaded model, and how many handles it has. */
class SharedModel {
  readonly service: InferenceService;
  /** Fails for all that wait for it. */
  readonly loaded: Promise<LoadedFolder>;
  readonly #snapshot: FolderSnapshot;
  readonly #key: string;
  #handles = 0;

  private constructor(
    key: string,
    /** Without links: they may lead to another folder when a further thread loads the model. */
    readonly directory: string,
    /** Of the folder. */
    readonly stamp: string,
    version: string,
    settings: ServiceSettings,
  ) {
    this.#key = key;
    const service = createService(settings, settings.isolation !== 'auto');
    this.service = service;
    this.#snapshot = new FolderSnapshot(directory);
    const load = async () => {
      const config = await readConfig(directory);
      await service.warm(directory, version);
      const { runtime = 'onnx' } = service.stats().models.find((model) => model.directory === directory) ?? {};
      return { config, snapshot: this.#snapshot, runtime };
    };
    this.loaded = load();
    // The next that opens the folder tries again.
    this.loaded.catch(() => this.#forget());
  }

  static of(directory: string, { version, stamp }: FolderState, settings: ServiceSettings): SharedModel {
    const key = JSON.stringify([directory, stamp, { ...settings, idleMs: String(settings.idleMs) }]);
    const { models } = sharing();
    const shared = models.get(key) ?? new SharedModel(key, directory, stamp, version, settings);
    models.set(key, shared);
    shared.take();
    return shared;
  }

  /** Counts a handle, also one of another copy of this class. Each calls {@link release} once. */
  take(): void {
    this.#handles += 1;
  }

  /** @param asked what waits for answers. */
  async release(asked: Iterable<Promise<unknown>>): Promise<void> {
    this.#handles -= 1;
    if (this.#handles > 0) {
      await Promise.race([Promise.allSettled(asked), delay(CLOSE_MS, undefined, { ref: false })]);
      return;
    }
    this.#forget();
    await this.service.close();
    this.#snapshot.close();
  }

  #forget(): void {
    const { models } = sharing();
    if (models.get(this.#key) === this) models.delete(this.#key);
  }
}

/** @throws ValidationError, ModelFolderError, MemoryLimitError, AbortedError */
export async function openFolder(
  { name, directory }: FoundModel,
  { service, signal, onClose }: OpenOptions,
): Promise<ModelHandle> {
  const settings = validate(serviceSchema, service);
  const place = await realpath(directory).catch(() => directory);
  const state = folderState(place);
  const open = async (found: FolderState) => {
    const shared = SharedModel.of(place, found, settings);
    const doing = `loading ${name}`;
    const loading = signal ? untilAborted(doing, signal, () => shared.loaded) : shared.loaded;
    const loaded = await callResult(loading, doing);
    if (loaded.isOk()) return new ModelHandle(shared, loaded.value, onClose);
    await shared.release([]);
    throw loaded.error;
  };
  try {
    return await open(state); // a service loads no other version
  } catch (thrown) {
    if (state.version !== '' && folderState(place).version === state.version) throw thrown;
  }
  return (
    await readUnchanged(
      place,
      () => open(folderState(place)),
      (handle) => handle.close(),
    )
  ).value;
}

/** A model in a folder, as it was when it was opened. One that is dropped is closed by the garbage collection. */
export class ModelHandle {
  readonly config: ModelFolderConfig;
  /** What computes its encoder. */
  readonly runtime: UsedRuntime;
  readonly #shared: SharedModel;
  readonly #snapshot: FolderSnapshot;
  /** Calls that have not ended. */
  readonly #asked: Set<Promise<unknown>>;
  readonly #close: () => Promise<void>;
  /** Handles take turns, and none fills the queue for the others. */
  readonly #account = randomUUID();
  #isClosed = false;

  constructor(shared: SharedModel, { config, snapshot, runtime }: LoadedFolder, onClose: OpenOptions['onClose']) {
    const asked = new Set<Promise<unknown>>();
    let closing: Promise<void> | undefined;
    // Doesn't refer to the handle, which could otherwise never be collected.
    this.#close = () => {
      closing ??= shared.release(asked).then(() => onClose?.());
      return closing;
    };
    this.config = config;
    this.runtime = runtime;
    this.#shared = shared;
    this.#snapshot = snapshot;
    this.#asked = asked;
    closeWhenDropped(this, this.#close);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** @throws as {@link InferenceService.predict}. */
  predict(texts: readonly string[], options: RequestOptions): Promise<Predictions> {
    if (this.#isClosed) return Promise.reject(new ClosedError('model'));
    const { service, directory } = this.#shared;
    return this.#count(service.predict(directory, texts, { ...options, account: this.#account }));
  }

  /**
   * What `read` finds in the folder as it was when the model was loaded: in a copy, if the folder has changed.
   * @param names the files that it reads. Default: all
   * @throws ModelFolderError if the folder has changed and there is no snapshot of it
   */
  read<Value>(read: (directory: string) => Promise<Value>, names?: readonly string[]): Promise<Value> {
    return this.#count(this.#read(read, names));
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return this.#close();
  }

  async #read<Value>(read: (directory: string) => Promise<Value>, names?: readonly string[]): Promise<Value> {
    const { directory, stamp } = this.#shared;
    const [now] = await Promise.allSettled([read(directory)]);
    if (folderState(directory).stamp === stamp) {
      if (now.status === 'rejected') throw now.reason;
      return now.value;
    }
    const temporary = new TemporaryDirectory();
    try {
      const copy = join(await temporary.path(), 'model');
      if (!(await this.#snapshot.copyInto(copy, names))) throw changedFolder(directory);
      return await read(copy);
    } finally {
      await temporary.remove();
    }
  }

  #count<Value>(call: Promise<Value>): Promise<Value> {
    this.#asked.add(call);
    const ended = () => void this.#asked.delete(call);
    call.then(ended, ended);
    return call;
  }
}
