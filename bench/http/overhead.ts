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

/** What is sent over HTTP, again and again. */
interface Sent {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Each connection is a lane with one request at a time. */
async function askOverHttp({ url, headers, body }: Sent, seconds: number, connections: number): Promise<Load> {
  const { origin, pathname } = new URL(url);
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

type Way = 'library' | 'bare' | 'http';

/**
 * Sends the same text over HTTP, to a server of Node's without anything of ours, and in calls of the library, in rounds
 * that take turns; another goes first each time.
 * @returns a row of the table.
 */
export async function overhead(served: Served, options: OverheadOptions, connections: number) {
  const { query, seconds, rounds } = options;
  const headers = { 'x-api-key': served.apiKey, 'content-type': 'application/json' };
  const sent = { url: served.url, headers, body: JSON.stringify({ query }) };
  const ways: Readonly<Record<Way, () => Promise<Load>>> = {
    library: () => served.askLibrary({ query, connections, seconds }),
    bare: () => askOverHttp({ url: served.bareUrl, headers: {}, body: query }, seconds, connections),
    http: () => askOverHttp(sent, seconds, connections),
  };
  const measured: Readonly<Record<Way, Load[]>> = { library: [], bare: [], http: [] };
  for (const ask of Object.values(ways)) await ask();
  const order: Way[] = ['library', 'bare', 'http'];
  for (let round = 0; round < rounds; round += 1) {
    for (const way of order) measured[way].push(await ways[way]());
    order.push(...order.splice(0, 1));
  }
  const rate = (way: Way) => median(measured[way].map(({ requestsPerSecond }) => requestsPerSecond));
  const p50s = (way: Way) => measured[way].map(({ latencies }) => median(latencies));
  const added = (way: Way) => median(p50s(way).map((ms, round) => ms - (p50s('library')[round] ?? ms)));
  return {
    'library (requests/s)': Math.round(rate('library')),
    'HTTP (requests/s)': Math.round(rate('http')),
    'library: p50 (ms)': median(p50s('library')).toFixed(2),
    'HTTP: p50 (ms)': median(p50s('http')).toFixed(2),
    'added (ms)': added('http').toFixed(2),
    "added by Node's server alone (ms)": added('bare').toFixed(2),
  };
}
