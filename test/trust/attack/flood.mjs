import { request } from 'node:http';
import { setPriority } from 'node:os';

/**
 * `flood.mjs <url> <key> <path> <body> <connections> <ms>`: each connection asks again as soon as it is answered. In a
 * process of its own, so that its work does not delay who measures.
 */

const [url = '', key = '', path = '', body = '', connections = '1', ms = '0'] = process.argv.slice(2);
setPriority(19); // an attacker has machines of his own
const until = performance.now() + Number(ms);
/** @type {Record<string, number>} */
const counts = {};

/** @param {string} outcome */
const count = (outcome) => {
  counts[outcome] = (counts[outcome] ?? 0) + 1;
};

function ask() {
  if (performance.now() > until) return;
  const headers = { 'x-api-key': key, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const asking = request(url + path, { method: 'POST', headers }, (response) => {
    count(String(response.statusCode));
    response.resume();
    response.once('end', ask);
  });
  asking.once('error', (error) => {
    count(error.message);
    setTimeout(ask, 10);
  });
  asking.end(body);
}

for (let connection = 0; connection < Number(connections); connection += 1) ask();
setTimeout(() => {
  console.log(JSON.stringify(counts));
  process.exit();
}, Number(ms) + 2000);
