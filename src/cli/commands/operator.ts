import { tiers } from '../../contract/index.js';
import { counted, grouped } from '../../datasets/index.js';
import type { UnusedModel } from '../../jobs/index.js';
import { command } from '../command.js';
import { alignedLines } from '../format.js';
import {
  appId,
  argument,
  choice,
  DEFAULT_DATA,
  databaseOption,
  dataPlaceOf,
  flag,
  integer,
  option,
  required,
  serviceDataOptions,
  yesOption,
} from '../parameters.js';
import { confirm } from '../terminal.js';

export const newKeyCommand = command({
  name: 'new-key',
  summary: 'add an API key for an account to a key file, and print it',
  details: 'The file stores only a hash of the key, so the key is shown only once.',
  parameters: {
    appId: required(option('--app-id <name>', 'name of the account (app_id)', appId)),
    keys: required(option('--keys <file>', 'key file; created if it does not exist')),
    tier: choice('--tier <tier>', 'subscription tier (default: pro)', tiers),
  },
  async run({ settings: { appId: app_id, keys, tier = 'pro' }, output }) {
    const { addToKeyFile, newApiKey } = await import('../../http/index.js');
    const { apiKey, stored } = newApiKey({ app_id, tier });
    await addToKeyFile(keys, stored);
    await output.result({ api_key: apiKey, app_id, tier, keys }, apiKey);
  },
});

export const copyCommand = command({
  name: 'copy',
  summary: 'copy the data folder of a service into an empty database schema, and compare both by hash',
  details: 'Stop the service first.',
  parameters: {
    ...serviceDataOptions,
    database: required({ ...databaseOption, variable: 'ORCHARD_DATABASE' }),
  },
  async run({ settings: { data = DEFAULT_DATA, database, schema = 'orchard' }, output }) {
    const { copyToDatabase } = await import('../../http/index.js');
    const copied = await copyToDatabase({ data, database, schema });
    const { sha256, accounts, records, jobs, folders, files, bytes, unfinished, local_datasets } = copied;
    const hashes = `SHA-256 of the records: ${sha256.records}, of the files: ${sha256.files}`;
    const lines = [
      `copied ${data} to the schema ${schema}: ${counted(accounts, 'account')}, ${jobsWithModels(jobs)}, ${counted(records, 'record')}, ${counted(folders, 'folder')} with ${counted(files, 'file')} of ${grouped(bytes)} bytes`,
      `both sides were read again and are identical; ${hashes}`,
    ];
    if (unfinished > 0)
      lines.push(`${counted(unfinished, 'unfinished job')} will continue with the next trainer of the database`);
    if (local_datasets > 0)
      lines.push(
        `datasets on this machine: ${counted(local_datasets, 'job')}; trainers on other machines need these files too`,
      );
    await output.result(copied, lines);
  },
});

export const eraseCommand = command({
  name: 'erase',
  summary: 'remove all data of an account of the service, after confirmation',
  details: 'Remove the API keys of the account first.',
  parameters: {
    app_id: { ...argument('<app_id>', 'name of the account'), parse: (given: unknown) => appId(String(given)) },
    ...serviceDataOptions,
    yes: yesOption,
  },
  async run({ settings, terminal, output }) {
    const { withOperator } = await import('../../http/index.js');
    const { app_id: account, yes } = settings;
    const place = dataPlaceOf(settings, terminal.env);
    // Without the address of the database, which may contain a password.
    const where = place.database === undefined ? place.data : `the schema ${place.schema ?? 'orchard'} of the database`;
    await withOperator(place, async (operator) => {
      if (!yes) await confirm(terminal, `This permanently removes all data of ${account} in ${where}.`, account);
      const erased = await operator.eraseAccount(account);
      const { job_ids, folders, bytes, records, uploads } = erased;
      await output.result(
        erased,
        `${account}: erased ${jobsWithModels(job_ids.length)}, ${counted(folders, 'folder')} with ${grouped(bytes)} bytes, ${counted(records, 'record')}, ${counted(uploads, 'upload')}`,
      );
    });
  },
});

export const unusedCommand = command({
  name: 'unused',
  summary: 'list or remove models of the service that have not been used for some time',
  details:
    'Models that a name needs are left out: the one it points to, the one that a rollback restores, and its shadow.',
  parameters: {
    days: option(
      '--days <number>',
      'only models that have not been used for more than this many days (default: 30)',
      integer(1, 36_500),
    ),
    remove: flag('--remove', 'remove the models, after confirmation'),
    ...serviceDataOptions,
    yes: yesOption,
  },
  async run({ settings, terminal, output }) {
    const { withOperator } = await import('../../http/index.js');
    const { days = 30, remove, yes } = settings;
    await withOperator(dataPlaceOf(settings, terminal.env), async (operator) => {
      const found = await operator.listUnusedModels({ days });
      if (!output.isJson) for (const line of linesOf(found, days)) await output.line(line);
      else if (!remove) for (const each of found) await output.result(each, []);
      if (!remove || found.length === 0) return;
      if (!yes) await confirm(terminal, `This permanently removes ${counted(found.length, 'model')}.`, 'remove');
      const removed = await operator.removeUnusedModels({ days });
      if (output.isJson) for (const each of removed) await output.result({ removed: each }, []);
      else await output.line(`removed ${counted(removed.length, 'model')}, ${bytesOf(removed)} bytes`);
    });
  },
});

function linesOf(models: readonly UnusedModel[], days: number): readonly string[] {
  if (models.length === 0) return [`no model has been unused for more than ${counted(days, 'day')}`];
  const rows = models.map(({ model, unused_since, bytes }) => [
    model.app_id,
    model.id,
    model.name,
    unused_since.slice(0, 10),
    grouped(bytes),
  ]);
  const table = alignedLines([['account', 'model', 'name', 'unused since', 'bytes'], ...rows]);
  return [...table, `${counted(models.length, 'model')}, ${bytesOf(models)} bytes`];
}

function bytesOf(models: readonly UnusedModel[]): string {
  return grouped(models.reduce((sum, { bytes }) => sum + bytes, 0));
}

function jobsWithModels(count: number): string {
  return `${counted(count, 'job')} and ${count === 1 ? 'its model' : 'their models'}`;
}
