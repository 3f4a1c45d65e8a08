/** The commands around `orchard serve`: its keys, its devices, its data. */
import type { CommandDefinition, OptionDefinition } from '../command-definition.js';

const database: OptionDefinition = {
  flags: '--database <url>',
  description: 'postgres://… that has the data instead; may be in ORCHARD_DATABASE',
};
const schema: OptionDefinition = {
  flags: '--schema <name>',
  description: 'what holds it in the database (orchard)',
};
const data: OptionDefinition = {
  flags: '--data <folder>',
  description: 'the folder of orchard serve (./orchard-data)',
};
const yes: OptionDefinition = { flags: '--yes', description: 'ask nothing' };

export const newKeyDefinition: CommandDefinition = {
  name: 'new-key',
  summary: 'add an API key of an account to a file, and print it',
  details: 'The file keeps a hash alone, so this is the only time that the key is seen.',
  options: [
    { flags: '--app-id <name>', description: 'the account' },
    { flags: '--keys <file>', description: 'the file, which is made where there is none' },
    { flags: '--tier <tier>', description: 'basic or pro (pro)', choices: ['basic', 'pro'] },
  ],
  run: async (run) => (await import('../actions/new-key.js')).newKey(run),
};

export const devicesDefinition: CommandDefinition = {
  name: 'devices',
  summary: 'list where this machine can compute: each device is tried',
  run: async (run) => (await import('../actions/devices.js')).devices(run),
};

export const eraseDefinition: CommandDefinition = {
  name: 'erase',
  summary: 'remove all data of an account of the service, after asking',
  details: 'Take its keys away first.',
  arguments: [{ usage: '<app_id>', description: 'the account' }],
  options: [data, database, schema, yes],
  run: async (run) => (await import('../actions/operator.js')).erase(run),
};

export const unusedDefinition: CommandDefinition = {
  name: 'unused',
  summary: 'list the models of the service that nobody asked for long, or remove them',
  options: [
    { flags: '--days <number>', description: 'for how many days nobody asked them (30)' },
    { flags: '--remove', description: 'remove them, after asking' },
    data,
    database,
    schema,
    yes,
  ],
  run: async (run) => (await import('../actions/operator.js')).unused(run),
};

export const copyDefinition: CommandDefinition = {
  name: 'copy',
  summary: "copy a service's folder into an empty schema of a database, and compare both by hash",
  details: 'Stop the service of that folder first.',
  options: [data, database, schema],
  run: async (run) => (await import('../actions/copy.js')).copy(run),
};
