import { fileStorage } from 'orchard-nlp';
import { accountServices, createHandler, hashedKeys, newApiKey, serve } from 'orchard-nlp/http';

// Give `apiKey` to the user of the service, and store `stored`.
const { apiKey, stored } = newApiKey({ app_id: 'acme', tier: 'pro' });

const services = accountServices({ storage: fileStorage('./models') });
const handler = createHandler({ ...services, authenticate: hashedKeys([stored]) });
const server = await serve(handler, { port: 0 });

const answer = await fetch(`${server.url}/trainer/language/models`, { headers: { 'x-api-key': apiKey } });
console.log(answer.status, await answer.text());

await server.close();
await services.close();
