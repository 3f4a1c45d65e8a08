import { copyFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import {
  AbortedError,
  callResult,
  isOrchardError,
  ModelDownloadError,
  messageOf,
  NotFoundError,
  type OrchardError,
  type UsageTerms,
  ValidationError,
  validate,
} from '../contract/index.js';
import { download, ensureDirectory, flushTree, move, NetworkFailure, requirePath } from '../system/index.js';
import {
  type CatalogueKind,
  type CataloguePlace,
  type PublishedFile,
  type PublishedModel,
  placesOf,
  publishedModel,
  publishedModels,
  pullCommand,
  pulledModels,
} from './catalogue-models.js';
import { checksumOf, downloadLocks, fetchChecked } from './checked-download.js';
import { isDirectory, type ModelProgress } from './model-loader.js';

const FROM = 'ORCHARD_MODELS_FROM';

/** Where pulled models are kept. */
export interface PulledPlace {
  /**
   * The folder for pulled models, which has a subfolder for each version of their package. Default:
   * ORCHARD_MODELS_DIRECTORY, otherwise `orchard-nlp/models` in XDG_CACHE_HOME or ~/.cache; `catalogueModels` and
   * `catalogueBackbones` find pulled models only in this default.
   */
  readonly directory?: string;
}

/** A published model or backbone. */
export interface ListedModel {
  readonly name: string;
  readonly kind: CatalogueKind;
  /** The size of all its files, in bytes. */
  readonly bytes: number;
  /** Its folder on this machine. Absent if it is not on this machine. Its card is README.md in this folder. */
  readonly directory?: string;
  /** `package`: in an installed package, or in a clone's `models/`; `pulled`: where `pullModel` has put it. */
  readonly source?: CataloguePlace['source'];
  /** What its training data allow. Absent: any use. */
  readonly licence?: UsageTerms;
}

/** Options of {@link pullModel}. */
export interface PullOptions extends PulledPlace {
  /**
   * The path, `file:` or `http(s):` URL of a folder with `catalogue/` and `backbones/`, such as an unpacked
   * `orchard-nlp-models`. Default: ORCHARD_MODELS_FROM, else the installed package.
   */
  readonly from?: string | URL;
  readonly signal?: AbortSignal;
  /** Called while files are downloaded; not called if they are already on this machine. */
  readonly onProgress?: (progress: ModelProgress) => void;
}

/** A published model on this machine. */
export interface PulledModel {
  readonly name: string;
  readonly kind: CatalogueKind;
  /** The absolute path of its folder. */
  readonly directory: string;
  /** The size of all its files, in bytes. */
  readonly bytes: number;
  /** What its training data allow. Absent: any use. */
  readonly licence?: UsageTerms;
}

/** The result of {@link verifyModel}. */
export interface VerifiedModel extends PulledModel {
  /** Files that are missing or differ from the published ones; empty if the model is intact. */
  readonly problems: readonly FileProblem[];
}

/** A file that differs from the published one. */
export interface FileProblem {
  /** Its path in the model's folder, with '/'. */
  readonly file: string;
  /** What is wrong, for people to read. */
  readonly problem: string;
}

const placeSchema = z.object({ directory: z.string().min(1).optional() });
/** As of the call. @throws ValidationError */
const placeAsOfNow = ({ directory }: z.infer<typeof placeSchema>) => directory && requirePath(directory, 'directory');

const pullSchema = z.lazy(() =>
  placeSchema.extend({ from: z.union([z.string().min(1), z.instanceof(URL)]).optional() }),
);

/**
 * Lists the models and backbones that this version of the library knows, and where they are on this machine. Models come
 * before backbones, each in alphabetical order. Downloads nothing.
 */
export function listModels(options: PulledPlace = {}): ResultAsync<readonly ListedModel[], OrchardError> {
  return result('listing models', async () => {
    const directory = placeAsOfNow(validate(placeSchema, options));
    const models = await publishedModels();
    return Promise.all(models.map(async (model) => ({ ...described(model), ...(await placeOf(model, directory)) })));
  });
}

/**
 * Downloads a model or backbone to this machine. Each file is checked against the size and SHA-256 that this library
 * knows, so any copy of the published package can be the source. Intact files that are already on this machine are
 * kept. Afterwards, `catalogueModels` and `catalogueBackbones` find the model, unless `directory` is given.
 *
 * Fails with a NotFoundError for a name that is not published, a ModelDownloadError for a file that can't be fetched or
 * differs, or a ValidationError if there is no source.
 */
export function pullModel(name: string, options: PullOptions = {}): ResultAsync<PulledModel, OrchardError> {
  return result(`pulling model ${name}`, async () => {
    const { from, ...placed } = validate(pullSchema, options);
    const [place, named] = [placeAsOfNow(placed), namedSource(from)];
    const model = await publishedModel(name);
    const { signal, onProgress } = options;
    const source = named ?? (await installedSource());
    if (!source.pathname.endsWith('/')) source.pathname += '/';
    const directory = await pull({ model, from: source, root: rootOf(place), signal, onProgress });
    return { ...described(model), directory };
  });
}

/**
 * Compares the files of a model on this machine with the published ones.
 *
 * Fails with a NotFoundError for a name that is not published, or a model that is not on this machine.
 */
export function verifyModel(name: string, options: PulledPlace = {}): ResultAsync<VerifiedModel, OrchardError> {
  return result(`verifying model ${name}`, async () => {
    const place = placeAsOfNow(validate(placeSchema, options));
    const model = await publishedModel(name);
    const { directory } = await placeOf(model, place);
    if (directory === undefined)
      throw new NotFoundError(model.kind, name, `it is not on this machine; run ${pullCommand(name)}`);
    return { ...described(model), directory, problems: await problemsOf(model, directory) };
  });
}

function result<Value>(doing: string, work: () => Promise<Value>): ResultAsync<Value, OrchardError> {
  return callResult(work(), doing);
}

function described({ name, kind, bytes, licence }: PublishedModel) {
  return { name, kind, bytes, ...(licence && { licence }) };
}

async function placeOf(
  { name, folder }: PublishedModel,
  directory: string | undefined,
): Promise<Pick<ListedModel, 'directory' | 'source'>> {
  const others = placesOf(folder).filter(({ source }) => directory === undefined || source !== 'pulled');
  const named = directory === undefined ? [] : [join(rootOf(directory), folder)];
  const places = [...others, ...named.map((place) => ({ directory: place, source: 'pulled' as const }))];
  for (const place of places) {
    const path = join(place.directory, name);
    if (await isDirectory(path)) return { directory: path, source: place.source };
  }
  return {};
}

/** @throws ValidationError if the user has no home */
function rootOf(directory: string | undefined): string {
  const root = pulledModels(directory);
  if (root !== undefined) return root;
  const msg = 'there is no home folder to keep models in; give a folder, or set ORCHARD_MODELS_DIRECTORY';
  throw new ValidationError([{ loc: ['directory'], msg, type: 'missing' }]);
}

/** @throws ValidationError if it is invalid */
function namedSource(from: string | URL | undefined): URL | undefined {
  const { [FROM]: variable } = process.env;
  const given = from ?? (variable?.trim() || undefined);
  return given === undefined ? undefined : urlOf(given);
}

function urlOf(given: string | URL): URL {
  const text = String(given);
  if (!/^[a-z][a-z\d+.-]+:/i.test(text)) return pathToFileURL(requirePath(text, 'from'));
  if (/^(?:https?|file):/i.test(text) && URL.canParse(text)) return new URL(text);
  throw invalidSource(`${JSON.stringify(text)} is not a source of models; give a path, or a file, http or https URL`);
}

/** To copy a model for an image or another machine. */
async function installedSource(): Promise<URL> {
  for (const { directory, source } of placesOf('catalogue')) {
    if (source === 'package' && (await isDirectory(directory))) return pathToFileURL(dirname(directory));
  }
  throw invalidSource(
    `say where the files of orchard-nlp-models are: give a folder or http address that has its catalogue/ and backbones/, or set ${FROM}`,
  );
}

const invalidSource = (msg: string) => new ValidationError([{ loc: ['from'], msg, type: 'model_source' }]);

export interface Pull {
  readonly model: PublishedModel;
  /** The folder with `catalogue/` and `backbones/`; ends with a slash. */
  readonly from: URL;
  /** Its `catalogue/` or `backbones/` receives the model's folder. */
  readonly root: string;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: ModelProgress) => void) | undefined;
}

