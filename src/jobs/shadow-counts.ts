import * as z from 'zod';
import { MAX_LABEL_PAIRS, StorageError } from '../contract/index.js';
import { isVersionConflict, type Storage, withStorageErrors } from '../storage/index.js';
import { accountKey, SHADOW_COUNTS } from './account-records.js';
import { VersionRecords } from './version-records.js';

const countsSchema = z.lazy(() =>
  z.strictObject({
    /** Token of the shadow that was asked: counts of an earlier one are replaced. */
    run: z.string(),
    agreed: z.int(),
    disagreed: z.int(),
    errors: z.int(),
    dropped: z.int(),
    /** Sum of the shadow's highest scores minus the returned ones, and of how many queries. */
    scoreDifference: z.number(),
    scored: z.int(),
    /** First label of the returned answer, that of the shadow's, and of how many queries. */
    pairs: z.array(z.tuple([z.string(), z.string(), z.int()])).readonly(),
    otherPairs: z.int(),
  }),
);
/** How the answers of a shadow compare. */
export type ShadowCounts = z.infer<typeof countsSchema>;

export function noCounts(run: string): ShadowCounts {
  const none = { agreed: 0, disagreed: 0, errors: 0, dropped: 0, scoreDifference: 0, scored: 0, otherPairs: 0 };
  return { run, ...none, pairs: [] };
}

/** The sum of both, of the run of the second. */
export function addCounts(some: ShadowCounts, more: ShadowCounts): ShadowCounts {
  const pairs = new Map(some.pairs.map((pair) => [pairKey(pair), pair]));
  let otherPairs = some.otherPairs + more.otherPairs;
  for (const [answered, shadow, queries] of more.pairs) {
    const key = pairKey([answered, shadow]);
    const known = pairs.get(key)?.[2] ?? 0;
    if (known === 0 && pairs.size >= MAX_LABEL_PAIRS) otherPairs += queries;
    else pairs.set(key, [answered, shadow, known + queries]);
  }
  return {
    run: more.run,
    agreed: some.agreed + more.agreed,
    disagreed: some.disagreed + more.disagreed,
    errors: some.errors + more.errors,
    dropped: some.dropped + more.dropped,
    scoreDifference: some.scoreDifference + more.scoreDifference,
    scored: some.scored + more.scored,
    pairs: [...pairs.values()],
    otherPairs,
  };
}

function pairKey([answered, shadow]: readonly [string, string, number?]): string {
  return JSON.stringify([answered, shadow]);
}

const MAX_WRITE_ATTEMPTS = 100;

/** The counts of an account's shadows, as `shadow-counts/<app_id>/<name>`. All processes add to the same. */
export class ShadowCountRecords {
  readonly #storage: Storage;
  readonly #prefix: string;
  readonly #names: VersionRecords;

  constructor(storage: Storage, appId: string) {
    this.#storage = withStorageErrors(storage);
    this.#prefix = `${accountKey(appId)}/`;
    this.#names = new VersionRecords(storage, appId);
  }

  /** Adds counts, unless the shadow is no longer that of the name. @throws StorageError */
  async add(name: string, counts: ShadowCounts): Promise<void> {
    for (let attempt = 1; attempt <= MAX_WRITE_ATTEMPTS; attempt += 1) {
      const found = await this.#storage.read(SHADOW_COUNTS, this.#key(name));
      // After the counts: a shadow that was replaced before is seen here, and one that is replaced later is a conflict.
      if ((await this.#runOf(name)) !== counts.run) return;
      const known = countsSchema.safeParse(found?.value);
      const sum = known.success && known.data.run === counts.run ? addCounts(known.data, counts) : counts;
      try {
        await this.#storage.write(SHADOW_COUNTS, this.#key(name), JSON.parse(JSON.stringify(sum)), found?.version);
      } catch (thrown) {
        if (isVersionConflict(thrown)) continue;
        throw thrown;
      }
      // A deletion removes the name first, and then this record.
      if ((await this.#runOf(name)) === undefined) await this.remove(name);
      return;
    }
    throw new StorageError(
      `record ${SHADOW_COUNTS}/${this.#key(name)} could not be written: its version kept changing; try again`,
    );
  }

  async read(name: string, run: string): Promise<ShadowCounts> {
    const found = await this.#storage.read(SHADOW_COUNTS, this.#key(name));
    const known = countsSchema.safeParse(found?.value);
    return known.success && known.data.run === run ? known.data : noCounts(run);
  }

  async remove(name: string): Promise<void> {
    await this.#storage.remove(SHADOW_COUNTS, this.#key(name));
  }

  async #runOf(name: string): Promise<string | undefined> {
    return (await this.#names.read()).names[name]?.shadow?.run;
  }

  #key(name: string): string {
    return this.#prefix + name;
  }
}
