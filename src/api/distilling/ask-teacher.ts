import { clearTimeout, setTimeout } from 'node:timers';
import { setTimeout as delay } from 'node:timers/promises';
import { AbortedError, isOrchardError, messageOf, TeacherError } from '../../contract/index.js';
import { counted } from '../../datasets/index.js';
import type { TeachingProgress } from '../distill.js';
import { type AnswersFile, answerKey, type KeptAnswer } from './answers-file.js';
import { type AnswerRules, checkedAnswer, type Taught } from './teacher-answers.js';
import type { OpenTeacher } from './teachers.js';

/** Asks a teacher for the answers that aren't kept yet, and keeps each as it comes. */

export interface AskedText {
  readonly text: string;
  /** Of a question: the passages to score. */
  readonly candidates?: readonly string[];
}

/** A text and its answer. */
export interface TaughtText extends AskedText {
  readonly taught: Taught;
}

export interface AskOptions {
  readonly concurrency: number;
  readonly textsPerCall: number;
  readonly attempts: number;
  readonly retryDelayMs: number;
  readonly callTimeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: (progress: TeachingProgress) => void;
}

export interface Answered {
  /** In the order of the texts. Those whose answer makes no sense are left out. */
  readonly taught: readonly TaughtText[];
  readonly unusable: readonly { readonly text: string; readonly problem: string }[];
  readonly kept: number;
  readonly retries: number;
  /** The mean over all answers, in this call and before. */
  readonly millisecondsPerText: number | undefined;
}

const LONGEST_DELAY_MS = 60_000;
/** How long calls in flight may take to end once the distillation stops. What they answer by then is kept. */
const GRACE_MS = 5000;

/** @throws TeacherError, AbortedError, StorageError, and what models and `onProgress` throw */
export async function askTeacher(
  teacher: OpenTeacher,
  texts: readonly AskedText[],
  rules: AnswerRules,
  file: AnswersFile,
  options: AskOptions,
): Promise<Answered> {
  const keyed = texts.map((each) => ({ ...each, key: answerKey(teacher.identity, each.text, each.candidates) }));
  const open = keyed.filter(({ key }) => !file.answers.has(key));
  const asking = new Asking(teacher, rules, file, options, { texts: texts.length, open: open.length });
  await asking.run(open);
  const taught: TaughtText[] = [];
  const unusable: { text: string; problem: string }[] = [];
  let ms = 0;
  for (const { key, ...asked } of keyed) {
    const kept = file.answers.get(key);
    if (kept === undefined) continue;
    ms += kept.ms;
    // Kept answers are checked anew: the labels may be other ones.
    const checked = checkedAnswer(kept.answer, asked.text, rules, asked.candidates);
    if ('problem' in checked) unusable.push({ text: asked.text, problem: kept.problem ?? checked.problem });
    else taught.push({ ...asked, taught: checked });
  }
  const { retries } = asking;
  const millisecondsPerText = texts.length === 0 ? undefined : ms / texts.length;
  return { taught, unusable, kept: texts.length - open.length, retries, millisecondsPerText };
}

type KeyedText = AskedText & { readonly key: string };

/** A call that failed after its last try. */
class GivenUp {
  constructor(
    readonly batch: readonly KeyedText[],
    readonly cause: unknown,
  ) {}
}

class Asking {
  readonly #teacher: OpenTeacher;
  readonly #rules: AnswerRules;
  readonly #file: AnswersFile;
  readonly #options: AskOptions;
  readonly #startedAt = performance.now();
  readonly #texts: number;
  readonly #open: number;
  readonly #stop = new AbortController();
  #answered = 0;
  #unusable = 0;
  #failure: { readonly thrown: unknown } | undefined;
  retries = 0;

  constructor(
    teacher: OpenTeacher,
    rules: AnswerRules,
    file: AnswersFile,
    options: AskOptions,
    { texts, open }: { readonly texts: number; readonly open: number },
  ) {
    this.#teacher = teacher;
    this.#rules = rules;
    this.#file = file;
    this.#options = options;
    this.#texts = texts;
    this.#open = open;
  }

