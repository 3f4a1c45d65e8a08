import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { decodeSafetensors, encodeSafetensors } from '../../../../src/models/index.js';
import { replaceFile } from '../../../../src/system/index.js';
import { poolings } from './teachers.js';
import type { Track } from './track.js';

const teacherRecordSchema = z.strictObject({
  name: z.string(),
  prefix: z.string(),
  pooling: z.enum(poolings),
  licence: z.string(),
  /** How it computed. */
  arithmetic: z.enum(['float32', 'int8']),
  /** Numbers of a vector. */
  width: z.int(),
  /** SHA-256 of the passages and of the student's tokenizer, which the rows belong to. */
  corpus: z.string(),
  tokenizer: z.string(),
});
/** Whose targets a folder has, and of which passages. */
export type TeacherRecord = z.infer<typeof teacherRecordSchema>;

/** What is subtracted from a track's vectors: their means, those of passages and of spans by themselves. */
export interface Means {
  readonly passages: Float32Array;
  readonly spans: Float32Array;
}

const RECORD_FILE = 'teacher.json';
const INDEX_SUFFIX = '.safetensors';
const ROWS_SUFFIX = '.rows';

/** The folder of one teacher's targets: a record, and for each shard an index and a file of rows for each track. */
export class TargetFolder {
  constructor(readonly path: string) {
    mkdirSync(path, { recursive: true });
  }

  indexFile(shard: number): string {
    return join(this.path, `${shardName(shard)}${INDEX_SUFFIX}`);
  }

  rowsFile(shard: number, track: Track): string {
    return join(this.path, `${shardName(shard)}.${track}${ROWS_SUFFIX}`);
  }

  /** The shards that have an index and all these tracks, in order. */
  shards(tracks: readonly Track[]): number[] {
    const names = readdirSync(this.path).filter((name) => /^\d+\.safetensors$/u.test(name));
    const numbers = names.map((name) => Number(name.slice(0, -INDEX_SUFFIX.length)));
    return numbers.sort((a, b) => a - b).filter((shard) => this.missing(shard, tracks).length === 0);
  }

  /** Those of the tracks that a shard lacks. */
  missing(shard: number, tracks: readonly Track[]): Track[] {
    if (!existsSync(this.indexFile(shard))) return [...tracks];
    return tracks.filter((track) => !existsSync(this.rowsFile(shard, track)));
  }

  record(): TeacherRecord {
    const file = join(this.path, RECORD_FILE);
    if (!existsSync(file)) throw new Error(`${this.path}: no targets; run the step "targets" first`);
    return teacherRecordSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  }

  /** Writes the record, or compares it with the one that is there. @throws Error if targets differ from it. */
  async claim(record: TeacherRecord): Promise<void> {
    const file = join(this.path, RECORD_FILE);
    if (!existsSync(file)) {
      const draft = `${file}.${process.pid}.draft`;
      await replaceFile(file, `${JSON.stringify(record, undefined, 2)}\n`, { draft });
    }
    const found = this.record();
    for (const [key, value] of Object.entries(record)) {
      const earlier = Object.entries(found).find(([name]) => name === key)?.[1];
      if (earlier === value) continue;
      throw new Error(`${file}: its targets are of another ${key} (${earlier}, not ${value}); delete the folder`);
    }
  }

  /** The means that were stored; undefined if none were. */
  means(track: Track): Means | undefined {
    const file = this.#meansFile(track);
    if (!existsSync(file)) return undefined;
    const { tensors } = decodeSafetensors(readFileSync(file), file);
    const [passages, spans] = [tensors.get('passages')?.values, tensors.get('spans')?.values];
    if (passages === undefined || spans === undefined) throw new Error(`${file} holds no means; delete it`);
    return { passages, spans };
  }

  async storeMeans(track: Track, { passages, spans }: Means): Promise<void> {
    const file = this.#meansFile(track);
    const tensor = (values: Float32Array) => ({ shape: [values.length], values });
    const tensors = new Map([
      ['passages', tensor(passages)],
      ['spans', tensor(spans)],
    ]);
    await replaceFile(file, encodeSafetensors(tensors), { draft: `${file}.${process.pid}.draft` });
  }

  #meansFile(track: Track): string {
    return join(this.path, `means.${track}.safetensors`);
  }
}

const shardName = (shard: number): string => String(shard).padStart(5, '0');
