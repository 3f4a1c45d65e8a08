import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The folder of a recipe's intermediate results; outside the repository, as it holds the datasets' texts. What does not
 * depend on the student (its vocabulary, passages and targets) may lie in another one, which several students share.
 */
export class WorkFolder {
  /** One piece per line, for students without a bundled vocabulary. */
  readonly vocabulary: string;
  readonly passages: string;
  /** What the passages were made of. */
  readonly corpusRecord: string;
  readonly embeddings: string;
  /** The student's shape and how it learns. */
  readonly student: string;
  readonly checkpoint: string;
  readonly annealed: string;
  readonly curve: string;
  /** Accuracy of classifiers on frozen states, by the time that the student had learned. */
  readonly probes: string;
  readonly #targets: string;

  /** @param shared folder of the corpus and the targets. Default: the same. */
  constructor(
    readonly path: string,
    shared = path,
  ) {
    this.vocabulary = join(shared, 'vocab.txt');
    this.passages = join(shared, 'passages.txt');
    this.corpusRecord = join(shared, 'corpus.json');
    this.embeddings = join(path, 'embeddings.safetensors');
    this.student = join(path, 'student.json');
    this.checkpoint = join(path, 'checkpoint.safetensors');
    this.annealed = join(path, 'annealed.safetensors');
    this.curve = join(path, 'curve');
    this.probes = join(path, 'probes.csv');
    this.#targets = join(shared, 'targets');
    mkdirSync(path, { recursive: true });
  }

  /** The lines of the corpus, in order; only LF ends one. */
  readPassages(): string[] {
    return readFileSync(this.passages, 'utf8').trimEnd().split('\n');
  }

  /** The folder of one teacher's targets. */
  targets(teacher: string): string {
    return join(this.#targets, teacher);
  }

  /** The names of the teachers that have targets. */
  teachers(): string[] {
    return existsSync(this.#targets) ? readdirSync(this.#targets).sort() : [];
  }
}
