import { loadModel } from 'orchard-nlp';

const loading = loadModel('financial-customer-support');

/** Waits for the model at most once. */
export const requestOf = (text: string) => loading.andThen((model) => model.predict(text));
