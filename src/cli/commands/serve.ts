import { DEVICES } from '../../device-names.js';
import type { CommandDefinition } from '../command-definition.js';

export const serveDefinition: CommandDefinition = {
  name: 'serve',
  summary: 'serve models over HTTP',
  details: 'docs/http.md has more of each. Standard output has a line of JSON for each request.',
  options: [
    { flags: '--host <address>', description: 'where to listen (127.0.0.1)' },
    { flags: '--port <number>', description: '(8080)' },
    {
      flags: '--data <folder>',
      description: 'where jobs and models live; with a database, what is kept of it here (./orchard-data)',
    },
    {
      flags: '--database <url>',
      description:
        'postgres://… where jobs and models live instead, for services on many machines; may be in ORCHARD_DATABASE, since other users of a machine see its command lines',
    },
    { flags: '--schema <name>', description: 'what holds them in the database (orchard)' },
    {
      flags: '--role <role>',
      description: 'with a database: answer requests (api), train (trainer), or both (all)',
    },
    { flags: '--jobs <number>', description: 'with a database: jobs that train here at a time (1)' },
    {
      flags: '--connections <number>',
      description: 'with a database: connections of this process to it (11)',
    },
    {
      flags: '--keys <file>',
      description: 'the API keys, as new-key writes them; their JSON may be in ORCHARD_KEYS instead',
    },
    {
      flags: '--operator-keys <file>',
      description: 'keys of new-key for /operator: erasing accounts, unused models (no such routes)',
    },
    { flags: '--requests-per-minute <number>', description: 'most requests of an account (no limit)' },
    {
      flags: '--quota <calls/period>',
      description: 'most inference calls of an account, such as 10000/month or 500/day (no limit)',
    },
    {
      flags: '--wrong-keys-per-minute <number>',
      description: "beyond them no key from a client's address is looked at (10)",
    },
    {
      flags: '--trust-proxy',
      description: "take the client's address from x-forwarded-for, as a proxy before this adds it",
    },
    {
      flags: '--allow-private-addresses',
      description: 'let dataset_url lead into this machine and its network',
    },
    {
      flags: '--isolation <kind>',
      description:
        'where training runs: a thread (worker), or a process of its own whose end harms nothing (process)',
    },
    {
      flags: '--device <device>',
      description: `where training and queries are computed, as orchard devices lists them: ${DEVICES.join(', ')} (cpu); may be in ORCHARD_DEVICE`,
    },
    { flags: '--workers <number>', description: 'threads that answer queries (2)' },
    {
      flags: '--max-waiting <number>',
      description: 'queries that may wait for a thread; with more, requests get a 503 (2000)',
    },
    { flags: '--max-connections <number>', description: 'connections at a time (1000)' },
  ],
  run: async (run) => (await import('../actions/serve.js')).serve(run),
};
