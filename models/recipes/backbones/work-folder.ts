import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The folder of a recipe's intermediate results; outside the repository, as it holds the datasets' texts. */
export class WorkFolder {
  /** One piece per line, for a language without a bundled vocabulary. */
  readonly vocabulary: string;
  readonly passages: string;
  readonly embeddings: string;
  readonly checkpoint: string;
  readonly annealed: string;
  readonly curve: string;
  readonly #targets: string;

  constructor(readonly path: string) {
    this.vocabulary = join(path, 'vocab.txt');
    this.passages = join(path, 'passages.txt');
    this.embeddings = join(path, 'embeddings.safetensors');
    this.checkpoint = join(path, 'checkpoint.safetensors');
    this.annealed = join(path, 'annealed.safetensors');
    this.curve = join(path, 'curve');
    this.#targets = join(path, 'targets');
    mkdirSync(path, { recursive: true });
  }

  /** The lines of the corpus, in order; only LF ends one. */
  readPassages(): string[] {
    return readFileSync(this.passages, 'utf8').trimEnd().split('\n');
  }

  /** The file of the teacher's targets for the passages of one shard. */
  targetShard(shard: number): string {
    mkdirSync(this.#targets, { recursive: true });
    return join(this.#targets, `${String(shard).padStart(5, '0')}.safetensors`);
  }

  /** The target files that exist, in the order of the corpus. */
  targetShards(): string[] {
    if (!existsSync(this.#targets)) return [];
    const names = readdirSync(this.#targets).filter((name) => name.endsWith('.safetensors'));
    return names.sort().map((name) => join(this.#targets, name));
  }
}
