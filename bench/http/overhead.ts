import { Client } from 'undici';
import { median } from '../report.js';
import { askRepeatedly } from './ask-repeatedly.js';
import type { Load } from './messages.js';
import type { Served } from './served.js';

export interface OverheadOptions {
  readonly query: string;
  readonly rounds: number;
  /** Duration of each measurement. */
  readonly seconds: number;
}

/** Asks the service over HTTP; each connection is a lane with one request at a time. */
async function askOverHttp(
  { url, apiKey }: Served,
  { query, seconds }: OverheadOptions,
  connections: number,
): Promise<Load> {
  const { origin, pathname } = new URL(url);
  const body = JSON.stringify({ query });
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
  const clients = Array.from({ length: connections }, () => new Client(origin));
  const lanes = clients.map((client) => async () => {
    const answer = await client.request({ method: 'POST', path: pathname, headers, body });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${text}`);
  });
  const load = await askRepeatedly(lanes, seconds);
  await Promise.all(clients.map((client) => client.close()));
  return load;
}

/**
 * Sends the same text over HTTP and in calls of the library, in rounds that take turns; each goes first in
 * every other round.
 * @returns a row of the table.
 */
export async function overhead(served: Served, options: OverheadOptions, connections: number) {
  const { query, seconds, rounds } = options;
  const byCall = () => served.askLibrary({ query, connections, seconds });
  const overHttp = () => askOverHttp(served, options, connections);
  const pairs: { readonly library: Load; readonly http: Load }[] = [];
  await byCall();
  await overHttp();
  for (let round = 0; round < rounds; round += 1) {
    if (round % 2 === 0) pairs.push({ library: await byCall(), http: await overHttp() });
    else {
      const http = await overHttp();
      pairs.push({ library: await byCall(), http });
    }
  }
  const rates = (kind: 'library' | 'http') => pairs.map((pair) => pair[kind].requestsPerSecond);
  const p50s = (kind: 'library' | 'http') => pairs.map((pair) => median(pair[kind].latencies));
  const lost = pairs.map(({ library, http }) => 1 - http.requestsPerSecond / library.requestsPerSecond);
  const added = pairs.map(({ library, http }) => median(http.latencies) - median(library.latencies));
  return {
    'library (requests/s)': Math.round(median(rates('library'))),
    'HTTP (requests/s)': Math.round(median(rates('http'))),
    'overhead (%)': (100 * median(lost)).toFixed(1),
    'by round': lost.map((share) => (100 * share).toFixed(0)).join(' '),
    'library: p50 (ms)': median(p50s('library')).toFixed(2),
    'HTTP: p50 (ms)': median(p50s('http')).toFixed(2),
    'added (ms)': median(added).toFixed(2),
  };
}
