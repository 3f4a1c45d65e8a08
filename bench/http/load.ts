import autocannon, { type Result } from 'autocannon';
import type { Served } from './served.js';

const SAMPLE_EVERY_MS = 10_000;

export interface LoadOptions {
  readonly query: string;
  readonly minutes: number;
  readonly connections: number;
}

/**
 * Puts the service under the load of many connections for minutes.
 * @returns what autocannon counted, and the service's memory (MiB) every 10 s.
 */
export async function load(
  served: Served,
  { query, minutes, connections }: LoadOptions,
): Promise<{ readonly result: Result; readonly residentMebibytes: readonly number[] }> {
  const residentMebibytes: number[] = [];
  const sample = async () => residentMebibytes.push(await served.residentMebibytes());
  const timer = setInterval(sample, SAMPLE_EVERY_MS);
  const result = await autocannon({
    url: served.url,
    method: 'POST',
    headers: { 'x-api-key': served.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
    connections,
    duration: 60 * minutes,
  });
  clearInterval(timer);
  await sample();
  return { result, residentMebibytes };
}
