import { command } from '../command.js';
import { grouped } from '../format.js';
import { argument, dataPlaceOf, serviceDataOptions, yesOption } from '../parameters.js';
import { confirm } from '../terminal.js';
import { appId } from './new-key.js';

export const eraseCommand = command({
  name: 'erase',
  summary: 'remove all data of an account of the service, after confirmation',
  details: 'Remove its API keys first.',
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
        `${account}: erased ${job_ids.length} jobs and models, ${folders} folders with ${grouped(bytes)} bytes, ${records} records, ${uploads} uploads`,
      );
    });
  },
});
