import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  env,
  type FeatureExtractionPipeline,
  pipeline,
  type Tensor,
  type TokenClassificationPipeline,
} from '@huggingface/transformers';
import { z } from 'zod';
import type { NamedNumbers, Opening } from './contestant.js';
import type { BenchModel } from './models.js';
import { type Answerer, serveRounds } from './serve-rounds.js';

/**
 * transformers.js as a contestant: pipelines on the same folders in the process's only thread, the encoder alone, texts
 * padded to the longest of a call. bench/inference/contestant.ts has its messages.
 */

type Model = Omit<Answerer, 'name'>;

/** Passages of a search result, as many as Orchard's has. */
const PASSAGES = 10;

env.allowRemoteModels = false;

function settings({ dtype, threads }: Opening) {
  return { dtype, session_options: { intraOpNumThreads: threads, interOpNumThreads: 1 } } as const;
}

async function classifier({ directory }: BenchModel, opening: Opening): Promise<Model> {
  const classify = await pipeline('text-classification', directory, settings(opening));
  const answer = (texts: readonly string[]) => classify([...texts], { top_k: null });
  return {
    answer,
    check: async (texts) => {
      const answers = await answer(texts);
      return answers.map((each) => {
        const labels = Array.isArray(each) ? each : [each];
        return Object.fromEntries(labels.map(({ label, score }) => [label, score]));
      });
    },
    close: () => classify.dispose(),
  };
}

/** Entities grouped into spans. */
async function tagger({ directory }: BenchModel, opening: Opening): Promise<Model> {
  const tag = await pipeline('token-classification', directory, settings(opening));
  return {
    answer: (texts) => tag([...texts], { aggregation_strategy: 'simple' }),
    check: (texts) => tokenLogits(tag, texts),
    close: () => tag.dispose(),
  };
}

/** Of the tokens that are no padding. */
async function tokenLogits(
  { tokenizer, model }: TokenClassificationPipeline,
  texts: readonly string[],
): Promise<NamedNumbers[]> {
  const inputs = tokenizer([...texts], { padding: true, truncation: true });
  const masks: Tensor = inputs.attention_mask;
  const { logits }: { readonly logits: Tensor } = await model(inputs);
  const [, tokens = 0, tags = 0] = logits.dims;
  return texts.map((_, text) => {
    const mask = Array.from(masks.data.slice(text * tokens, (text + 1) * tokens), Number);
    const read = mask.filter((bit) => bit === 1).length;
    const start = text * tokens * tags;
    return Object.fromEntries(Array.from(logits.data.slice(start, start + read * tags), Number).entries());
  });
}

/** The sentence vector of a query, and the passages whose vectors are nearest. */
async function searcher({ directory }: BenchModel, opening: Opening): Promise<Model> {
  const extract = await pipeline('feature-extraction', directory, settings(opening));
  const file = await readFile(join(directory, 'passages.json'), 'utf8');
  const passages = z.array(z.string()).parse(JSON.parse(file));
  const vectors = passageVectors(await readFile(join(directory, 'passages.safetensors')));
  const cosines = async (texts: readonly string[]) =>
    (await vectorsOf(extract, texts)).map((query) => vectors.map((vector) => dot(vector, query)));
  return {
    answer: async (texts) => {
      const answers = await cosines(texts);
      return answers.map((scores) => {
        const least = Float64Array.from(scores).sort().at(-PASSAGES) ?? -1;
        const found = scores.flatMap((score, at) => (score >= least ? [{ passage: passages[at], score }] : []));
        return found.sort((a, b) => b.score - a.score);
      });
    },
    check: async (texts) =>
      (await cosines(texts)).map((scores) => {
        const best = Math.max(...scores);
        return Object.fromEntries(scores.map((score, at) => [passages[at] ?? '', score - best]));
      }),
    close: () => extract.dispose(),
  };
}

/** Of the only matrix in a safetensors file: the length of a header in JSON, the header, then 32-bit floats. */
function passageVectors(file: Buffer): Float32Array[] {
  const end = 8 + Number(file.readBigUInt64LE());
  const [, width = 0] = headerSchema.parse(JSON.parse(file.toString('utf8', 8, end))).vectors.shape;
  const numbers = new Float32Array(Uint8Array.from(file.subarray(end)).buffer);
  return Array.from({ length: numbers.length / width }, (_, row) => numbers.subarray(row * width, (row + 1) * width));
}

const headerSchema = z.looseObject({
  vectors: z.looseObject({ dtype: z.literal('F32'), shape: z.array(z.int()) }),
});

async function vectorsOf(extract: FeatureExtractionPipeline, texts: readonly string[]): Promise<Float32Array[]> {
  const { data, dims } = await extract([...texts], { pooling: 'mean', normalize: true });
  const numbers = Float32Array.from(data, Number);
  const width = numbers.length / (dims[0] ?? 1);
  return texts.map((_, row) => numbers.subarray(row * width, (row + 1) * width));
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}

const loaders: Readonly<Record<BenchModel['task'], (model: BenchModel, opening: Opening) => Promise<Model>>> = {
  'text-classification': classifier,
  'token-classification': tagger,
  'feature-extraction': searcher,
};

await serveRounds(async (opening) => {
  const models: Model[] = [];
  for (const model of opening.models) models.push(await loaders[model.task](model, opening));
  return {
    name: `transformers.js ${env.version}`,
    answer: (texts) => Promise.all(models.map((model) => model.answer(texts))),
    check: (texts) => models[0]?.check(texts) ?? Promise.resolve([]),
    close: () => Promise.all(models.map((model) => model.close())),
  };
});
