import { hubModels } from '../../../src/models/index.js';

/** `load-model.ts <endpoint> <cache> <model>`: loads the model from a Hub and prints what it got. */

const [endpoint = '', cacheDirectory = '', model = ''] = process.argv.slice(2);
console.log(JSON.stringify(await hubModels({ endpoint, cacheDirectory, offline: false }).load(model)));
