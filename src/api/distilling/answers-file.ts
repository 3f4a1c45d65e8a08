import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { isOrchardError, ValidationError } from '../../contract/index.js';
import {
  chunksOf,
  ensureDirectory,
  FileLocks,
  flush,
  isPauseDue,
  pause,
  temporaryRoot,
  writeFailure,
} from '../../system/index.js';

/** The JSON Lines file that keeps a teacher's answers: a header, then a line for each answer. */

const HEADER = '{"format":"orchard-answers","version":1}';
/** How long a line may wait for the medium. Lines are handed to the system at once, so that only a power cut can lose them. */
const FLUSH_MS = 1000;
/** How long a call waits for another one that uses the file, which may just be ending. */
const CLAIM_MS = 1000;

/** A line of the file. */
export interface KeptAnswer {
  /** Of teacher and text: see {@link answerKey}. */
  readonly key: string;
  readonly text: string;
  /** As the teacher gave it; what JSON has no word for, such as NaN, is null. */
  readonly answer: unknown;
  /** What its call took, divided by the texts of the call. */
  readonly ms: number;
  /** Why it makes no sense. */
  readonly problem?: string;
}

/** @param candidates the passages to score: with others, a question is asked again */
export function answerKey(teacher: string, text: string, candidates: readonly string[] = []): string {
  const hash = createHash('sha256');
  for (const part of [teacher, text, ...candidates]) hash.update(`${part.length}\0${part}`);
  return hash.digest('hex').slice(0, 32);
}

export interface AnswersFile {
  readonly path: string | undefined;
  readonly answers: ReadonlyMap<string, KeptAnswer>;
  /** Keeps answers. When it resolves, a killed process has not lost them. @throws StorageError */
  add(answers: readonly KeptAnswer[]): Promise<void>;
}

/** Keeps nothing. */
export function answersInMemory(): AnswersFile {
  const answers = new Map<string, KeptAnswer>();
  return {
    path: undefined,
    answers,
    add: async (more) => {
      for (const each of more) answers.set(each.key, each);
    },
  };
}

/**
 * Opens the file, which is made if it is missing, for `work`. A line that a killed process did not finish is removed.
 * @throws ValidationError if it is another kind of file or another call uses it, StorageError
 */
export async function withAnswersFile<Value>(
  path: string,
  work: (file: AnswersFile) => Promise<Value>,
): Promise<Value> {
  const directory = await temporaryRoot();
  const name = `orchard-answers-${createHash('sha256').update(path).digest('hex').slice(0, 32)}`;
  const signal = AbortSignal.timeout(CLAIM_MS);
  let isClaimed = false;
  const claimed = new FileLocks(directory, directory).hold(
    name,
    async () => {
      isClaimed = true;
      const file = await OpenAnswersFile.open(path);
      try {
        return await work(file);
      } finally {
        await file.close();
      }
    },
    { signal },
  );
  return claimed.catch((thrown: unknown) => {
    if (isClaimed || !signal.aborted) throw thrown;
    throw invalidFile(
      path,
      'in_use',
      'another distillation is writing to this file; wait until it ends, or give another file',
    );
  });
}

class OpenAnswersFile implements AnswersFile {
  readonly path: string;
  readonly answers: Map<string, KeptAnswer>;
  readonly #file: FileHandle;
  #writing: Promise<void> = Promise.resolve();
  #waiting: string[] = [];
  #flushedAt = performance.now();

  private constructor(path: string, answers: Map<string, KeptAnswer>, file: FileHandle) {
    this.path = path;
    this.answers = answers;
    this.#file = file;
  }

  static async open(path: string): Promise<OpenAnswersFile> {
    try {
      await ensureDirectory(dirname(path));
      const file = await open(path, 'a+');
      try {
        const { answers, bytes } = await readAnswers(path);
        await file.truncate(bytes);
        if (bytes === 0) await file.appendFile(`${HEADER}\n`);
        return new OpenAnswersFile(path, answers, file);
      } catch (thrown) {
        await file.close();
        throw thrown;
      }
    } catch (thrown) {
      throw isOrchardError(thrown) ? thrown : await writeFailure(path, thrown);
    }
  }

  add(answers: readonly KeptAnswer[]): Promise<void> {
    this.#waiting.push(...answers.map((answer) => `${JSON.stringify(answer)}\n`));
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing.then(() => {
      for (const each of answers) this.answers.set(each.key, each);
    });
  }

  /** What came in during the last write goes out in one. */
  async #write(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const lines = this.#waiting.join('');
    this.#waiting = [];
    try {
      await this.#file.appendFile(lines);
      if (performance.now() - this.#flushedAt >= FLUSH_MS) await this.#flush();
    } catch (thrown) {
      throw await writeFailure(this.path, thrown);
    }
  }

  async #flush(): Promise<void> {
    await flush(this.#file);
    this.#flushedAt = performance.now();
  }

  async close(): Promise<void> {
    await this.#writing.catch(() => undefined); // said already
    try {
      await this.#flush();
    } catch (thrown) {
      throw await writeFailure(this.path, thrown);
    } finally {
      await this.#file.close();
    }
  }
}

/** @returns also how many bytes its whole lines have */
async function readAnswers(path: string) {
  const answers = new Map<string, KeptAnswer>();
  let bytes = 0;
  let line = 0;
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunksOf(path)) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let from = 0;
    for (let to = rest.indexOf(10); to >= 0; to = rest.indexOf(10, from)) {
      const text = rest.toString('utf8', from, to);
      from = to + 1;
      line += 1;
      if (line === 1 && text !== HEADER) throw foreign(path);
      const answer = line === 1 ? undefined : answerIn(text);
      if (answer) answers.set(answer.key, answer);
      if (isPauseDue()) await pause();
    }
    bytes += from;
    rest = rest.subarray(from);
  }
  if (line === 0 && !HEADER.startsWith(rest.toString('utf8'))) throw foreign(path);
  return { answers, bytes };
}

/** Undefined of a line that a power cut has spoilt: its text is asked again. */
function answerIn(line: string): KeptAnswer | undefined {
  try {
    const { key, text, answer, ms, problem } = JSON.parse(line);
    if (typeof key !== 'string' || typeof text !== 'string' || typeof ms !== 'number') return undefined;
    return { key, text, answer, ms, ...(typeof problem === 'string' && { problem }) };
  } catch {
    return undefined;
  }
}

function foreign(path: string): ValidationError {
  return invalidFile(
    path,
    'not_empty',
    `this is not a file of answers, which begins with the line ${HEADER}; give another path`,
  );
}

function invalidFile(path: string, type: string, msg: string): ValidationError {
  return new ValidationError([{ loc: ['answers'], msg: `${basename(path)}: ${msg}`, type }]);
}
