import { createRequire } from 'node:module';
import { basename, dirname } from 'node:path';
import { type Answer, folderModels, loadModel, Medley } from 'orchard-nlp';
import type { NamedNumbers, Opening } from './contestant.js';
import type { BenchModel } from './models.js';
import { type Answerer, serveRounds } from './serve-rounds.js';

/** Orchard as a contestant, by its public API. bench/inference/contestant.ts has its messages. */

const runtime: { readonly version: string } = createRequire(import.meta.url)('onnxruntime-node/package.json');
const name = `Orchard with onnxruntime-node ${runtime.version}`;

async function oneModel({ task, directory }: BenchModel, workers: number): Promise<Answerer> {
  const model = (await loadModel(directory, { workers }))._unsafeUnwrap();
  return {
    name,
    async answer(texts) {
      const [text = ''] = texts;
      return (await (texts.length === 1 ? model.predict(text) : model.predict(texts)))._unsafeUnwrap();
    },
    async check(texts) {
      if (task === 'token-classification') return tokenLogits(directory, texts);
      return (await model.predict(texts))._unsafeUnwrap().map(numbersOf);
    },
    close: () => model.close(),
  };
}

/** Probabilities of labels. Scores of passages are the softmax of the cosines: their logarithms differ as these do. */
function numbersOf(answer: Answer): NamedNumbers {
  if (answer.kind === 'labels') return Object.fromEntries(answer.scores.map(({ label, score }) => [label, score]));
  if (answer.kind !== 'passages') return {};
  const best = answer.passages[0]?.score ?? Number.NaN;
  return Object.fromEntries(answer.passages.map(({ text, score }) => [text, Math.log(score / best)]));
}

/** A tagger always has both experts, so this asks its encoder beneath the public API. */
async function tokenLogits(directory: string, texts: readonly string[]): Promise<NamedNumbers[]> {
  const { TextModel } = await import('../../src/inference/index.js');
  const model = await TextModel.load(directory, 1);
  const outputs = await model.encode(texts);
  await model.release();
  return outputs.map(([window]) => Object.fromEntries(Array.from(window?.outputs ?? []).entries()));
}

function medley({ models, threads: workers }: Opening): Answerer {
  const root = dirname(models[0]?.directory ?? '');
  const names = models.map(({ directory }) => basename(directory));
  const asked = new Medley({ modelLoader: folderModels(root), workers });
  return {
    name,
    async answer(texts) {
      const [query = ''] = texts;
      return texts.length === 1
        ? (await asked.predict({ models: names, query }))._unsafeUnwrap()
        : (await asked.predictBatch({ models: names, queries: texts }))._unsafeUnwrap();
    },
    check: () => Promise.reject(new Error('the models of a medley are checked one by one')),
    close: () => asked.close(),
  };
}

await serveRounds(async (opening) => {
  const [model] = opening.models;
  return model !== undefined && opening.models.length === 1 ? oneModel(model, opening.threads) : medley(opening);
});
