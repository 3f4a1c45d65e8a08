import { EventSourceParserStream } from 'eventsource-parser/stream';
import type * as z from 'zod';
import type {
  InferenceResponse,
  InferenceResult,
  ModelConfig,
  ModelRecord,
  Page,
  TrainingConfig,
} from '../../contract/index.js';
import type {
  explanationSchema,
  JobStreamEvent,
  LabellingSetAnswer,
  labellingListSchema,
  opinionSchema,
  pageModelsSchema,
} from '../schemas.js';

export type Job = Extract<JobStreamEvent, { event: 'job' }>['data'];
export type LabellingSet = LabellingSetAnswer['data'];
export type ListedSet = z.infer<typeof labellingListSchema>['data'][number];
export type Opinion = NonNullable<z.infer<typeof opinionSchema>['data']>;
export type PageModels = z.infer<typeof pageModelsSchema>;
export type Explanation = z.infer<typeof explanationSchema>['data'];
/** A job as typed; the service checks it. */
export interface NewJob {
  readonly model_config: Readonly<Record<keyof Omit<ModelConfig, 'preprocessing'>, string>>;
  readonly training_config: Readonly<Partial<Record<keyof TrainingConfig, number>>>;
}

/** A problem in the `detail` of an answer: where in the request, and what is wrong. */
export interface Problem {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
}

/** An answer other than a success. */
export class Refused extends Error {
  constructor(
    /** 0 if there was no answer. */
    readonly status: number,
    readonly problems: readonly Problem[],
  ) {
    super(problems.map(({ msg }) => msg).join('; '));
  }
}

/** The HTTP service, with an API key. All methods reject with a {@link Refused}. */
export class Service {
  readonly #apiKey: string;

  constructor(apiKey: string) {
    this.#apiKey = apiKey;
  }

  pageModels(): Promise<PageModels> {
    return this.#json('/page/models');
  }

  readyModels(): Promise<ModelRecord[]> {
    return this.#allPages('/trainer/language/models?trainingStatus=READY&');
  }

  async jobs(): Promise<readonly Job[]> {
    const { data } = await this.#json<Page<Job>>('/trainer/language/training-jobs?limit=20');
    return data;
  }

  /** @param model its path below /predictor/language: `pre-trained/name` or `model/id`. */
  predict(model: string, query: string): Promise<InferenceResponse<InferenceResult>> {
    return this.#json(`/predictor/language/${model}`, { method: 'POST', json: { query } });
  }

  /** As {@link predict}, with the words that influenced the answer. */
  explain(model: string, query: string): Promise<z.infer<typeof explanationSchema>> {
    return this.#json('/page/explanations', { method: 'POST', json: { model, query } });
  }

  async modelFile(id: string, file: 'report' | 'card' | 'zip'): Promise<Blob> {
    const response = await this.#ask(`/page/models/${id}/${file}`);
    return response.blob();
  }

  async deleteModel(id: string): Promise<void> {
    await this.#ask(`/trainer/language/models/${id}`, { method: 'DELETE' });
  }

  /**
   * @param type of the model to train, which decides how a file of rows is read
   * @param columns the columns of a file of rows that have other names than usual, by what they hold
   * @returns the id of the upload
   */
  async upload(file: File, type: string, columns?: Readonly<Record<string, string | undefined>>): Promise<string> {
    const isZip = /\.zip$/i.test(file.name);
    const headers = {
      'content-type': isZip ? 'application/zip' : 'text/plain',
      ...(!isZip && { 'x-file-name': encodeURIComponent(file.name), 'x-model-type': type }),
      ...(!isZip && columns && { 'x-columns': encodeURIComponent(JSON.stringify(columns)) }),
    };
    const response = await this.#ask('/page/uploads', { method: 'POST', headers, body: file });
    const { upload }: { upload: string } = await response.json();
    return upload;
  }

  trainOnUpload(upload: string, job: NewJob): Promise<{ id: string }> {
    return this.#json('/page/training-jobs', { method: 'POST', json: { upload, ...job } });
  }

  trainOnUrl(dataset_url: string, job: NewJob): Promise<{ id: string }> {
    return this.#json('/trainer/language/training-jobs', { method: 'POST', json: { dataset_url, ...job } });
  }

  async sets(): Promise<readonly ListedSet[]> {
    const { data } = await this.#json<{ readonly data: readonly ListedSet[] }>(SETS);
    return data;
  }

  /** @param texts a file with one text per line, or a table or JSON Lines with a column of texts */
  createSet(name: string, labels: readonly string[], texts: File): Promise<LabellingSet> {
    const headers = {
      ...{ 'content-type': 'text/plain', 'x-file-name': encodeURIComponent(texts.name), 'x-set-name': name },
      'x-labels': encodeURIComponent(JSON.stringify(labels)),
    };
    return this.#set('', { method: 'POST', headers, body: texts });
  }

  set(id: string): Promise<LabellingSet> {
    return this.#set(`/${id}`);
  }

  /** @param label null skips the text */
  choose(id: string, text: number, label: string | null): Promise<LabellingSet> {
    return this.#set(`/${id}/choices`, { method: 'POST', json: { text, label } });
  }

