import { createRequire } from 'node:module';
import { basename, dirname } from 'node:path';
import { fileStorage, folderModels, type InferenceResult, MAX_BATCH_QUERIES, Medley, Predictor } from 'orchard-nlp';
import { TextModel } from '../../src/inference/index.js';
import { account } from './account.js';
import type { BenchModel, NamedNumbers, Opening } from './protocol.js';
import { type Answerer, serveRounds } from './serve-rounds.js';
import { StageTimes } from './stage-times.js';

/** Orchard as a contestant, by its public API. bench/inference/protocol.ts has its messages. */

const runtime: { readonly version: string } = createRequire(import.meta.url)('onnxruntime-node/package.json');
const name = `Orchard with onnxruntime-node ${runtime.version}`;

/** The answers of a set that is larger than a batch may be, in its order. */
async function predictSet(predictor: Predictor, id: string, texts: readonly string[]) {
  const answers: InferenceResult[] = [];
  for await (const answer of predictor.predictCustomStream(id, texts)) {
    answers.push(answer._unsafeUnwrap().data);
  }
  return answers;
}

function onePredictor(model: BenchModel, { storage, workers }: Opening): Answerer {
  const predictor = new Predictor({ storage: fileStorage(storage), account, workers });
  const { id } = model;
  return {
    name,
    async answer(texts) {
      const [first = ''] = texts;
      if (texts.length === 1) return (await predictor.predictCustom(id, first))._unsafeUnwrap();
      if (texts.length > MAX_BATCH_QUERIES) return predictSet(predictor, id, texts);
      return (await predictor.predictCustomBatch(id, texts))._unsafeUnwrap();
    },
    async check(texts) {
      if (model.task === 'token-classification') return tokenLogits(model.directory, texts);
      const { data } = (await predictor.predictCustomBatch(id, texts))._unsafeUnwrap();
      const numbersOf = model.task === 'feature-extraction' ? behindBest : (score: number) => score;
      return data.map(({ labels, scores }) =>
        Object.fromEntries(labels.map((label, at) => [label, numbersOf(scores[at] ?? 0, scores[0])])),
      );
    },
    trace: () => new StageTimes(),
    close: () => predictor.close(),
  };
}

/** Retrieval's scores are the softmax of the cosines: their logarithms differ as these do. */
function behindBest(score: number, best = Number.NaN): number {
  return Math.log(score / best);
}

/** A tagger always has both experts, so this asks its encoder beneath the public API. */
async function tokenLogits(directory: string, texts: readonly string[]): Promise<NamedNumbers[]> {
  const model = await TextModel.load(directory, 1);
  const outputs = await model.encode(texts);
  await model.release();
  return outputs.map(([window]) => Object.fromEntries(Array.from(window?.outputs ?? []).entries()));
}

function medley({ models, workers }: Opening): Answerer {
  const root = dirname(models[0]?.directory ?? '');
  const names = models.map(({ directory }) => basename(directory));
  const asked = new Medley({ modelLoader: folderModels(root), account, workers });
  return {
    name,
    async answer(texts) {
      const [query = ''] = texts;
      return texts.length === 1
        ? (await asked.predict({ models: names, query }))._unsafeUnwrap()
        : (await asked.predictBatch({ models: names, queries: texts }))._unsafeUnwrap();
    },
    check: () => Promise.reject(new Error('the models of a medley are checked one by one')),
    trace: () => new StageTimes(),
    close: () => asked.close(),
  };
}

await serveRounds(async (opening) => {
  const [model] = opening.models;
  return model !== undefined && opening.models.length === 1 ? onePredictor(model, opening) : medley(opening);
});