/** Continues an interrupted pull. @returns the folder. @throws ModelDownloadError, StorageError, AbortedError */
export async function pull(work: Pull): Promise<string> {
  const { model, root, signal } = work;
  const directory = join(root, model.folder, model.name);
  const lockDirectory = join(root, '.locks');
  await ensureDirectory(lockDirectory);
  try {
    await downloadLocks(lockDirectory).hold(`${model.name}.lock`, () => pullUnderLock(work, directory), { signal });
  } catch (thrown) {
    if (signal?.aborted && !isOrchardError(thrown))
      throw new AbortedError(`pulling model ${model.name}`, { cause: thrown });
    throw thrown;
  }
  return directory;
}

async function pullUnderLock(work: Pull, directory: string): Promise<void> {
  const { model, root, signal, onProgress } = work;
  if ((await problemsOf(model, directory, signal)).length === 0) return;
  const draft = join(root, '.pulling', model.name);
  let before = 0;
  for (const file of model.files) {
    let most = 0;
    // Never falls, even if a download starts again.
    const report = (bytes: number) => {
      most = Math.max(most, Math.min(bytes, file.bytes));
      const receivedBytes = before + most;
      onProgress?.({ model: model.name, file: file.path, receivedBytes, totalBytes: model.bytes });
    };
    await fetchFile(work, file, pathOf(draft, file), report);
    report(file.bytes);
    before += file.bytes;
  }
  await flushTree(draft);
  await ensureDirectory(dirname(directory));
  await rm(directory, { recursive: true, force: true }); // a folder with damaged files
  await move(draft, directory);
}

