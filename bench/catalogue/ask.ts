import { type InferenceResult, MAX_BATCH_QUERIES, type Predictor } from 'orchard-nlp';

/** Answers to texts, in their order. */
export type Ask = (texts: readonly string[]) => Promise<InferenceResult[]>;

/** Asks a pretrained model through the public API, as many texts at once as it takes. */
export function asking(predictor: Predictor, name: string): Ask {
  return async (texts) => {
    const results: InferenceResult[] = [];
    for (let start = 0; start < texts.length; start += MAX_BATCH_QUERIES) {
      const queries = texts.slice(start, start + MAX_BATCH_QUERIES);
      results.push(...(await predictor.predictPretrainedBatch(name, queries))._unsafeUnwrap().data);
    }
    return results;
  };
}
