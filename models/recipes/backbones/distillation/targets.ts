import { targetSettings } from '../settings.js';
import type { TokenRange } from './aligned-spans.js';
import { TargetFolder, type TeacherRecord } from './target-folder.js';
import { TargetIndex } from './target-index.js';
import { RowFile } from './target-rows.js';
import type { Track } from './track.js';

/** Whose targets to read, and which. */
export interface TargetsRead {
  readonly folder: string;
  readonly tracks: readonly Track[];
}

/** A text's vectors of one track; they hold until the next are read. */
export interface TextRows {
  /** Bytes in proportion to the vector. @param row 0: the whole passage, then the spans. */
  codes(row: number): Int8Array;
  /** What the bytes are to be multiplied by. */
  scale(row: number): number;
}

interface OpenShard {
  readonly index: TargetIndex;
  readonly rows: ReadonlyMap<Track, RowFile>;
}

/** One teacher's targets for some shards. The vectors stay on disk until they are asked for. */
export class TeacherTargets {
  private constructor(
    readonly record: TeacherRecord,
    private readonly shards: readonly OpenShard[],
  ) {}

  static open({ folder, tracks }: TargetsRead, shards: readonly number[]): TeacherTargets {
    const targets = new TargetFolder(folder);
    const record = targets.record();
    const opened = shards.map((shard) => ({
      index: TargetIndex.read(targets.indexFile(shard)),
      rows: new Map(tracks.map((track) => [track, new RowFile(targets.rowsFile(shard, track), record.width)])),
    }));
    return new TeacherTargets(record, opened);
  }

  /** Texts of each shard. */
  get sizes(): number[] {
    return this.shards.map(({ index }) => index.texts);
  }

  tokens(shard: number, text: number): number {
    return this.#shard(shard).index.tokens(text);
  }

  ids(shard: number, text: number): Int32Array {
    return this.#shard(shard).index.ids(text);
  }

  spans(shard: number, text: number): TokenRange[] {
    return this.#shard(shard).index.spans(text);
  }

  /** @param spans as many as the text has. */
  rows(shard: number, text: number, track: Track, spans: number): TextRows {
    const { index, rows } = this.#shard(shard);
    const file = rows.get(track);
    if (file === undefined) throw new Error(`${this.record.name}: the track ${track} isn't open`);
    return file.read(index.firstRow(text), 1 + spans);
  }

  close(): void {
    for (const { rows } of this.shards) for (const file of rows.values()) file.close();
  }

  #shard(shard: number): OpenShard {
    const found = this.shards[shard];
    if (found === undefined) throw new RangeError(`${this.record.name} has no shard ${shard}`);
    return found;
  }
}

/** One text, by its place among the shards that are open. */
export interface Place {
  readonly shard: number;
  readonly text: number;
}

/** The texts that every teacher has targets for. */
export class Targets {
  readonly places: readonly Place[];

  private constructor(
    readonly teachers: ReadonlyMap<string, TeacherTargets>,
    private readonly shards: readonly number[],
  ) {
    const sizes = [...teachers.values()].map((each) => each.sizes);
    const first = sizes[0] ?? [];
    if (sizes.some((each) => each.join() !== first.join()))
      throw new Error('the teachers have targets of other texts: compute them for the same corpus');
    this.places = first.flatMap((texts, shard) => Array.from({ length: texts }, (_, text) => ({ shard, text })));
  }

  /** @throws Error if there is no shard that all teachers have, or theirs are of different corpora. */
  static open(read: readonly TargetsRead[]): Targets {
    const complete = read.map(({ folder, tracks }) => new TargetFolder(folder).shards(tracks));
    const shards = (complete[0] ?? []).filter((shard) => complete.every((each) => each.includes(shard)));
    if (shards.length === 0) {
      const wanted = read.map(({ folder, tracks }) => `${folder}: ${tracks.join(', ')}`).join('; ');
      throw new Error(`no shard has all targets (${wanted}); run the step "targets" for each teacher first`);
    }
    const teachers = read.map((each) => TeacherTargets.open(each, shards));
    const corpora = new Set(teachers.map(({ record }) => `${record.corpus} ${record.tokenizer}`));
    if (corpora.size > 1) throw new Error('the targets are of different corpora or tokenizers; compute them anew');
    return new Targets(new Map(teachers.map((each) => [each.record.name, each])), shards);
  }

  /** The passage's index in the corpus. */
  passage({ shard, text }: Place): number {
    const number = this.shards[shard];
    if (number === undefined) throw new RangeError(`no shard ${shard} is open`);
    return number * targetSettings.shardTexts + text;
  }

  ids({ shard, text }: Place): Int32Array {
    return this.#first().ids(shard, text);
  }

  tokens({ shard, text }: Place): number {
    return this.#first().tokens(shard, text);
  }

  of(teacher: string): TeacherTargets {
    const found = this.teachers.get(teacher);
    if (found === undefined) throw new Error(`no targets of ${teacher} are open`);
    return found;
  }

  close(): void {
    for (const teacher of this.teachers.values()) teacher.close();
  }

  #first(): TeacherTargets {
    for (const teacher of this.teachers.values()) return teacher;
    throw new Error('no teacher has targets');
  }
}
