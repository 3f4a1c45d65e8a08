import { openModel } from 'orchard-nlp/web';
// esbuild copies the file next to the bundle; the import gives its path.
import file from './model.orchard';

// Opened when the function starts, kept for all its calls.
const opened = openModel(new URL(file, import.meta.url));

/** Answers the body of a request, as a function behind an HTTP endpoint of AWS Lambda. */
export async function handler({ body = '', isBase64Encoded = false }) {
  const text = isBase64Encoded ? Buffer.from(body, 'base64').toString() : body;
  return opened
    .andThen((model) => model.predict(text))
    .match(
      (answer) => response(200, answer),
      ({ code, message }) => response(code === 'validation' ? 400 : 500, { error: message }),
    );
}

function response(statusCode, value) {
  return { statusCode, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) };
}
