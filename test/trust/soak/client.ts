import { z } from 'zod';

/** Longest that any request may take here, but for one that waits for a job. */
const PATIENCE_MS = 60_000;

export interface Answer {
  readonly status: number;
  readonly body: string;
}

interface SendOptions {
  readonly type?: string;
  readonly signal?: AbortSignal;
  readonly patienceMs?: number;
}

/** One account's requests. Whatever is wrong with an answer of the service is noted. */
export class Client {
  readonly #url: string;
  readonly #apiKey: string;
  readonly #faults: string[];
  /** Answers by their status. */
  readonly #counts: Map<number, number>;

  constructor(url: string, apiKey: string, { faults, counts }: { faults: string[]; counts: Map<number, number> }) {
    this.#url = url;
    this.#apiKey = apiKey;
    this.#faults = faults;
    this.#counts = counts;
  }

  async send(
    method: string,
    path: string,
    body?: string | Buffer,
    { type = 'application/json', signal, patienceMs = PATIENCE_MS }: SendOptions = {},
  ): Promise<Answer> {
    const response = await fetch(this.#url + path, {
      method,
      headers: { 'x-api-key': this.#apiKey, ...(body !== undefined && { 'content-type': type }) },
      signal: AbortSignal.any([AbortSignal.timeout(patienceMs), ...(signal ? [signal] : [])]),
      ...(body !== undefined && { body }),
    });
    const answer = { status: response.status, body: await response.text() };
    this.#counts.set(answer.status, (this.#counts.get(answer.status) ?? 0) + 1);
    const isBroken = answer.status >= 500 && answer.status !== 503;
    if (isBroken) this.#faults.push(`${method} ${path}: ${answer.status} ${answer.body.slice(0, 300)}`);
    return answer;
  }

  post(path: string, body: object, signal?: AbortSignal): Promise<Answer> {
    return this.send('POST', path, JSON.stringify(body), signal && { signal });
  }

  /** @returns the id, or undefined where the job was refused. */
  async createJob(request: object): Promise<string | undefined> {
    const { status, body } = await this.post('/trainer/language/training-jobs', request);
    return status === 200 ? created.parse(JSON.parse(body)).id : undefined;
  }

  async statusOf(id: string): Promise<string> {
    const { body } = await this.send('GET', `/trainer/language/training-jobs/${id}`);
    return job.parse(JSON.parse(body)).data.status;
  }

  /** What went wrong beside the answers. */
  fault(what: string): void {
    this.#faults.push(what);
  }
}

const created = z.object({ id: z.string() });
const job = z.object({ data: z.object({ status: z.string() }) });
