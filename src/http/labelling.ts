import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { validate as isUuid, parse as uuidBytes } from 'uuid';
import * as z from 'zod';
import { type Account, isOrchardError, type OrchardError, orThrow, type Runtime } from '../contract/index.js';
import { counted } from '../datasets/index.js';
import type { ServiceOptions } from '../inference/index.js';
import { accountKey, hasEnded, LABELLING, recordPages } from '../jobs/index.js';
import { isVersionConflict, KeyedQueue, type Storage, type Version, withStorageErrors } from '../storage/index.js';
import { pause, Random, temporaryRoot, withPauses } from '../system/index.js';
import { type BodyLimits, saveBody } from './body.js';
import { invalid, Refusal } from './refusal.js';
import type { LabellingSetAnswer } from './schemas.js';
import type { PredictorService, TrainerService } from './services.js';
import { fileNameOf, refusalOfRows, type Turns } from './uploads.js';

/** Limits of the sets of texts that accounts label on the page. */
export interface LabellingLimits {
  /** Maximum number of sets per account. Default 20. */
  readonly maxSets?: number;
  /** Maximum number of texts per set. Default 10,000. */
  readonly maxTexts?: number;
  /** Maximum size of a file of texts, in bytes. Default 4 MiB. */
  readonly maxFileBytes?: number;
}

/** Labels that a set may have; each has a key of its own. */
export const MAX_SET_LABELS = 30;
/** UTF-16 code units of all labels of a set, which are sent in a header. */
export const MAX_LABEL_CHARACTERS = 1000;
/** UTF-16 code units of a text: as many as one inference call covers. */
export const MAX_LABELLED_TEXT = 5000;
/** What the thread that reads a file of texts may take. */
const READING = { memoryLimit: 2 ** 29, timeoutMs: 60_000 };
/** A set whose texts have not arrived after this time is removed: its process died. */
const ABANDONED_AFTER_MS = 60 * 60_000;

const TEXTS_PER_PAGE = 50;
const CHOICES_PER_PAGE = 500;
const WRITTEN_TOGETHER = 8;

/** Texts that are compared to order the next ones. Of more, as many are drawn at random. */
const MAX_COMPARED = 1000;
/** Texts that are ordered at a time. */
const ORDERED = 25;

const storedSchema = z.lazy(() =>
  z.strictObject({
    name: z.string(),
    labels: z.array(z.string()),
    /** In milliseconds since 1970. */
    created: z.number(),
    /** Number of texts; 0 while they arrive, and once the set is being removed. */
    texts: z.int(),
    /** The model that was trained on the choices last and is READY, and the job that may take its place. */
    model: z.string().nullable(),
    training: z.string().nullable(),
    /** The number of choices when the model became READY; later ones are compared with its answers. */
    since: z.int(),
    /** The number of choices when the last training job began, and the texts of those that were undone afterwards. */
    trained: z.int(),
    seen: z.array(z.int()),
    /** Which texts come first, by the model or, before there is one, by what spreads them; empty if nothing could. */
    order: z.strictObject({ model: z.string().nullable(), texts: z.array(z.int()) }).nullable(),
  }),
);
type StoredSet = z.infer<typeof storedSchema>;

const choicesSchema = z.lazy(() =>
  z.array(
    z.strictObject({
      text: z.int(),
      /** Position of the label; null for a skipped text. */
      label: z.int().nullable(),
      /** The answer of the model, which was asked after the choice. */
      said: z.strictObject({ label: z.int(), score: z.number() }).nullable(),
    }),
  ),
);
type Choice = z.infer<typeof choicesSchema>[number];

const textsSchema = z.array(z.string());

interface FoundSet {
  readonly id: string;
  /** Of its record; those of its pages begin with it. */
  readonly key: string;
  readonly set: StoredSet;
  readonly version: Version;
}

interface LogPage {
  readonly choices: readonly Choice[];
  /** Undefined for a page that is not written yet. */
  readonly version: Version | undefined;
}

