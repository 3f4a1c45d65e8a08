import { mkdirSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';

/** The text and what the label column holds. */
type Row = readonly [text: string, label: string | number];

const TRAIN: readonly Row[] = [
  ['good', 1],
  ['bad', 0],
];
const DEV: readonly Row[] = [
  ['better', 1],
  ['worse', 0],
];

/** A sound binary classification archive, to be spoiled: each method gives a changed copy. */
export function anArchive(): ArchiveBuilder {
  const config = {
    desc: 'Reviews',
    DATASET_NAME: 'reviews',
    DATA_DIR: 'reviews',
    TRAIN_FILE: 'train.tsv',
    DEV_FILE: 'dev.tsv',
    field_names: ['sentence', 'label'],
    field_header: 0,
    NUM_CLASS_LABELS: 1,
  };
  return new ArchiveBuilder(config, new Map()).withLabels(['no', 'yes']).withRows(TRAIN).withDevRows(DEV);
}

export class ArchiveBuilder {
  readonly #config: Readonly<Record<string, unknown>>;
  readonly #files: ReadonlyMap<string, Buffer>;

  constructor(config: Readonly<Record<string, unknown>>, files: ReadonlyMap<string, Buffer>) {
    this.#config = config;
    this.#files = files;
  }

  withRows(rows: readonly Row[]): ArchiveBuilder {
    return this.withFile('train.tsv', table(rows));
  }

  withDevRows(rows: readonly Row[]): ArchiveBuilder {
    return this.withFile('dev.tsv', table(rows));
  }

  withLabels(labels: readonly string[]): ArchiveBuilder {
    return this.withFile('label_id.json', JSON.stringify(Object.fromEntries(labels.entries())));
  }

  /** Fields given as undefined are left out. */
  withConfig(fields: Readonly<Record<string, unknown>>): ArchiveBuilder {
    return new ArchiveBuilder({ ...this.#config, ...fields }, this.#files);
  }

  withFile(name: string, contents: string | Buffer): ArchiveBuilder {
    return new ArchiveBuilder(this.#config, new Map([...this.#files, [name, Buffer.from(contents)]]));
  }

  without(name: string): ArchiveBuilder {
    return new ArchiveBuilder(this.#config, new Map([...this.#files].filter(([each]) => each !== name)));
  }

  /** Writes the files below a directory, as unzipping would; gives the directory. */
  writeTo(directory: string): string {
    for (const [name, contents] of this.#allFiles()) {
      mkdirSync(dirname(join(directory, name)), { recursive: true });
      writeFileSync(join(directory, name), contents);
    }
    return directory;
  }

  /** The zip's bytes, with the files in a folder. */
  zipped(folder = 'reviews/'): Promise<Buffer> {
    return zipOf(Object.fromEntries([...this.#allFiles()].map(([name, bytes]) => [folder + name, bytes])));
  }

  #allFiles(): ReadonlyMap<string, Buffer> {
    return new Map([['config.json', Buffer.from(JSON.stringify(this.#config))], ...this.#files]);
  }
}

function table(rows: readonly Row[]): string {
  return ['sentence\tlabel', ...rows.map((row) => row.join('\t')), ''].join('\n');
}

/** The bytes of a zip with these files. */
export async function zipOf(files: Readonly<Record<string, string | Buffer>>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, contents] of Object.entries(files)) zip.addBuffer(Buffer.from(contents), name);
  zip.end();
  return buffer(zip.outputStream);
}

/** Saves a zip with these files; gives its path. */
export async function saveZip(directory: string, files: Readonly<Record<string, string | Buffer>>) {
  const path = join(directory, 'dataset.zip');
  await writeFile(path, await zipOf(files));
  return path;
}