  undo(id: string, text: number): Promise<LabellingSet> {
    return this.#set(`/${id}/undo`, { method: 'POST', json: { text } });
  }

  /** What the model says of a text that was labelled; null if it says nothing. */
  async opinion(id: string, text: number): Promise<Opinion | null> {
    const sent = { method: 'POST', json: { text } };
    const { data } = await this.#json<{ readonly data: Opinion | null }>(`${SETS}/${id}/opinions`, sent);
    return data;
  }

  noteTraining(id: string, model_id: string): Promise<LabellingSet> {
    return this.#set(`/${id}/training`, { method: 'POST', json: { model_id } });
  }

  orderTexts(id: string): Promise<LabellingSet> {
    return this.#set(`/${id}/order`, { method: 'POST' });
  }

  async labelledRows(id: string): Promise<Blob> {
    const response = await this.#ask(`${SETS}/${id}/rows`);
    return response.blob();
  }

  async deleteSet(id: string): Promise<void> {
    await this.#ask(`${SETS}/${id}`, { method: 'DELETE' });
  }

  async cancel(id: string): Promise<void> {
    await this.#ask(`/trainer/language/training-jobs/${id}`, { method: 'DELETE' });
  }

  /** The events of a job, its current state first. Ends with the job or the connection. */
  async *jobEvents(id: string, signal: AbortSignal): AsyncGenerator<JobStreamEvent, void, undefined> {
    const headers = { accept: 'text/event-stream' };
    const { body } = await this.#ask(`/page/training-jobs/${id}/events`, { headers, signal });
    if (body === null) return;
    const events = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
    for await (const { event, data } of chunksOf(events)) {
      if (event === 'job' || event === 'progress' || event === 'failed') {
        yield { event, data: JSON.parse(data) };
      }
    }
  }

  async #set(path: string, init: Sent = {}): Promise<LabellingSet> {
    const { data } = await this.#json<LabellingSetAnswer>(SETS + path, init);
    return data;
  }

  async #allPages<Item>(path: string): Promise<Item[]> {
    const items: Item[] = [];
    for (let cursor = ''; ; ) {
      const { data, pagination } = await this.#json<Page<Item>>(`${path}limit=100${cursor}`);
      items.push(...data);
      if (pagination.next_cursor === null) return items;
      cursor = `&cursor=${encodeURIComponent(pagination.next_cursor)}`;
    }
  }

  async #json<Answer>(path: string, { json, ...init }: Sent = {}): Promise<Answer> {
    const sent = json === undefined ? {} : { body: JSON.stringify(json), headers: JSON_TYPE };
    const response = await this.#ask(path, { ...init, ...sent });
    return response.json();
  }

  async #ask(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { ...init.headers, 'x-api-key': this.#apiKey };
    const response = await fetch(path, { ...init, headers }).catch(async (thrown: unknown) => {
      if (init.signal?.aborted) throw thrown;
      const isLost = init.body instanceof Blob && !(await isReadable(init.body));
      const problem = isLost
        ? { loc: ['body'], msg: 'the file was changed or removed after you chose it; choose it again' }
        : { loc: [], msg: "the service can't be reached; is it running?" };
      throw new Refused(0, [problem]);
    });
    if (response.ok) return response;
    const answer: { readonly detail?: readonly Problem[] } = await response.json().catch(() => ({}));
    const msg = `the service answered with status ${response.status}`;
    throw new Refused(response.status, answer.detail ?? [{ loc: [], msg }]);
  }
}

type Sent = RequestInit & { readonly json?: unknown };

/** Browsers refuse to read, and so to send, a file that was edited after it was chosen. */
function isReadable(file: Blob): Promise<boolean> {
  const firstByte = file.slice(0, 1).arrayBuffer();
  return firstByte.then(Boolean, () => false);
}

/** Not every Safari has an async iterator of streams. A stream that is not read to its end is cancelled. */
async function* chunksOf<Chunk>(stream: ReadableStream<Chunk>): AsyncGenerator<Chunk, void, undefined> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}

const SETS = '/page/labelling-sets';
const JSON_TYPE = { 'content-type': 'application/json' };

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15_000;

export function hasEnded({ status }: Job): boolean {
  return !['CREATED', 'QUEUED', 'RUNNING'].includes(status);
}

/**
 * The events of a job until it has ended. Reconnects as needed; each connection begins with the whole state.
 * @param onLost called when the connection is lost, before the next attempt
 * Rejects with a Refused if the job can't be watched.
 */
export async function* watchJob(
  service: Service,
  id: string,
  signal: AbortSignal,
  onLost: () => void,
): AsyncGenerator<JobStreamEvent, void, undefined> {
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
    try {
      for await (const event of service.jobEvents(id, signal)) {
        if (event.event === 'failed') break;
        yield event;
        if (event.event === 'job' && hasEnded(event.data)) return;
        waitMs = FIRST_WAIT_MS;
      }
    } catch (thrown) {
      if (signal.aborted || (thrown instanceof Refused && isFinal(thrown))) throw thrown;
    }
    signal.throwIfAborted();
    onLost();
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}

/** Whether another attempt would get the same answer. */
function isFinal({ status }: Refused): boolean {
  return status >= 400 && status < 500 && status !== 429;
}