function pathOf(directory: string, { path }: PublishedFile): string {
  return join(directory, ...path.split('/'));
}

async function fetchFile(
  { model, from, signal }: Pull,
  file: PublishedFile,
  path: string,
  onBytes: (bytes: number) => void,
): Promise<void> {
  if ((await problemOf(file, path, signal)) === undefined) return;
  const url = new URL(`${model.folder}/${model.name}/${file.path}`, from);
  await ensureDirectory(dirname(path));
  const checksum = { algorithm: 'SHA-256', value: file.sha256 } as const;
  const options = {
    ...{ url, signal, file: path, maxBytes: file.bytes, expectedBytes: file.bytes },
    ...{ keepsPart: true, refusesDowngrade: true },
    onProgress: ({ receivedBytes }: { readonly receivedBytes: number }) => onBytes(receivedBytes),
  };
  const fetch = () =>
    (url.protocol === 'file:' ? copyFile(fileURLToPath(url), path) : download(options)).catch((thrown: unknown) => {
      throw fetchError(thrown, model, file, url);
    });
  const wrong = await fetchChecked({ path, bytes: file.bytes, checksum }, fetch, signal);
  if (wrong === undefined) return;
  const reason = `the SHA-256 of its bytes is ${wrong}, not ${file.sha256} as in orchard-nlp-models ${model.version}; they were deleted. Give a source with this version, and check any proxies`;
  throw new ModelDownloadError(model.name, url.href, reason, { file: file.path });
}

function fetchError(cause: unknown, model: PublishedModel, file: PublishedFile, url: URL): unknown {
  if (url.protocol === 'file:') {
    const reason = messageOf(cause);
    const advice = `${reason}; give the folder that holds catalogue/ and backbones/, such as node_modules/orchard-nlp-models`;
    return new ModelDownloadError(model.name, url.href, advice, { file: file.path, cause });
  }
  if (!(cause instanceof NetworkFailure)) return cause;
  const { status } = cause;
  const reason = `${cause.message}; check that the address has catalogue/ and backbones/ of orchard-nlp-models ${model.version}, or try again: the part that was received is kept`;
  const details = { file: file.path, ...(status !== undefined && { status }), cause };
  return new ModelDownloadError(model.name, url.href, reason, details);
}

/** Missing or with other bytes; additional files are ignored. */
export async function problemsOf(
  model: PublishedModel,
  directory: string,
  signal?: AbortSignal,
): Promise<readonly FileProblem[]> {
  const problems: FileProblem[] = [];
  for (const file of model.files) {
    const problem = await problemOf(file, pathOf(directory, file), signal);
    if (problem !== undefined) problems.push({ file: file.path, problem });
  }
  return problems;
}

/** Undefined if the file has the published bytes. */
async function problemOf(
  { bytes, sha256 }: PublishedFile,
  path: string,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || !found.isFile()) return 'is missing';
  if (found.size !== bytes) return `has ${found.size} bytes, not ${bytes}`;
  const hash = await checksumOf(path, bytes, 'SHA-256', signal);
  return hash === sha256 ? undefined : `has the SHA-256 ${hash}, not ${sha256}`;
}
