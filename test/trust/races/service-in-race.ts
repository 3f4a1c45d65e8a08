import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type fc from 'fast-check';
import type { ResultAsync } from 'neverthrow';
import { ModelFolderError, type OrchardError } from '../../../src/contract/errors.js';
import { type InferenceService, Predictor } from '../../../src/inference/index.js';
import { JobRepository, Trainer } from '../../../src/jobs/index.js';
import { withInternals } from '../../../src/jobs/trainer-options.js';
import type { Storage } from '../../../src/storage/index.js';
import { FakeHost, type FakeRun } from '../../jobs/fake-host.js';
import { ManualClock } from '../../jobs/manual-clock.js';
import { aRequest } from '../../jobs/request.js';
import { type Call, canExplain, type State, stateOf } from './reference.js';
import { JobHistory, watched } from './watched-storage.js';

export type OperationKind = 'create' | 'cancel' | 'delete' | 'predict' | 'get' | 'finish';

/** One call in a batch. */
export interface Operation {
  readonly kind: OperationKind;
  /** Which of the jobs there are, counted round. */
  readonly job: number;
  /** Which of the two processes is asked. */
  readonly process: 0 | 1;
}

/** The trainer and predictor that a process would have. */
interface Process {
  readonly trainer: Trainer;
  readonly predictor: Predictor;
  readonly host: FakeHost;
}

/** Two processes that share a storage, and the reference beside them. */
export class ServiceInRace {
  readonly history = new JobHistory();
  readonly #storage: Storage;
  readonly #plain: Storage;
  readonly #scheduler: fc.Scheduler | undefined;
  readonly #clock = new ManualClock();
  readonly #processes: Process[];
  readonly #hosts: FakeHost[] = [];
  readonly #states = new Map<string, State>();
  readonly problems: string[] = [];

  constructor(storage: Storage, scheduler?: fc.Scheduler) {
    this.#plain = storage;
    this.#scheduler = scheduler;
    this.#storage = watched(storage, this.history, scheduler);
    this.#processes = [this.#start(), this.#start()];
  }

