import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { Gauge, type Registry } from 'prom-client';
import { type AnswerReading, answerReading, labelsOf, toAnswer } from '../api/index.js';
import type { Account } from '../contract/index.js';
import { type Baseline, compare, type Drift, logLength, NGramFilter, readBaseline } from '../drift/index.js';
import type { JudgedResult } from '../families/index.js';
import { CONFIG_FILE, readConfig } from '../models/index.js';
import { withPauses } from '../system/index.js';

/** Models that are watched at a time, those asked last. Each takes at most about half a megabyte. */
const MOST_MODELS = 100;
/** The latest queries of a model that are compared with its baseline. */
const MOST_QUERIES = 500;

/**
 * Compares the queries of custom models with the models' baselines, for /metrics. For each of the latest queries, it
 * keeps the share of known n-grams, the length and the labels of the answer in memory, but never the text. Vectors are
 * not compared, because they would take a second run of the encoder for each query.
 */
export class DriftWatch {
  readonly #folderOf: (account: Account, id: string) => Promise<string>;
  /** By app_id and id. Models without a baseline are remembered, too. */
  readonly #models = new LRUCache<string, Watched>({ maxSize: MOST_MODELS, sizeCalculation: () => 1 });

  /** @param folderOf the folder of an account's model. */
  constructor(folderOf: (account: Account, id: string) => Promise<string>) {
    this.#folderOf = folderOf;
  }

  /** Records answered queries. Never throws. Queries that arrive before the baseline is read are left out. */
  note(account: Account, id: string, queries: readonly string[], results: readonly JudgedResult[]): void {
    const key = keyOf(account.app_id, id);
    let watched = this.#models.get(key);
    if (watched === undefined) {
      watched = new Watched(account.app_id, id, this.#folderOf(account, id));
      this.#models.set(key, watched);
    }
    for (const [at, query] of queries.entries()) watched.note(query, results[at]);
  }

  /** Removes what is recorded about a deleted model or, without an id, about all models of an account. */
  forget(app_id: string, id?: string): void {
    for (const [key, watched] of this.#models.entries()) {
      if (watched.app_id === app_id && (id === undefined || key === keyOf(app_id, id))) this.#models.delete(key);
    }
  }

  /** Registers the gauges. They are computed together when they are read. */
  register(registry: Registry): void {
    const drifts = () => this.#drifts();
    for (const { name, help, value } of GAUGES) {
      new Gauge({
        ...{ name: `orchard_drift_${name}`, help, labelNames: ['app_id', 'model'] as const, registers: [registry] },
        async collect() {
          const found = await drifts();
          this.reset();
          for (const { app_id, model, drift } of found) this.set({ app_id, model }, value(drift));
        },
      });
    }
  }

  async #drifts() {
    const found: { readonly app_id: string; readonly model: string; readonly drift: Drift }[] = [];
    for (const watched of [...this.#models.values()]) {
      const drift = await watched.drift();
      if (drift !== undefined) found.push({ app_id: watched.app_id, model: watched.model, drift });
    }
    return found;
  }
}

interface DriftGauge {
  readonly name: string;
  readonly help: string;
  value(drift: Drift): number;
}

const GAUGES: readonly DriftGauge[] = [
  {
    name: 'texts',
    help: `Latest queries that are compared with the baseline, at most ${MOST_QUERIES}`,
    value: ({ texts }) => texts,
  },
  {
    name: 'known_share',
    help: "Mean share of a query's n-grams that the baseline's texts have, 0 to 1",
    value: ({ knownShare }) => knownShare.value,
  },
  {
    name: 'known_share_baseline',
    help: 'The same share of the texts of the baseline',
    value: ({ knownShare }) => knownShare.baseline,
  },
  {
    name: 'label_shift',
    help: 'Largest difference between the share of a label in the answers and in the baseline, 0 to 1',
    value: ({ labels }) => Math.abs(labels?.[0]?.shift ?? 0),
  },
  {
    name: 'alarm',
    help: '1 if the latest queries are unlike the baseline, at a level of 5 % per reading, else 0',
    value: ({ alarm }) => Number(alarm),
  },
];

const keyOf = (app_id: string, id: string): string => `${id} ${app_id}`;

interface Reference {
  /** Without vectors. */
  readonly baseline: Baseline;
  readonly filter: NGramFilter;
  readonly reading: AnswerReading;
  /** The labels of the baseline, and their places among them. */
  readonly places: ReadonlyMap<string, number>;
}

/** A query, without its text. */
interface Noted {
  readonly knownShare: number;
  readonly logLength: number;
  /** Places of labels in the baseline. */
  readonly labels: readonly number[];
}

class Watched {
  /** /metrics needs no key, so ids are not shown: the first twelve hex digits of the id's SHA-256. */
  readonly model: string;
  readonly #noted: Noted[] = [];
  #next = 0;
  #reference: Reference | undefined;
  #latest: Promise<Drift> | undefined;

  constructor(
    readonly app_id: string,
    id: string,
    folder: Promise<string>,
  ) {
    this.model = createHash('sha256').update(id).digest('hex').slice(0, 12);
    void this.#read(folder);
  }

  note(query: string, result: JudgedResult | undefined): void {
    if (this.#reference === undefined || result === undefined) return;
    const { filter, reading, places } = this.#reference;
    this.#noted[this.#next] = {
      knownShare: filter.share(query),
      logLength: logLength(query),
      labels: places.size === 0 ? [] : labelsOf(toAnswer(result, reading)).flatMap((label) => places.get(label) ?? []),
    };
    this.#next = (this.#next + 1) % MOST_QUERIES;
    this.#latest = undefined;
  }

  /** @returns undefined as long as nothing is known */
  async drift(): Promise<Drift | undefined> {
    if (this.#reference === undefined || this.#noted.length === 0) return undefined;
    this.#latest ??= this.#compared(this.#reference);
    return this.#latest;
  }

  async #compared({ baseline, places }: Reference): Promise<Drift> {
    const noted = [...this.#noted];
    const counts = new Int32Array(places.size);
    for (const { labels } of noted) for (const place of labels) counts[place] = (counts[place] ?? 0) + 1;
    const sample = {
      knownShares: noted.map(({ knownShare }) => knownShare),
      logLengths: noted.map((each) => each.logLength),
      labels: baseline.labels && Object.fromEntries([...places].map(([label, place]) => [label, counts[place] ?? 0])),
    };
    return withPauses(compare(baseline, sample, 0));
  }

  /** A model without a baseline is not watched. What else is wrong with its folder, its queries tell. */
  async #read(folder: Promise<string>): Promise<void> {
    try {
      const directory = await folder;
      const { vectors: _, ...baseline } = await readBaseline(directory);
      const places = new Map(Object.keys(baseline.labels ?? {}).map((label, place) => [label, place]));
      const reading = answerReading(await readConfig(directory), join(directory, CONFIG_FILE));
      this.#reference = { baseline, filter: NGramFilter.decode(baseline.known), reading, places };
    } catch {}
  }
}
