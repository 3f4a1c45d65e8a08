import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileStorage, type ModelSize } from 'orchard-nlp';
import { z } from 'zod';
import { choosePrecision, type Precision, QUANTIZED_GRAPH } from './precision.js';
import type { BenchModel } from './protocol.js';
import { type KindName, kinds, trainModel } from './train-models.js';

export type SubjectName = KindName | 'medley';
const kindNames: readonly KindName[] = ['classification', 'tagging', 'retrieval'];
export const subjectNames: readonly SubjectName[] = [...kindNames, 'medley'];

const medleyModels: readonly { readonly name: string; readonly kind: KindName }[] = [
  { name: 'reviews', kind: 'classification' },
  { name: 'more-reviews', kind: 'classification' },
  { name: 'entities', kind: 'tagging' },
  { name: 'passages', kind: 'retrieval' },
];

/** Models of one subject in one precision. */
export interface SubjectModels {
  readonly models: readonly BenchModel[];
  /** Orchard's storage that has them. */
  readonly storage: string;
}

const idsSchema = z.strictObject({
  classification: z.string(),
  tagging: z.string(),
  retrieval: z.string(),
  /** A retriever answers with one precision: its passages' vectors were computed by the graph that answers. */
  float32Retrieval: z.string(),
});
type Ids = z.infer<typeof idsSchema>;

/** What only training and other libraries read. */
const UNREAD = 'model.safetensors';

/** The trained models of one size; each precision is a copy of the storage with other config.json files. */
export class Models {
  readonly #folder: string;
  readonly #ids: Ids;

  private constructor(folder: string, ids: Ids) {
    this.#folder = folder;
    this.#ids = ids;
  }

  /** Trains what the folder does not hold yet. */
  static async prepare(folder: string, size: ModelSize, threads: number): Promise<Models> {
    const file = join(folder, 'models.json');
    if (!existsSync(file)) {
      await mkdir(folder, { recursive: true });
      const models = new Models(folder, await trainAll(join(folder, 'trained'), size, threads));
      for (const precision of ['float32', 'int8', 'encoder'] as const) await models.#write(precision);
      await writeFile(file, JSON.stringify(models.#ids));
    }
    return new Models(folder, idsSchema.parse(JSON.parse(await readFile(file, 'utf8'))));
  }

  /** @returns undefined if the trainer found that 8 bits cost too much for one of them. */
  async of(subject: SubjectName, precision: Precision): Promise<SubjectModels | undefined> {
    const storage = join(this.#folder, precision);
    const models: BenchModel[] = [];
    if (subject !== 'medley') models.push(await this.#located(subject, precision));
    else {
      for (const { name, kind } of medleyModels) {
        const directory = join(this.#folder, `${precision}-medley`, name);
        models.push({ ...(await this.#located(kind, precision)), directory });
      }
    }
    const hasInt8 = models.every(({ directory }) => existsSync(join(directory, QUANTIZED_GRAPH)));
    return precision === 'int8' && !hasInt8 ? undefined : { models, storage };
  }

  async #located(kind: KindName, precision: Precision): Promise<BenchModel> {
    const isPlain = kind === 'retrieval' && precision !== 'int8';
    const id = isPlain ? this.#ids.float32Retrieval : this.#ids[kind];
    const directory = await fileStorage(join(this.#folder, precision)).openFolder(id);
    if (directory === undefined) throw new Error(`there is no model ${id}`);
    return { task: kinds[kind].task, id, directory };
  }

  async #write(precision: Precision): Promise<void> {
    await copyModel(join(this.#folder, 'trained'), join(this.#folder, precision));
    for (const kind of kindNames) {
      await choosePrecision((await this.#located(kind, precision)).directory, precision);
    }
    for (const { name, kind } of medleyModels) {
      const { directory } = await this.#located(kind, precision);
      await copyModel(directory, join(this.#folder, `${precision}-medley`, name));
    }
  }
}

function copyModel(from: string, to: string): Promise<void> {
  return cp(from, to, { recursive: true, filter: (path) => basename(path) !== UNREAD });
}

async function trainAll(folder: string, size: ModelSize, threads: number): Promise<Ids> {
  const train = (kind: KindName, quantize: boolean) => trainModel(folder, kind, { size, threads, quantize });
  return {
    classification: await train('classification', true),
    tagging: await train('tagging', true),
    retrieval: await train('retrieval', true),
    float32Retrieval: await train('retrieval', false),
  };
}
