import { existsSync } from 'node:fs';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type ModelSize, train } from 'orchard-nlp';
import { z } from 'zod';

/** One model of each family, on an archive in examples/. */
const kinds = {
  classification: { dataset: 'customer-reviews', type: 'binary-text-classification', task: 'text-classification' },
  tagging: { dataset: 'news-entities', type: 'sequence-labeling', task: 'token-classification' },
  retrieval: { dataset: 'library-questions', type: 'question-answering', task: 'feature-extraction' },
} as const;
const kindNames = ['classification', 'tagging', 'retrieval'] as const;
type KindName = (typeof kindNames)[number];

export const subjectNames = [...kindNames, 'medley'] as const;
export type SubjectName = (typeof subjectNames)[number];

/** Which graph answers; `encoder` is float32 without the lexical expert. */
export type Precision = 'float32' | 'int8' | 'encoder';

/** Of `orchard.graph` in config.json, and the file that transformers.js reads as `q8`. */
const QUANTIZED_GRAPH = 'onnx/model_quantized.onnx';
/** What only training and other libraries read. */
const UNREAD = 'model.safetensors';
/** Enough for the taggers to find entities and for 8 bits to hold on dev; speed does not depend on how well. */
const EPOCHS = 6;

/** A model as every library finds it. */
export interface BenchModel {
  /** By transformers.js' name. */
  readonly task: (typeof kinds)[KindName]['task'];
  readonly directory: string;
}

/** The trained models of one size: for each precision a folder of copies that differ in their config.json only. */
export class Models {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Trains what the folder does not hold yet. In lower case, Orchard and its peers start from the same vocabulary. */
  static async prepare(folder: string, size: ModelSize, threads: number): Promise<Models> {
    const models = new Models(folder);
    for (const kind of kindNames) await models.#train(kind, kind, size, threads, true);
    // A retriever answers in one precision: its passages' vectors were computed by the graph that answers.
    await models.#train('retrieval', 'float32-retrieval', size, threads, false);
    for (const precision of ['float32', 'int8', 'encoder'] as const) {
      for (const kind of kindNames) await models.#copy(kind, precision, kind);
      await models.#copy('classification', precision, 'more-classification');
    }
    return models;
  }

  /** A folder of models by name: `classification`, `tagging`, `retrieval` and `more-classification`. */
  folderOf(precision: Precision): string {
    return join(this.#folder, precision);
  }

  /** @returns undefined if the trainer found that 8 bits cost too much for one of them. */
  of(subject: SubjectName, precision: Precision): readonly BenchModel[] | undefined {
    const located = (kind: KindName, name: string = kind): BenchModel => {
      return { task: kinds[kind].task, directory: join(this.folderOf(precision), name) };
    };
    const models =
      subject === 'medley'
        ? [...kindNames.map((kind) => located(kind)), located('classification', 'more-classification')]
        : [located(subject)];
    const isWhole = precision !== 'int8' || models.every(({ directory }) => hasQuantizedGraph(directory));
    return isWhole ? models : undefined;
  }

  async #train(kind: KindName, name: string, size: ModelSize, threads: number, quantize: boolean): Promise<void> {
    const output = join(this.#folder, 'trained', name);
    if (existsSync(output)) return;
    const { dataset, type } = kinds[kind];
    const path = new URL(`../../examples/${dataset}`, import.meta.url).pathname;
    const options = { path, type, size, threads, output, epochs: EPOCHS, pretrained: false, tuning: { quantize } };
    const trained = await train(options);
    if (trained.isErr()) throw trained.error;
    await trained.value.close();
  }

  async #copy(kind: KindName, precision: Precision, name: string): Promise<void> {
    const source = join(
      this.#folder,
      'trained',
      kind === 'retrieval' && precision !== 'int8' ? 'float32-retrieval' : kind,
    );
    const target = join(this.folderOf(precision), name);
    const config = join(target, 'config.json');
    if (existsSync(config)) return;
    const filter = (path: string) => basename(path) !== UNREAD && basename(path) !== 'config.json';
    await cp(source, target, { recursive: true, filter });
    // Last, so that a copy that was broken off is made again.
    await writeFile(config, await configOf(source, precision));
  }
}

function hasQuantizedGraph(directory: string): boolean {
  return existsSync(join(directory, QUANTIZED_GRAPH));
}

const configSchema = z.looseObject({
  orchard: z.looseObject({ family: z.string(), files: z.array(z.string()), blend: z.looseObject({}).optional() }),
});
type Orchard = z.infer<typeof configSchema>['orchard'];

/** A folder's config.json, saying which graph answers and what the lexical expert counts. */
async function configOf(directory: string, precision: Precision): Promise<string> {
  const { orchard, ...config } = configSchema.parse(JSON.parse(await readFile(join(directory, 'config.json'), 'utf8')));
  const changed = {
    ...orchard,
    graph: precision === 'int8' && hasQuantizedGraph(directory) ? QUANTIZED_GRAPH : undefined,
    ...(precision === 'encoder' && encoderAlone(orchard)),
  };
  return JSON.stringify({ ...config, orchard: changed }, undefined, 2);
}

/** A classifier may do without its expert; a retriever needn't weigh it. A tagger needs it, and is left as it is. */
function encoderAlone({ family, files, blend }: Orchard): Partial<Orchard> {
  if (family === 'Papaya') {
    return { files: files.filter((name) => name !== 'lexical.safetensors'), blend: undefined };
  }
  return family === 'Dragonfruit' ? { blend: { ...blend, encoder: 1, expert: 0 } } : {};
}