  /** Makes calls at the same time, and asks whether any order of them explains what came of it. */
  async batch(operations: readonly Operation[]): Promise<void> {
    const ids = [...this.#states.keys()];
    const calls = new Map<string, Call[]>();
    const note = (id: string, call: Call) => calls.set(id, [...(calls.get(id) ?? []), call]);
    await this.pump(
      Promise.all(
        operations.map(async ({ kind, job, process }) => {
          const { trainer, predictor } = this.#process(process);
          if (kind === 'create') return this.#create(trainer);
          if (kind === 'finish') return this.#finish(note);
          const id = ids[job % ids.length];
          if (id === undefined) return;
          if (kind === 'cancel') note(id, { kind, outcome: await codeOf(trainer.cancelTrainingJob(id)) });
          if (kind === 'delete') note(id, { kind, outcome: await codeOf(trainer.deleteModel(id)) });
          if (kind === 'predict') note(id, { kind, outcome: await codeOf(predictor.predictCustom(id, 'text')) });
          if (kind === 'get') {
            const found = await trainer.getTrainingJob(id);
            note(id, { kind, outcome: found.isOk() ? stateOf(found.value.status) : found.error.code });
          }
        }),
      ),
    );
    await this.#compare(calls);
  }

  /** Ends one process and starts another in its place. */
  async restart(process: 0 | 1): Promise<void> {
    await this.pump(this.#close(this.#process(process)));
    this.#processes[process] = this.#start();
  }

  /** Lets every job come to its end and looks at what is left. */
  async settle(): Promise<void> {
    await this.pump(Promise.all(this.#processes.map((each) => this.#close(each))));
    const last = this.#start();
    const stop = this.#finishAll();
    await this.pump(Promise.all([...this.#states.keys()].map((id) => last.trainer.waitForTrainingJob(id))));
    stop();
    const listed = await this.pump(listAll(last.trainer));
    for (const [id, state] of this.#states) {
      const { status } = (await this.pump(Promise.resolve(last.trainer.getTrainingJob(id))))._unsafeUnwrap();
      const end = stateOf(status);
      if (end !== state && state !== 'OPEN') this.problems.push(`${id} was ${state} and is ${end} in the end`);
      if (end === 'OPEN') this.problems.push(`${id} is lost as ${status}`);
      if (listed.has(id) !== (end !== 'DELETED')) this.problems.push(`${id} is ${end}, but listed: ${listed.has(id)}`);
      const hasFolder = (await this.#plain.openFolder(id)) !== undefined;
      if (hasFolder !== (end === 'READY')) this.problems.push(`${id} is ${end}, but has a folder: ${hasFolder}`);
    }
    await this.pump(this.#close(last));
    const unfinished = await new JobRepository(this.#plain, 'local').unfinished();
    if (unfinished.length > 0) this.problems.push(`left in the queue: ${unfinished.map(({ id }) => id)}`);
    if (Math.max(...this.#hosts.map((each) => each.mostTogether)) > 1) this.problems.push('two runs in one process');
    this.problems.push(...this.history.violations);
  }

  /** Has turns taken, and time pass where nothing else happens, until the work is done. */
  async pump<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const done = work.finally(() => {
      isDone = true;
    });
    done.catch(() => undefined);
    let advancing: Promise<void> | undefined;
    for (let idle = 0; !isDone; ) {
      if (this.#scheduler !== undefined && this.#scheduler.count() > 0) {
        idle = 0;
        await this.#scheduler.waitOne();
        continue;
      }
      await nextTurn();
      idle += 1;
      if (idle < 20 || advancing !== undefined) continue;
      idle = 0;
      advancing = this.#clock.advance(5000).finally(() => {
        advancing = undefined;
      });
    }
    return done;
  }

  #process(at: 0 | 1): Process {
    const found = this.#processes[at];
    if (found === undefined) throw new Error(`there is no process ${at}`);
    return found;
  }

  #start(): Process {
    const host = new FakeHost();
    this.#hosts.push(host);
    const storage = this.#storage;
    const trainer = new Trainer(withInternals({ storage, host, maxWaitingJobs: 1000 }, { clock: this.#clock }));
    return { trainer, host, predictor: new Predictor({ storage, inference: readsFolder }) };
  }

  async #close({ trainer, predictor }: Process): Promise<void> {
    await Promise.all([trainer.close(), predictor.close()]);
  }

  async #create(trainer: Trainer): Promise<void> {
    const created = await trainer.createTrainingJob(aRequest);
    if (created.isErr()) this.problems.push(`create failed: ${created.error.message}`);
    else this.#states.set(created.value.id, 'OPEN');
  }

  async #finish(note: (id: string, call: Call) => void): Promise<void> {
    const run = this.#running();
    if (run === undefined) return;
    ended.add(run);
    const { id } = run.spec;
    await run.finish().catch(() => undefined); // the files of a run that was cancelled may be gone
    const [{ trainer }] = [this.#process(0)];
    await trainer.waitForTrainingJob(id);
    note(id, { kind: 'finish', outcome: 'ok' });
  }

  #running(): FakeRun | undefined {
    return this.#hosts.flatMap((host) => host.runs).findLast((run) => !run.options.signal.aborted && !ended.has(run));
  }

  /** Finishes every run there is, until it is told to stop. */
  #finishAll(): () => void {
    let isStopped = false;
    const work = async () => {
      while (!isStopped) {
        for (const run of this.#hosts.flatMap((host) => host.runs)) await run.finish().catch(() => undefined);
        await nextTurn();
      }
    };
    void work();
    return () => {
      isStopped = true;
    };
  }

  async #compare(calls: ReadonlyMap<string, readonly Call[]>): Promise<void> {
    const jobs = new JobRepository(this.#plain, 'local');
    for (const [id, before] of this.#states) {
      const job = await jobs.find(id);
      const after = job === undefined ? undefined : stateOf(job.status);
      const made = calls.get(id) ?? [];
      if (after === undefined || !canExplain(before, made, after)) {
        const told = made.map(({ kind, outcome }) => `${kind}: ${outcome}`).join(', ');
        this.problems.push(`${id} went from ${before} to ${after} by ${told || 'nothing'}`);
      }
      if (after !== undefined) this.#states.set(id, after);
    }
  }
}

/** Runs that were finished. */
const ended = new WeakSet<FakeRun>();

/** Answers where the model's file is there, as one would that loads it. */
const readsFolder: InferenceService = {
  predict: async (directory, texts) => {
    const file = join(directory, 'model.safetensors');
    await access(file).catch((cause: unknown) => {
      throw new ModelFolderError(file, 'it is gone', { cause });
    });
    return { results: texts.map(() => ({ labels: ['yes'], scores: [1] })), elapsedMs: 1, truncated: [] };
  },
  warm: async () => undefined,
  forget: () => undefined,
  stats: () => {
    throw new Error('nobody asks');
  },
  close: async () => undefined,
};

async function codeOf(call: ResultAsync<unknown, OrchardError>): Promise<string> {
  const outcome = await call;
  return outcome.isOk() ? 'ok' : outcome.error.code;
}

async function listAll(trainer: Trainer): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let cursor: string | undefined; ; ) {
    const page = await trainer.listTrainingJobs({ limit: 100, ...(cursor !== undefined && { cursor }) });
    const { data, pagination } = page._unsafeUnwrap();
    for (const { model } of data) ids.add(model.id);
    if (pagination.next_cursor === null) return ids;
    cursor = pagination.next_cursor;
  }
}
