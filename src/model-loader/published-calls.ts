/** The calls about published models: which there are, bringing one here, and whether what is here is whole. */
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import { validate } from '../contract/index.js';
import { NotFoundError, type OrchardError, toOrchardError, ValidationError } from '../errors.js';
import type { UsageTerms } from '../usage-terms.js';
import { type CatalogueKind, type CataloguePlace, placesOf, pulledModels } from './catalogue-places.js';
import type { ModelProgress } from './model-loader.js';
import type { PublishedModel } from './published-models.js';
import type { FileProblem } from './verify-files.js';

/** Environment variable: where models are pulled from. */
const FROM = 'ORCHARD_MODELS_FROM';

/** Where pulled models are kept. */
export interface PulledPlace {
  /**
   * The folder that they are kept in, below the version of their package. Default: ORCHARD_MODELS_DIRECTORY, else
   * `orchard-nlp/models` in XDG_CACHE_HOME or ~/.cache; only there do `catalogueModels` and `catalogueBackbones` look.
   */
  readonly directory?: string;
}

/** A published model or backbone. */
export interface ListedModel {
  readonly name: string;
  readonly kind: CatalogueKind;
  /** Of all its files. */
  readonly bytes: number;
  /** Where it lies on this machine; absent if it doesn't. Its card is README.md in there. */
  readonly directory?: string;
  /** `package`: in an installed package, or in a clone's `models/`; `pulled`: where `pullModel` has put it. */
  readonly source?: CataloguePlace['source'];
  /** What the data that it learned from allow. Absent: nothing in them stands in the way of any use. */
  readonly licence?: UsageTerms;
}

/** How {@link pullModel} works. */
export interface PullOptions extends PulledPlace {
  /**
   * Path, `file:` or `http(s):` URL of a folder that holds `catalogue/` and `backbones/`, such as an unpacked
   * `orchard-nlp-models`. Default: ORCHARD_MODELS_FROM, else the installed package.
   */
  readonly from?: string | URL;
  readonly signal?: AbortSignal;
  /** Called while files come; not at all if they are here already. */
  readonly onProgress?: (progress: ModelProgress) => void;
}

/** A model that was brought here, or was here. */
export interface PulledModel {
  readonly name: string;
  readonly kind: CatalogueKind;
  /** Absolute path of its folder. */
  readonly directory: string;
  /** Of all its files. */
  readonly bytes: number;
  /** What the data that it learned from allow. Absent: nothing in them stands in the way of any use. */
  readonly licence?: UsageTerms;
}

/** What {@link verifyModel} found. */
export interface VerifiedModel extends PulledModel {
  /** Files that are missing or have other bytes than the published ones; none if the model is whole. */
  readonly problems: readonly FileProblem[];
}

/**
 * The models and backbones that this version of the library knows, and which of them are on this machine. Models come
 * before backbones, each in alphabetical order. Nothing is downloaded.
 */
export function listModels(options: PulledPlace = {}): ResultAsync<readonly ListedModel[], OrchardError> {
  return result('listing models', async () => {
    const { directory } = validate(placeSchema, options);
    const models = await published();
    return Promise.all(
      models.map(async (model) => {
        return { ...described(model), ...(await whereIs(model, directory)) };
      }),
    );
  });
}

/**
 * Brings one model or backbone to this machine, and no more. Each file is checked by the size and the SHA-256 that this
 * library carries, so any copy of the published package will do as the source. What is here and whole is kept.
 * `catalogueModels` and `catalogueBackbones` find it from then on.
 *
 * Fails with a NotFoundError for a name that isn't published, a ModelDownloadError for a file that can't be had or has
 * other bytes, a ValidationError where no source is known.
 */
export function pullModel(name: string, options: PullOptions = {}): ResultAsync<PulledModel, OrchardError> {
  return result(`pulling model ${name}`, async () => {
    const { directory: place, from } = validate(pullSchema, options);
    const model = await publishedNamed(name);
    const { pull } = await import('./pull-model.js');
    const { signal, onProgress } = options;
    const source = await sourceOf(from);
    const directory = await pull({ model, from: source, root: rootOf(place), signal, onProgress });
    return { ...described(model), directory };
  });
}

