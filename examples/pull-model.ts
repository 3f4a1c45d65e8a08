import { listModels, memoryStorage, Predictor, pullModel, verifyModel } from 'orchard-nlp';

const from = process.argv[2]; // where catalogue/ and backbones/ are: a folder or an HTTP address
const pulled = await pullModel('financial-customer-support', from === undefined ? {} : { from });
if (pulled.isErr()) throw pulled.error;
const verified = await verifyModel('financial-customer-support');
console.log(verified.map(({ problems }) => `${problems.length} problems`).unwrapOr('unknown'));
const listed = (await listModels()).unwrapOr([]);
console.log(`${listed.filter(({ directory }) => directory !== undefined).length} of ${listed.length} are here`);

await using predictor = new Predictor({ storage: memoryStorage() });
const answer = await predictor.predictPretrained('financial-customer-support', 'Where is my card?');
console.log(answer.map(({ data }) => data.labels[0]).unwrapOr('no answer'));
