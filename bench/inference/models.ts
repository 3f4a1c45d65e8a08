import { existsSync } from 'node:fs';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exportModel, type ModelSize, train } from 'orchard-nlp';
import { z } from 'zod';

/** One model of each family: of the catalogue, or trained on an archive in examples/. */
const kinds = {
  classification: {
    pretrained: 'sentiment-classification',
    dataset: 'customer-reviews',
    type: 'binary-text-classification',
    task: 'text-classification',
  },
  tagging: {
    pretrained: 'named-entity-recognition',
    dataset: 'news-entities',
    type: 'sequence-labeling',
    task: 'token-classification',
  },
  retrieval: {
    pretrained: 'research-papers-search',
    dataset: 'library-questions',
    type: 'question-answering',
    task: 'feature-extraction',
  },
} as const;
/** Where models come from: the catalogue, with 8-bit weights, or a training run in this size, with both. */
export type Origin = 'catalogue' | ModelSize;

const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));

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

/** The models of one origin: a folder of them for each precision, with the same vectors of passages in all. */
export class Models {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Makes what the folder does not hold yet. */
  static async prepare(folder: string, origin: Origin, threads: number): Promise<Models> {
    const models = new Models(folder);
    for (const precision of ['float32', 'int8', 'encoder'] as const) {
      for (const kind of kindNames) {
        const source =
          origin === 'catalogue'
            ? await models.#pretrained(kind, precision)
            : await models.#trained(kind, origin, threads);
        await models.#copy(source, precision, kind);
        if (kind === 'classification') await models.#copy(source, precision, 'more-classification');
      }
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

  async #pretrained(kind: KindName, precision: Precision): Promise<string> {
    const folder = path(`models/catalogue/${kinds[kind].pretrained}`);
    if (precision === 'int8') return folder;
    const output = join(this.#folder, 'float32-weights', kind);
    if (!existsSync(output)) (await exportModel(folder, output))._unsafeUnwrap();
    return output;
  }

  /** In lower case, Orchard and its peers start from the same vocabulary. */
  async #trained(kind: KindName, size: ModelSize, threads: number): Promise<string> {
    const output = join(this.#folder, 'trained', kind);
    if (existsSync(output)) return output;
    const { dataset, type } = kinds[kind];
    const settings = { type, size, threads, output, epochs: EPOCHS, pretrained: false, tuning: { quantize: true } };
    const trained = await train({ path: path(`examples/${dataset}`), ...settings });
    if (trained.isErr()) throw trained.error;
    await trained.value.close();
    return output;
  }

  async #copy(source: string, precision: Precision, name: string): Promise<void> {
    const target = join(this.folderOf(precision), name);
    const config = join(target, 'config.json');
    if (existsSync(config)) return;
    const filter = (file: string) => basename(file) !== UNREAD && basename(file) !== 'config.json';
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