/**
 * Reads the files of a model that is on this machine and compares them with what was published.
 *
 * Fails with a NotFoundError for a name that isn't published, or isn't here.
 */
export function verifyModel(
  name: string,
  options: PulledPlace = {},
): ResultAsync<VerifiedModel, OrchardError> {
  return result(`verifying model ${name}`, async () => {
    const { directory: place } = validate(placeSchema, options);
    const model = await publishedNamed(name);
    const { directory } = await whereIs(model, place);
    if (directory === undefined)
      throw new NotFoundError(model.kind, name, `it is not on this machine; npx orchard models pull ${name}`);
    const { problemsOf } = await import('./verify-files.js');
    const problems = await problemsOf(model, directory);
    return { ...described(model), directory, problems };
  });
}

const placeSchema = z.object({ directory: z.string().min(1).optional() });
const pullSchema = placeSchema.extend({ from: z.union([z.string().min(1), z.instanceof(URL)]).optional() });

function result<Value>(doing: string, work: () => Promise<Value>): ResultAsync<Value, OrchardError> {
  return ResultAsync.fromPromise(work(), (thrown) => toOrchardError(thrown, doing));
}

/** Loaded where it is asked for: answering needs none of it. */
const published = async () => (await import('./published-models.js')).publishedModels();
const publishedNamed = async (name: string) => (await import('./published-models.js')).publishedModel(name);

/** What is told of a model wherever it lies. */
function described({ name, kind, bytes, licence }: PublishedModel) {
  return { name, kind, bytes, ...(licence && { licence }) };
}

/** The first place that has a folder of the model. */
async function whereIs(
  { name, folder }: PublishedModel,
  directory: string | undefined,
): Promise<Pick<ListedModel, 'directory' | 'source'>> {
  const others = placesOf(folder).filter(({ source }) => directory === undefined || source !== 'pulled');
  const named = directory === undefined ? [] : [join(rootOf(directory), folder)];
  const places = [...others, ...named.map((place) => ({ directory: place, source: 'pulled' as const }))];
  for (const place of places) {
    const path = join(place.directory, name);
    const found = await stat(path).catch(() => undefined);
    if (found?.isDirectory()) return { directory: path, source: place.source };
  }
  return {};
}

/** @throws ValidationError where the user has no home. */
function rootOf(directory: string | undefined): string {
  const root = pulledModels(directory);
  if (root !== undefined) return root;
  const msg = 'there is no home folder to keep models in; say where, or set ORCHARD_MODELS_DIRECTORY';
  throw new ValidationError([{ loc: ['directory'], msg, type: 'missing' }]);
}

/** @returns a URL with a slash at its end. @throws ValidationError where none is known, or it is none. */
async function sourceOf(from: string | URL | undefined): Promise<URL> {
  const { [FROM]: variable } = process.env;
  const given = from ?? (variable?.trim() || undefined);
  const url = given === undefined ? await installedSource() : urlOf(given);
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}

function urlOf(given: string | URL): URL {
  const text = String(given);
  if (!/^[a-z][a-z\d+.-]+:/i.test(text)) return pathToFileURL(text);
  if (/^(?:https?|file):/i.test(text) && URL.canParse(text)) return new URL(text);
  throw noSource(
    `${JSON.stringify(text)} is no place to pull models from; give a path, or a file, http or https URL`,
  );
}

/** A copy can be made of an installed package, for an image or a machine that needs one of its models alone. */
async function installedSource(): Promise<URL> {
  for (const { directory, source } of placesOf('catalogue')) {
    const found = await stat(directory).catch(() => undefined);
    if (source === 'package' && found?.isDirectory()) return pathToFileURL(dirname(directory));
  }
  throw noSource(
    `say where the files of orchard-nlp-models are: a folder or an http address that holds its catalogue/ and backbones/, or set ${FROM}`,
  );
}

const noSource = (msg: string) => new ValidationError([{ loc: ['from'], msg, type: 'model_source' }]);