  async run(open: readonly KeyedText[]): Promise<void> {
    const { concurrency, textsPerCall, signal } = this.#options;
    if (signal?.aborted) throw this.#aborted();
    const abort = () => this.#fail(this.#aborted());
    signal?.addEventListener('abort', abort, { once: true });
    let next = 0;
    const worker = async () => {
      while (next < open.length && !this.#stop.signal.aborted) {
        const batch = open.slice(next, next + textsPerCall);
        next += textsPerCall;
        await this.#ask(batch).catch((thrown: unknown) => this.#fail(thrown));
      }
    };
    const all = Promise.all(Array.from({ length: concurrency }, worker));
    try {
      await Promise.race([all, this.#stopped()]);
      const over = new AbortController();
      await Promise.race([all, delay(GRACE_MS, undefined, { signal: over.signal }).catch(() => undefined)]);
      over.abort();
      const { thrown } = this.#failure ?? {};
      // Only now are the answers of other calls written that were on their way.
      if (thrown instanceof GivenUp) throw this.#teacherError(thrown);
      if (this.#failure) throw thrown;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  #stopped(): Promise<void> {
    const { signal } = this.#stop;
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  }

  #fail(thrown: unknown): void {
    this.#failure ??= { thrown };
    this.#stop.abort();
  }

  #aborted(): AbortedError {
    return new AbortedError('the distillation', { cause: this.#options.signal?.reason });
  }

  async #ask(batch: readonly KeyedText[]): Promise<void> {
    const { answers, ms } = await this.#persistently(batch);
    const kept = batch.map(({ key, text, candidates }, at): KeptAnswer => {
      const answer = answers[at] ?? null;
      const checked = checkedAnswer(answer, text, this.#rules, candidates);
      const problem = 'problem' in checked ? { problem: checked.problem } : {};
      return { key, text, answer, ms: Number((ms / batch.length).toFixed(3)), ...problem };
    });
    await this.#file.add(kept);
    this.#answered += kept.length;
    this.#unusable += kept.filter(({ problem }) => problem !== undefined).length;
    const elapsedMs = performance.now() - this.#startedAt;
    this.#options.onProgress({
      type: 'teaching',
      answered: this.#texts - this.#open + this.#answered,
      texts: this.#texts,
      unusable: this.#unusable,
      retries: this.retries,
      elapsedMs,
      remainingMs: (elapsedMs / this.#answered) * (this.#open - this.#answered),
    });
  }

  /** Tries a call of a function several times, with pauses that double (plus a random half, so that calls spread out). */
  async #persistently(batch: readonly KeyedText[]) {
    const { attempts, retryDelayMs } = this.#options;
    const { signal } = this.#stop;
    for (let attempt = 1; ; attempt += 1) {
      const startedAt = performance.now();
      try {
        const answers = await this.#call(batch);
        return { answers, ms: performance.now() - startedAt };
      } catch (thrown) {
        if (!this.#teacher.mayFail || signal.aborted) throw thrown;
        if (attempt >= attempts) throw new GivenUp(batch, thrown);
        this.retries += 1;
        const pauseMs = Math.min(LONGEST_DELAY_MS, retryDelayMs * 2 ** (attempt - 1) * (1 + Math.random() / 2));
        await delay(pauseMs, undefined, { signal });
      }
    }
  }

  /** @throws what the teacher throws, or an Error for answers that can't be those of the texts */
  async #call(batch: readonly KeyedText[]): Promise<readonly unknown[]> {
    const { callTimeoutMs } = this.#options;
    const stop = new AbortController();
    const abort = () => stop.abort(this.#stop.signal.reason);
    this.#stop.signal.addEventListener('abort', abort, { once: true });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const error = new Error(`no answer within ${callTimeoutMs} ms`);
        reject(error);
        stop.abort(error);
      }, callTimeoutMs);
    });
    try {
      const candidates = batch.flatMap((each) => (each.candidates ? [each.candidates] : []));
      const texts = batch.map(({ text }) => text);
      const answers: unknown = await Promise.race([
        this.#teacher.ask(texts, { signal: stop.signal, candidates }),
        late,
      ]);
      if (Array.isArray(answers) && answers.length === batch.length) return answers;
      const found = Array.isArray(answers) ? counted(answers.length, 'answer') : 'no array';
      throw new Error(
        `it returned ${found} for ${counted(batch.length, 'text')}; return an array with one answer per text`,
      );
    } finally {
      clearTimeout(timer);
      this.#stop.signal.removeEventListener('abort', abort);
    }
  }

  #teacherError({ batch, cause }: GivenUp): TeacherError {
    const [first] = batch;
    const texts = batch.length === 1 ? '' : ` and ${batch.length - 1} more`;
    const text = JSON.stringify(first?.text.slice(0, 60) ?? '');
    const reason = isOrchardError(cause) ? `${cause.code}: ${cause.message}` : messageOf(cause);
    const answered = this.#texts - this.#open + this.#answered;
    return new TeacherError(
      `the teacher failed ${counted(this.#options.attempts, 'time')} on ${text}${texts}: ${reason}`,
      { answered, left: this.#texts - answered, answers: this.#file.path, cause },
    );
  }
}
