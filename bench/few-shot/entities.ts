import { type Blend, train } from 'orchard-nlp';
import { entityScores } from '../../src/families/index.js';
import { tagWith } from '../accuracy/tagger-parts.js';
import { taggedReaders } from '../datasets/tagged-sentences.js';
import type { Measured, Options } from './results.js';
import { shuffled } from './sets.js';

/** F1 of entities on WNUT 17's test sentences: of the model and, if it has both, its encoder and its CRF alone. */
export async function measureWnut(sentences: number, seed: number, options: Options): Promise<Measured> {
  const dataset = taggedReaders.wnut17?.(options.root) ?? { train: [], test: [] };
  const drawn = shuffled(dataset.train, seed).slice(0, sentences);
  const rows = drawn.map(({ words, tags }) => ({ tokens: words, tags }));
  const test = shuffled(dataset.test, 99).slice(0, options.test);
  let parts: Blend | undefined;
  const startedAt = performance.now();
  const trained = await train({
    ...{ rows, seed, threads: options.threads },
    onProgress: (event) => {
      if (event.type === 'blend') parts = event.parts;
    },
  });
  await using model = trained._unsafeUnwrap();
  const seconds = (performance.now() - startedAt) / 1000;
  const texts = test.map(({ words }) => words);
  const tags = test.map((sentence) => sentence.tags);
  const f1 = async (part: Blend[keyof Blend]) =>
    entityScores(await tagWith(model.directory, part.weights, texts), tags).f1;
  const judged = (await model.evaluate(test.map(({ words, tags }) => ({ tokens: words, tags }))))._unsafeUnwrap();
  if (judged.kind !== 'entities') throw new Error('the model has no entities');
  const alone = parts && { 'CRF alone': await f1(parts.expert), 'encoder alone': await f1(parts.encoder) };
  return {
    testRows: test.length,
    figures: { 'train()': judged.micro.f1, ...alone },
    seconds: { 'train()': seconds },
    own: model.training.f1,
  };
}
