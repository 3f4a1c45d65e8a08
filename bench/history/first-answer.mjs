// Prints the processor's seconds of a process that imports the built package and asks a model once.
import { loadModel } from 'orchard-nlp';

const loaded = await loadModel(process.argv[2]);
const model = loaded._unsafeUnwrap();
(await model.predict('a fine film'))._unsafeUnwrap();
const { user, system } = process.cpuUsage();
console.log((user + system) / 1e6);
await model.close();
