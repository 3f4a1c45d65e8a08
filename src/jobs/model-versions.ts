import { randomUUID } from 'node:crypto';
import type { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import {
  type Account,
  accountSchema,
  callResult,
  familyNameOf,
  implementation,
  LOCAL_ACCOUNT,
  MAX_VERSION_CHANGES,
  MAX_VERSION_NAMES,
  type ModelVersion,
  NotFoundError,
  type OrchardError,
  RollbackError,
  requireOptions,
  type ShadowComparison,
  ValidationError,
  type VersionChange,
  validate,
  versionNameSchema,
} from '../contract/index.js';
import { taskOf } from '../families/index.js';
import { type Storage, withStorageErrors } from '../storage/index.js';
import { timestamp } from './clock.js';
import type { JobRecord } from './job-record.js';
import { JobRepository } from './job-repository.js';
import { readyModel, requireReady } from './ready-models.js';
import { ShadowCountRecords } from './shadow-counts.js';
import { internalsOf } from './trainer-options.js';
import { type NamedModel, type NameRecord, type NamesRecord, nameIn, VersionRecords } from './version-records.js';

/** Options of {@link ModelVersions}. */
export interface ModelVersionsOptions {
  /** The storage of the Trainer that made the models. */
  readonly storage: Storage;
  /** The account of the models. Default: the local account. */
  readonly account?: Account;
}

/** Options of `rollBack`. */
export interface RollbackOptions {
  /**
   * Rolls back only if the name points to this model. If it was already rolled back from this model, nothing changes,
   * so the call can be repeated safely. Default: rolls back from the model that the name points to.
   */
  readonly from?: string | undefined;
}

const optionsSchema = z.lazy(() =>
  z.strictObject({
    storage: implementation<Storage>(
      ['read', 'write', 'remove', 'list', 'openFolder'],
      "pass the storage of the Trainer that made the models, such as fileStorage('./models')",
    ),
    account: accountSchema.default(LOCAL_ACCOUNT),
  }),
);
const rollbackSchema = z.strictObject({ from: z.string().optional() });
const idSchema = z.string().min(1, 'give the id of a READY model');

/**
 * Names that point to trained models of an account, such as `support@production`. A `Predictor` accepts them in place
 * of a model's id. Every change is one atomic step, which other processes with the same storage see within a second.
 *
 * Every call can fail with a ValidationError, a StorageError and, except for `list` and `promote`, with a NotFoundError
 * for an unknown name.
 */
export class ModelVersions {
  readonly #storage: Storage;
  readonly #records: VersionRecords;
  readonly #jobs: JobRepository;
  readonly #counts: ShadowCountRecords;
  readonly #now: () => string;

  /** @throws ValidationError for an unknown option, or one that is wrong */
  constructor(options: ModelVersionsOptions) {
    const { storage, account } = validate(optionsSchema, options ?? {});
    const { clock } = internalsOf(options);
    this.#storage = withStorageErrors(storage);
    this.#records = new VersionRecords(storage, account.app_id);
    this.#jobs = new JobRepository(storage, account.app_id, taskOf);
    this.#counts = new ShadowCountRecords(storage, account.app_id);
    this.#now = () => timestamp(clock.now());
  }

  /** All names, in alphabetical order. */
  list(): ResultAsync<readonly ModelVersion[], OrchardError> {
    return callResult(this.#list(), 'listing versions');
  }

  /** What a name points to, its history and the counts of its shadow. */
  get(name: string): ResultAsync<ModelVersion, OrchardError> {
    return this.#call('reading', name, async () => nameIn(await this.#records.tell(), name));
  }

  /**
   * Points a name to a READY model and creates the name if it is new. Does nothing if the name already points to the
   * model. A shadow stays, with new counts, unless it is this model. Fails with a NotFoundError or ModelNotReadyError
   * for a model that can't answer, and with a ValidationError for one of another family, or for a new name if the
   * account has 100 names.
   */
  promote(name: string, model_id: string): ResultAsync<ModelVersion, OrchardError> {
    return this.#call('promoting', name, () =>
      this.#change(async (record) => {
        const known = Object.hasOwn(record.names, name) ? record.names[name] : undefined;
        if (known === undefined && Object.keys(record.names).length >= MAX_VERSION_NAMES) {
          const msg = `the account has ${MAX_VERSION_NAMES} names; delete one first`;
          throw new ValidationError([{ loc: ['version'], msg, type: 'too_many' }]);
        }
        const model = await this.#claim(model_id, record, known);
        const current = known?.models.at(-1);
        if (current?.id === model.id) return record;
        const models = [...(known?.models ?? []), model].slice(-MAX_VERSION_CHANGES);
        return this.#pointed(record, name, known, models, { action: 'promote', from: current?.id ?? null });
      }, name),
    );
  }

  /**
   * Points a name to the model that it pointed to before the last promotion that was not rolled back. Fails with a
   * RollbackError if there is none, if it was deleted, or if the name points to another model than `from`.
   */
  rollBack(name: string, options: RollbackOptions = {}): ResultAsync<ModelVersion, OrchardError> {
    return this.#call('rolling back', name, () => {
      const { from } = validate(rollbackSchema, requireOptions(options, '`{ from }`'));
      return this.#change(async (record) => {
        const known = nameIn(record, name);
        const [current, previous] = [known.models.at(-1), known.models.at(-2)];
        if (from !== undefined && current?.id !== from) {
          const last = known.history.at(-1);
          if (last?.action === 'rollback' && last.from === from) return record;
          throw new RollbackError(name, `it points to ${current?.id}, not to ${from}`);
        }
        if (current === undefined || previous === undefined) {
          throw new RollbackError(name, 'it has no earlier model to return to; promote one');
        }
        const job = await this.#jobs.find(previous.id);
        if (job?.status !== 'READY' || record.deleting.includes(previous.id)) {
          throw new RollbackError(name, `the previous model, ${previous.id}, was deleted; promote another model`);
        }
        const models = known.models.slice(0, -1);
        return this.#pointed(record, name, known, models, { action: 'rollback', from: current.id });
      }, name);
    });
  }

  /**
   * Compares the answers of a second model, the shadow: it gets the same queries after they are answered, and its
   * answers are only counted. Does nothing if the model is already the shadow; a different shadow begins with new
   * counts. Fails with a NotFoundError or ModelNotReadyError for a model that can't answer, and with a ValidationError
   * for the model that the name points to, or for a model of another family.
   */
  setShadow(name: string, model_id: string): ResultAsync<ModelVersion, OrchardError> {
    return this.#call('setting the shadow of', name, () =>
      this.#change(async (record) => {
        const known = nameIn(record, name);
        if (known.models.at(-1)?.id === model_id) {
          const msg = `${name} already points to this model; give another model as its shadow`;
          throw new ValidationError([{ loc: ['model_id'], msg, type: 'same_model' }]);
        }
        const model = await this.#claim(model_id, record, known);
        if (known.shadow?.model.id === model.id) return record;
        const shadow = { model, run: randomUUID(), since: this.#now() };
        return { ...record, names: { ...record.names, [name]: { ...known, shadow } } };
      }, name),
    );
  }

  /** Ends the comparison and removes its counts. Does nothing without a shadow. */
  clearShadow(name: string): ResultAsync<ModelVersion, OrchardError> {
    return this.#call('clearing the shadow of', name, async () => {
      const changed = await this.#change(async (record) => {
        const { shadow, ...known } = nameIn(record, name);
        return shadow === undefined ? record : { ...record, names: { ...record.names, [name]: known } };
      }, name);
      await this.#counts.remove(name);
      return changed;
    });
  }

  /** Deletes a name with its history. The models stay. */
  delete(name: string): ResultAsync<void, OrchardError> {
    const work = async () => {
      validate(versionNameSchema, name, ['version']);
      nameIn(await this.#records.read(), name);
      await this.#records.removeName(name);
      await this.#counts.remove(name);
    };
    return callResult(work(), `deleting the version ${name}`);
  }

  #call(doing: string, name: string, work: () => Promise<NameRecord>): ResultAsync<ModelVersion, OrchardError> {
    const call = async () => {
      validate(versionNameSchema, name, ['version']);
      return this.#versionOf(name, await work());
    };
    return callResult(call(), `${doing} ${name}`);
  }

  async #change(change: (record: NamesRecord) => Promise<NamesRecord>, name: string): Promise<NameRecord> {
    const changed = await this.#records.update(change);
    const found = nameIn(changed, name);
    const current = found.models.at(-1);
    if (current === undefined || (await this.#jobs.find(current.id)) !== undefined) return found;
    // An account that was erased meanwhile keeps no names.
    await this.#records.removeName(name);
    throw new NotFoundError('model', current.id);
  }

  /**
   * A READY model that a name may point to from now on: its record says so before the name does, and a deletion that reads
   * this looks for names first.
   */
  async #claim(id: string, { deleting }: NamesRecord, known: NameRecord | undefined): Promise<NamedModel> {
    const model_id = validate(idSchema, id, ['model_id']);
    const { job } = await readyModel(model_id, this.#jobs, this.#storage);
    const { type } = job.model_config;
    const other = known?.models.at(-1)?.type;
    if (other !== undefined && familyNameOf[other] !== familyNameOf[type]) {
      const msg = `the model is of the family ${familyNameOf[type]}, but the name points to a model of the family ${familyNameOf[other]}, whose answers have another format; use another name, or delete this one first`;
      throw new ValidationError([{ loc: ['model_id'], msg, type: 'model_family' }]);
    }
    if (deleting.includes(model_id)) throw new NotFoundError('model', model_id, 'it is being deleted');
    const named = (job: JobRecord): JobRecord => {
      requireReady(job);
      return job.was_named ? job : { ...job, was_named: true };
    };
    await this.#jobs.update(model_id, named, { resource: 'model' });
    return { id: model_id, type };
  }

  #pointed(
    record: NamesRecord,
    name: string,
    known: NameRecord | undefined,
    models: readonly NamedModel[],
    { action, from }: Pick<VersionChange, 'action' | 'from'>,
  ): NamesRecord {
    const { shadow } = known ?? {};
    const model_id = models.at(-1)?.id ?? '';
    const at = this.#now();
    const changed: NameRecord = {
      models,
      history: [...(known?.history ?? []), { action, model_id, from, at }].slice(-MAX_VERSION_CHANGES),
      // The counts compare two models, so they begin anew.
      ...(shadow && shadow.model.id !== model_id && { shadow: { ...shadow, run: randomUUID(), since: at } }),
    };
    return { ...record, names: { ...record.names, [name]: changed } };
  }

  async #list(): Promise<ModelVersion[]> {
    const { names } = await this.#records.tell();
    const sorted = Object.entries(names).sort(([a], [b]) => (a < b ? -1 : 1));
    return Promise.all(sorted.map(([name, record]) => this.#versionOf(name, record)));
  }

  async #versionOf(name: string, { models, history, shadow }: NameRecord): Promise<ModelVersion> {
    return {
      name,
      model_id: models.at(-1)?.id ?? '',
      previous_model_id: models.at(-2)?.id ?? null,
      history: history.toReversed(),
      shadow: shadow === undefined ? null : await this.#comparison(name, shadow),
    };
  }

  async #comparison(name: string, { model, run, since }: NonNullable<NameRecord['shadow']>): Promise<ShadowComparison> {
    const counts = await this.#counts.read(name, run);
    const { agreed, disagreed, errors, dropped, scored, scoreDifference, pairs, otherPairs } = counts;
    return {
      model_id: model.id,
      since,
      asked: agreed + disagreed + errors,
      agreed,
      disagreed,
      errors,
      dropped,
      mean_score_difference: scored === 0 ? null : scoreDifference / scored,
      label_pairs: pairs
        .map(([answered, shadow, queries]) => ({ answered, shadow, queries }))
        .sort((a, b) => b.queries - a.queries),
      other_pairs: otherPairs,
    };
  }
}
