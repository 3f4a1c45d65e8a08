import { resolve } from 'node:path';

export default {
  mode: 'production',
  target: 'node20',
  entry: {
    app: './app.mjs',
    'inference-worker': 'orchard-nlp/inference-worker',
    'rows-worker': 'orchard-nlp/rows-worker',
    'training-runner': 'orchard-nlp/training-runner',
  },
  output: { path: resolve('out'), filename: '[name].cjs', chunkFilename: '[name].cjs' },
};