/** The choices in their order. Pages but the last are full, unless choices at their end were undone. */
interface Log {
  readonly pages: readonly LogPage[];
  readonly choices: readonly Choice[];
}

/** What a model says of a text after its label was chosen. */
export interface Opinion {
  readonly label: string;
  readonly score: number;
  readonly agreement: Agreement;
}

/** How often a model was asked after a choice, and agreed with it. */
interface Agreement {
  readonly asked: number;
  readonly agreed: number;
}

interface LabellingParts {
  readonly storage: Storage;
  readonly trainer: (account: Account) => Pick<TrainerService, 'getTrainingJob'>;
  readonly predictor: (account: Account) => Pick<PredictorService, 'predictCustom'>;
  /** The folder of an account's model. @throws OrchardError */
  readonly modelFolder: (account: Account, id: string) => Promise<string>;
  /** Reads files; shared with uploads. */
  readonly reading: Turns;
  /** Orders texts. */
  readonly ordering: Turns;
  readonly limits?: LabellingLimits | undefined;
  /** What answers. Default auto. */
  readonly runtime?: Runtime | undefined;
}

/**
 * Sets of texts that are being labelled: the set as one record, its texts as pages of `TEXTS_PER_PAGE` in random
 * order, and its choices as a log in pages of `CHOICES_PER_PAGE`. A choice is answered when it is written. Writes are
 * conditional, so that several tabs and processes may work on one set. Every method throws a Refusal or an OrchardError.
 */
export class LabellingSets {
  readonly #storage: Storage;
  readonly #parts: LabellingParts;
  readonly #changes = new KeyedQueue();
  readonly #closing = new AbortController();

  constructor(parts: LabellingParts) {
    this.#storage = withStorageErrors(parts.storage);
    this.#parts = parts;
  }

