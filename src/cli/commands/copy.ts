import { command } from '../command.js';
import { grouped } from '../format.js';
import { DEFAULT_DATA, databaseOption, required, serviceDataOptions } from '../parameters.js';

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
    const lines = [
      `copied ${data} to the schema ${schema}: ${accounts} accounts, ${jobs} jobs and models, ${grouped(records)} records, ${folders} folders with ${files} files of ${grouped(bytes)} bytes`,
      `both sides were read again and are identical: records ${sha256.records}, files ${sha256.files}`,
    ];
    if (unfinished > 0) lines.push(`${unfinished} unfinished jobs will continue with the next trainer of the database`);
    if (local_datasets > 0)
      lines.push(`${local_datasets} of them train on files of this machine; trainers elsewhere need those files too`);
    await output.result(copied, lines);
  },
});
