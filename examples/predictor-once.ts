import { memoryStorage, Predictor } from 'orchard-nlp';

declare global {
  var keptPredictor: Predictor | undefined;
}
globalThis.keptPredictor ??= new Predictor({ storage: memoryStorage() });

export const predictor = globalThis.keptPredictor;