  /** Lists the sets, newest first. */
  async list({ app_id }: Account) {
    const found = (await this.#all(app_id)).filter(({ set }) => set.texts > 0);
    found.sort((a, b) => b.set.created - a.set.created);
    return Promise.all(
      found.map(async ({ id, key, set: { name, labels, texts, created } }) => {
        const { choices } = await this.#log(key);
        return { id, name, labels, texts, done: choices.length, created: new Date(created).toISOString() };
      }),
    );
  }

  /** Creates a set from the texts in the body of a request. */
  async create(
    account: Account,
    { name, labels }: { readonly name: string; readonly labels: readonly string[] },
    request: Request,
    bodyTimeoutMs: number,
  ): Promise<LabellingSetAnswer> {
    const { app_id } = account;
    const id = randomUUID();
    const key = keyOf(app_id, id);
    const none = { model: null, training: null, since: 0, trained: 0, seen: [], order: null };
    const set: StoredSet = { name, labels: [...labels], created: Date.now(), texts: 0, ...none };
    const version = await this.#storage.write(LABELLING.sets, key, set, undefined);
    const arriving = { id, key, set, version };
    try {
      await this.#requireRoom(app_id);
      const texts = await this.#read(app_id, request, bodyTimeoutMs);
      const shuffled = Random.fromSeed(...uuidBytes(id)).shuffle(texts);
      const pages = pagesOf(shuffled, TEXTS_PER_PAGE);
      await inGroups(pages.entries(), ([page, some]) =>
        this.#storage.write(LABELLING.texts, pageKey(key, page), some, undefined),
      );
      const made = await this.#write(arriving, { texts: texts.length });
      return await this.#answer(made, logOf([]));
    } catch (thrown) {
      await this.#erase(key).catch(() => undefined); // otherwise the next set does
      throw isVersionConflict(thrown) ? noSet(id) : thrown; // the account was erased meanwhile
    }
  }

  /** A set, and the text to label next. */
  get(account: Account, id: string): Promise<LabellingSetAnswer> {
    return this.#change(account, id, (found, log) => this.#answer(found, log));
  }

  /** Writes a choice; null skips the text. Repeating the last choice changes nothing. */
  choose(account: Account, id: string, text: number, chosen: string | null): Promise<LabellingSetAnswer> {
    return this.#change(account, id, async (found, log) => {
      const label = chosen === null ? null : found.set.labels.indexOf(chosen);
      if (label === -1) {
        const msg = `the set has no label ${JSON.stringify(chosen)}; it has ${found.set.labels.join(', ')}`;
        throw invalid([{ loc: ['body', 'label'], msg, type: 'label' }]);
      }
      requireText(found.set, text);
      const last = log.choices.at(-1);
      if (last?.text === text && last.label === label) return this.#answer(found, log);
      if (log.choices.some((each) => each.text === text)) {
        const msg = `text ${text} has already been labelled or skipped; continue with the set's next text`;
        throw conflict(msg, 'labelled');
      }
      const choice = { text, label, said: null };
      const isFull = (log.pages[lastPage(log)]?.choices.length ?? 0) >= CHOICES_PER_PAGE;
      const page = lastPage(log) + (isFull ? 1 : 0);
      return this.#answer(found, await this.#writePage(found, log, page, (choices) => [...choices, choice]));
    });
  }

  /** Undoes the last choice. */
  undo(account: Account, id: string, text: number): Promise<LabellingSetAnswer> {
    return this.#change(account, id, async (found, log) => {
      const last = log.choices.at(-1);
      if (last?.text !== text) {
        throw conflict(`text ${text} is not the one that was labelled or skipped last; load the set again`, 'not_last');
      }
      const left = log.choices.length - 1;
      const { since, trained, seen } = found.set;
      const isSeen = left < trained;
      const changed =
        isSeen || left < since
          ? await this.#write(found, {
              since: Math.min(since, left),
              trained: Math.min(trained, left),
              seen: isSeen ? [...seen, text] : seen,
            })
          : found;
      const written = await this.#writePage(changed, log, lastPage(log), (choices) => choices.slice(0, -1));
      return this.#answer(changed, written, text);
    });
  }

  /**
   * What the model predicts for a text whose label was chosen. It is stored with the choice. Undefined without a model,
   * for a skipped text, and for one that was labelled before the model was READY or that it was trained on.
   */
  async opinion(account: Account, id: string, text: number, signal: AbortSignal): Promise<Opinion | undefined> {
    const { found, log } = await this.#change(account, id, async (found, log) => ({ found, log }));
    const { model, labels, since, seen } = found.set;
    const at = log.choices.findIndex((each) => each.text === text);
    const choice = log.choices[at];
    if (model === null || choice?.label == null || at < since || seen.includes(text)) return undefined;
    let { said } = choice;
    if (said === null) {
      const [content = ''] = await this.#texts(found, [text]);
      const asked = await this.#parts.predictor(account).predictCustom(model, content, { signal });
      if (asked.isErr()) {
        if (!isGone(asked.error)) throw asked.error;
        await this.#change(account, id, (current) => this.#write(current, { model: null }));
        return undefined;
      }
      const { data } = asked.value;
      said = { label: labels.indexOf(data.labels[0] ?? ''), score: data.scores[0] ?? 0 };
    }
    const answer = said;
    return this.#change(account, id, async (current, now) => {
      const page = now.pages.findIndex(({ choices }) => choices.some((each) => each.text === text));
      if (page < 0 || current.set.model !== model) return undefined; // undone, or the model was replaced
      const log = await this.#writePage(current, now, page, (choices) =>
        choices.map((each) => (each.text === text ? { ...each, said: answer } : each)),
      );
      const agreement = agreementOf(current.set, log);
      return { label: labels[answer.label] ?? '', score: answer.score, agreement };
    });
  }

  /** Records the job that trains on the choices. Its model is used once it is READY. */
  async train(account: Account, id: string, model_id: string): Promise<LabellingSetAnswer> {
    const job = await this.#parts.trainer(account).getTrainingJob(model_id);
    if (job.isErr()) {
      if (job.error.code !== 'not_found') throw job.error;
      const msg = `there is no training job ${JSON.stringify(model_id)}`;
      throw invalid([{ loc: ['body', 'model_id'], msg, type: 'not_found' }]);
    }
    return this.#change(account, id, async (found, log) => {
      const trained = log.choices.length;
      const noted = await this.#write(found, { training: model_id, trained });
      return this.#answer(await this.#settled(account, noted, log), log);
    });
  }

  /**
   * Orders the remaining texts: by the model or, before there is one, so that the first texts cover all kinds of texts.
   */
  async order(account: Account, id: string, requested: AbortSignal): Promise<LabellingSetAnswer> {
    const { found, log } = await this.#change(account, id, async (found, log) => ({ found, log }));
    const { model } = found.set;
    const signal = AbortSignal.any([requested, this.#closing.signal]);
    const order = await this.#parts.ordering.run(account.app_id, async () => {
      const done = new Set(log.choices.map(({ text }) => text));
      const left = Array.from({ length: found.set.texts }, (_, text) => text).filter((text) => !done.has(text));
      const compared = left.slice(0, MAX_COMPARED); // in random order
      const texts = await this.#texts(found, compared);
      const first =
        model === null
          ? await spread(texts, serviceOf(this.#parts), signal)
          : await this.#suggested(account, model, texts, signal);
      return first?.flatMap((at) => compared.slice(at, at + 1));
    });
    return this.#change(account, id, async (current, now) => {
      if (order === undefined) return this.#answer(await this.#write(current, { model: null }), now);
      if (current.set.model !== model) return this.#answer(current, now); // there is a newer one
      return this.#answer(await this.#write(current, { order: { model, texts: order } }), now);
    });
  }

  /** The labelled rows as JSON Lines, in the order in which they were labelled. */
  async rows({ app_id }: Account, id: string): Promise<AsyncGenerator<string, void, undefined>> {
    const found = await this.#find(app_id, id);
    const { choices } = await this.#log(found.key);
    const storage = this.#storage;
    async function* lines() {
      const pages = new Map<number, readonly string[]>();
      for (const { text, label } of choices) {
        if (label === null) continue;
        const page = Math.floor(text / TEXTS_PER_PAGE);
        const texts = pages.get(page) ?? (await textsOfPage(storage, found, page));
        pages.set(page, texts);
        const row = { text: texts[text % TEXTS_PER_PAGE] ?? '', label: found.set.labels[label] ?? '' };
        yield `${JSON.stringify(row)}\n`;
        await pause();
      }
    }
    return lines();
  }

  /** Removes a set with its texts and choices; its models stay. */
  async remove({ app_id }: Account, id: string): Promise<void> {
    const { key } = await this.#find(app_id, id);
    await this.#changes.run(key, async () => {
      // Without texts it is no set any more, so that no choice comes in between.
      await this.#retried(async () => this.#write(await this.#find(app_id, id), { texts: 0 }));
      await this.#erase(key);
    });
  }

  /** Stops ordering. */
  close(): void {
    this.#closing.abort();
  }

  /** @throws Refusal 404 */
  async #find(app_id: string, id: string): Promise<FoundSet> {
    const key = keyOf(app_id, id);
    const record = isUuid(id) ? await this.#storage.read(LABELLING.sets, key) : undefined;
    const set = storedSchema.safeParse(record?.value);
    if (record === undefined || !set.success || set.data.texts === 0) throw noSet(id);
    return { id, key, set: set.data, version: record.version };
  }

  async #all(app_id: string): Promise<FoundSet[]> {
    const prefix = `${accountKey(app_id)}/`;
    const records = await this.#storage.list(LABELLING.sets, { prefix, limit: Number.POSITIVE_INFINITY });
    return records.flatMap(({ key, value, version }) => {
      const set = storedSchema.safeParse(value);
      return set.success ? [{ id: key.slice(prefix.length), key, set: set.data, version }] : [];
    });
  }

  async #log(key: string): Promise<Log> {
    const pages: LogPage[] = [];
    for await (const records of recordPages(this.#storage, LABELLING.choices, `${key}/`)) {
      for (const { value, version } of records) {
        pages.push({ choices: choicesSchema.parse(value), version });
        await pause();
      }
    }
    return logOf(pages);
  }

  /** The texts at some places. */
  async #texts(found: FoundSet, places: readonly number[]): Promise<string[]> {
    const wanted = new Set(places.map((place) => Math.floor(place / TEXTS_PER_PAGE)));
    const pages = new Map<number, readonly string[]>();
    await inGroups(wanted, async (page) => void pages.set(page, await textsOfPage(this.#storage, found, page)));
    return places.map((place) => pages.get(Math.floor(place / TEXTS_PER_PAGE))?.[place % TEXTS_PER_PAGE] ?? '');
  }

  /** Does some work on a set and its choices as they are, again after a change by another process. */
  #change<Result>(account: Account, id: string, work: (found: FoundSet, log: Log) => Promise<Result>): Promise<Result> {
    return this.#changes.run(keyOf(account.app_id, id), () =>
      this.#retried(async () => {
        const found = await this.#find(account.app_id, id);
        const log = await this.#log(found.key);
        return work(await this.#settled(account, found, log), log);
      }),
    );
  }

  async #retried<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await work();
      } catch (thrown) {
        if (!isVersionConflict(thrown)) throw thrown;
        if (tries === MOST_TRIES) throw conflict('the set was changed at the same time; try again', 'busy');
      }
    }
  }

  /** If the training has ended, its model answers from now on. */
  async #settled(account: Account, found: FoundSet, log: Log): Promise<FoundSet> {
    const { training } = found.set;
    if (training === null) return found;
    const job = await this.#parts.trainer(account).getTrainingJob(training);
    if (job.isErr() && job.error.code !== 'not_found') throw job.error;
    if (job.isOk() && !hasEnded(job.value.status)) return found;
    const isReady = job.isOk() && job.value.status === 'READY';
    return this.#write(found, {
      training: null,
      ...(isReady && { model: training, since: log.choices.length }),
    });
  }

  /** @throws VersionConflict */
  async #write(found: FoundSet, change: Partial<StoredSet>): Promise<FoundSet> {
    const set = { ...found.set, ...change };
    const version = await this.#storage.write(LABELLING.sets, found.key, set, found.version);
    return { ...found, set, version };
  }

  /** Changes a page of the log, or begins one. @throws VersionConflict */
  async #writePage(
    found: FoundSet,
    { pages }: Log,
    page: number,
    change: (choices: readonly Choice[]) => readonly Choice[],
  ): Promise<Log> {
    const key = pageKey(found.key, page);
    const { choices: before, version: expected } = pages[page] ?? { choices: [], version: undefined };
    const choices = change(before);
    const version = await this.#storage.write(LABELLING.choices, key, choices, expected);
    const written = logOf([...pages.slice(0, page), { choices, version }, ...pages.slice(page + 1)]);
    // A set that was removed meanwhile leaves nothing behind.
    if (expected !== undefined || (await this.#storage.read(LABELLING.sets, found.key)) !== undefined) return written;
    await this.#storage.remove(LABELLING.choices, key);
    throw noSet(found.id);
  }

  /** Removes the pages, then the record, so that after a failure another call can remove the rest. */
  async #erase(key: string): Promise<void> {
    for (const collection of [LABELLING.choices, LABELLING.texts]) {
      const keys = await this.#storage.listKeys(collection, { prefix: `${key}/`, limit: Number.POSITIVE_INFINITY });
      await inGroups(keys, (each) => this.#storage.remove(collection, each));
    }
    await this.#storage.remove(LABELLING.sets, key);
  }

  /** Removes what is left of sets whose process died. @throws Refusal 429 if the account has too many sets */
  async #requireRoom(app_id: string): Promise<void> {
    const { maxSets = 20 } = this.#parts.limits ?? {};
    let sets = 0;
    for (const { key, set } of await this.#all(app_id)) {
      if (set.texts === 0 && Date.now() - set.created > ABANDONED_AFTER_MS) await this.#erase(key);
      else sets += 1;
    }
    if (sets <= maxSets) return;
    const msg = `this account has ${counted(maxSets, 'set')} of texts, the maximum; delete one first`;
    throw new Refusal(429, [{ loc: ['header', 'x-api-key'], msg, type: 'labelling_sets' }]);
  }

  async #read(app_id: string, request: Request, bodyTimeoutMs: number): Promise<readonly string[]> {
    const { maxTexts = 10_000, maxFileBytes = 4 * 2 ** 20 } = this.#parts.limits ?? {};
    const limits: BodyLimits = { maxBodyBytes: maxFileBytes, bodyTimeoutMs };
    const name = fileNameOf(request);
    const folder = await mkdtemp(join(await temporaryRoot(), 'orchard-texts-'));
    try {
      await mkdir(join(folder, 'rows'));
      const rows = join(folder, 'rows', name);
      await saveBody(request, rows, limits);
      const { readUnlabelled } = await import('../api/index.js');
      const options = { rows, mostTexts: maxTexts, mostCharacters: MAX_LABELLED_TEXT };
      const read = () => readUnlabelled(options, { ...READING, signal: request.signal });
      return await this.#parts.reading.run(app_id, read);
    } catch (thrown) {
      throw isOrchardError(thrown) && thrown.code === 'dataset' ? refusalOfRows(thrown) : thrown;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** @param next the text to show. Default: the first in the order */
  async #answer(found: FoundSet, log: Log, next?: number): Promise<LabellingSetAnswer> {
    const { id, set } = found;
    const { name, labels, texts, model, training, order } = set;
    const done = new Set(log.choices.map(({ text }) => text));
    const ordered = order?.texts.find((text) => !done.has(text));
    const shown = next ?? ordered ?? firstMissing(done, texts);
    const [content = ''] = shown === undefined ? [] : await this.#texts(found, [shown]);
    const counts = labels.map(() => 0);
    let skipped = 0;
    for (const { label } of log.choices) {
      if (label === null) skipped += 1;
      else counts[label] = (counts[label] ?? 0) + 1;
    }
    const isUsedUp = order === null || order.model !== model || (order.texts.length > 0 && ordered === undefined);
    return {
      data: {
        ...{ id, name, labels, texts, counts, skipped, model, training },
        created: new Date(set.created).toISOString(),
        next: shown === undefined ? null : { text: shown, content },
        last: log.choices.at(-1)?.text ?? null,
        agreement: agreementOf(set, log),
        order: ordered === undefined ? 'chance' : order?.model == null ? 'spread' : 'model',
        is_order_due: shown !== undefined && isUsedUp,
      },
    };
  }

  /** Positions of the texts that a model suggests to label, the most useful first; undefined if the model is gone. */
  async #suggested(
    account: Account,
    model: string,
    texts: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly number[] | undefined> {
    const { loadModel, suggestTexts } = await import('../api/index.js');
    try {
      const directory = await this.#parts.modelFolder(account, model);
      const opened = await orThrow(loadModel(directory, { ...serviceOf(this.#parts), signal }));
      try {
        const suggested = await orThrow(suggestTexts(opened, texts, { count: ORDERED, signal }));
        return suggested.map(({ index }) => index);
      } finally {
        await opened.close();
      }
    } catch (thrown) {
      if (isGone(thrown)) return undefined;
      throw thrown;
    }
  }
}

const MOST_TRIES = 5;

function logOf(pages: readonly LogPage[]): Log {
  return { pages, choices: pages.flatMap(({ choices }) => choices) };
}

/** The page of the last choice; the first page if there is none. */
function lastPage({ pages }: Log): number {
  return Math.max(
    0,
    pages.findLastIndex(({ choices }) => choices.length > 0),
  );
}

/** One thread, so that a service goes on answering. */
function serviceOf({ runtime }: Pick<LabellingParts, 'runtime'>): ServiceOptions {
  return { isolation: 'worker', workers: 1, ...(runtime && { runtime }) };
}

/** The backbone whose vectors say which texts are similar before there is a model. */
const SPREAD_BY = 'english-mini';

/** Positions of texts that are typical of groups of similar ones; none if no vectors can tell which are similar. */
async function spread(
  texts: readonly string[],
  service: ServiceOptions,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const [{ findEncoder, requireDifferent, SentenceEncoder }, { centralTexts }] = await Promise.all([
    import('../search/index.js'),
    import('../api/index.js'),
  ]);
  try {
    const found = await findEncoder(SPREAD_BY, { modelLoader: undefined, signal });
    const encoder = await SentenceEncoder.ofModel(found, { service, signal });
    try {
      const vectors = await encoder.vectors(texts, { signal });
      requireDifferent(texts, vectors, SPREAD_BY);
      const alike = texts.map(() => 1);
      return await withPauses(centralTexts(vectors, alike, ORDERED, Random.fromSeed(0)), signal);
    } finally {
      await encoder.close();
    }
  } catch (thrown) {
    // It isn't installed, or knows no word of the texts.
    if (isOrchardError(thrown) && (isGone(thrown) || NO_VECTORS.includes(thrown.code))) return [];
    throw thrown;
  }
}

/** How a backbone fails that isn't installed, or doesn't know the texts. */
const NO_VECTORS: readonly OrchardError['code'][] = ['validation', 'model_download', 'model_folder', 'installation'];

async function textsOfPage(storage: Storage, { key }: FoundSet, page: number): Promise<readonly string[]> {
  const record = await storage.read(LABELLING.texts, pageKey(key, page));
  return textsSchema.parse(record?.value ?? []);
}

function agreementOf({ since }: StoredSet, { choices }: Log): Agreement {
  const asked = choices.slice(since).filter(({ said }) => said !== null);
  return { asked: asked.length, agreed: asked.filter(({ label, said }) => label === said?.label).length };
}

/** Whether a model can't answer any more. */
function isGone(thrown: unknown): boolean {
  return isOrchardError(thrown) && (thrown.code === 'not_found' || thrown.code === 'model_not_ready');
}

function firstMissing(done: ReadonlySet<number>, texts: number): number | undefined {
  for (let text = 0; text < texts; text += 1) if (!done.has(text)) return text;
  return undefined;
}

function keyOf(app_id: string, id: string): string {
  return `${accountKey(app_id)}/${id}`;
}

function pageKey(key: string, page: number): string {
  return `${key}/${String(page).padStart(4, '0')}`;
}

function pagesOf(texts: readonly string[], size: number): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(texts.length / size) }, (_, page) =>
    texts.slice(page * size, (page + 1) * size),
  );
}

async function inGroups<Item>(items: Iterable<Item>, work: (item: Item) => Promise<unknown>): Promise<void> {
  const all = [...items];
  for (let from = 0; from < all.length; from += WRITTEN_TOGETHER) {
    await Promise.all(all.slice(from, from + WRITTEN_TOGETHER).map(work));
  }
}

/** @throws Refusal 422 */
function requireText({ texts }: StoredSet, text: number): void {
  if (text < texts) return;
  const msg = `there is no text ${text}; the set has ${counted(texts, 'text')}, numbered from 0`;
  throw invalid([{ loc: ['body', 'text'], msg, type: 'text' }]);
}

function noSet(id: string): Refusal {
  return new Refusal(404, [
    { loc: ['path', 'set_id'], msg: `there is no set ${JSON.stringify(id)}`, type: 'not_found' },
  ]);
}

function conflict(msg: string, type: string): Refusal {
  return new Refusal(409, [{ loc: ['body', 'text'], msg, type }]);
}
