import kernels from 'orchard-nlp/kernels.wasm';
import { openModel } from 'orchard-nlp/web';
import file from './model.orchard';

// Opened by the first request, kept for the others.
let opened;

export default {
  async fetch(request) {
    if (request.method !== 'POST') return Response.json({ error: 'POST a text' }, { status: 405 });
    opened ??= openModel(file, { kernels });
    const text = await request.text();
    return opened
      .andThen((model) => model.predict(text))
      .match(
        (answer) => Response.json(answer),
        ({ code, message }) => Response.json({ error: message }, { status: code === 'validation' ? 400 : 500 }),
      );
  },
};
