import { loadModel } from 'orchard-nlp';

const loading = loadModel('sentiment-classification');

/** Waits for the model at most once. */
export const sentimentOf = (text: string) => loading.andThen((model) => model.predict(text));
