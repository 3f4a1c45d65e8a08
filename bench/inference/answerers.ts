import { env, pipeline } from '@huggingface/transformers';
import { Predictor, type Storage } from 'orchard-nlp';

/** A library with a loaded model that answers texts. */
export interface Answerer {
  readonly name: string;
  /** Answers all texts in one call. */
  answer(texts: readonly string[]): Promise<unknown>;
  close(): Promise<unknown>;
}

/**
 * Orchard's public API with both experts of the model: `threads` workers of one thread each, which share a
 * batch.
 */
export function orchard(storage: Storage, id: string, threads: number): Answerer {
  const predictor = new Predictor({ storage, workers: threads, threads: 1 });
  return {
    name: 'Orchard',
    async answer(texts) {
      const [first = ''] = texts;
      return texts.length === 1
        ? (await predictor.predictCustom(id, first))._unsafeUnwrap()
        : (await predictor.predictCustomBatch(id, texts))._unsafeUnwrap();
    },
    close: () => predictor.close(),
  };
}

/**
 * A pipeline of transformers.js on the same folder, in the calling thread: the encoder alone, float32, texts
 * padded to the longest of a call, entities grouped into spans.
 */
export async function transformersJs(
  directory: string,
  task: 'token-classification' | 'text-classification',
  threads: number,
): Promise<Answerer> {
  env.allowRemoteModels = false;
  const options = {
    dtype: 'fp32',
    session_options: { intraOpNumThreads: threads, interOpNumThreads: 1 },
  } as const;
  const name = `transformers.js ${env.version}`;
  if (task === 'token-classification') {
    const tag = await pipeline(task, directory, options);
    const answer = (texts: readonly string[]) => tag([...texts], { aggregation_strategy: 'simple' });
    return { name, answer, close: () => tag.dispose() };
  }
  const classify = await pipeline(task, directory, options);
  return { name, answer: (texts) => classify([...texts], { top_k: 2 }), close: () => classify.dispose() };
}
