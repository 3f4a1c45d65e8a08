import { existsSync } from 'node:fs';
import fastify from 'fastify';
import { loadModel, train } from 'orchard-nlp';

const folder = 'tickets-model';
const opened = await (existsSync(folder) ? loadModel(folder) : train({ path: 'tickets.csv', output: folder }));
if (opened.isErr()) throw opened.error;
const model = opened.value;

const app = fastify();
app.get('/classify', ({ query }) => model.predict(query.text).unwrapOr({ error: 'give ?text=…' }));
app.addHook('onClose', () => model.close());
console.log(await app.listen({ port: Number(process.env.PORT ?? 3000) }));
