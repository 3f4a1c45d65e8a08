import type { UnusedModel } from '../../jobs/index.js';
import { command } from '../command.js';
import { alignedLines, grouped } from '../format.js';
import { dataPlaceOf, flag, integer, option, serviceDataOptions, yesOption } from '../parameters.js';
import { confirm } from '../terminal.js';

export const unusedCommand = command({
  name: 'unused',
  summary: 'list or remove models of the service that have not been used for some time',
  parameters: {
    days: option('--days <number>', 'minimum number of days without use (default: 30)', integer(1, 36_500)),
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
      if (!yes) await confirm(terminal, `This permanently removes ${found.length} models.`, 'remove');
      const removed = await operator.removeUnusedModels({ days });
      if (output.isJson) for (const each of removed) await output.result({ removed: each }, []);
      else await output.line(`removed ${removed.length} models, ${bytesOf(removed)} bytes`);
    });
  },
});

function linesOf(models: readonly UnusedModel[], days: number): readonly string[] {
  if (models.length === 0) return [`no model has been unused for more than ${days} days`];
  const rows = models.map(({ model, unused_since, bytes }) => [
    model.app_id,
    model.id,
    model.name,
    unused_since.slice(0, 10),
    grouped(bytes),
  ]);
  const table = alignedLines([['account', 'model', 'name', 'unused since', 'bytes'], ...rows]);
  return [...table, `${models.length} models, ${bytesOf(models)} bytes`];
}

function bytesOf(models: readonly UnusedModel[]): string {
  return grouped(models.reduce((sum, { bytes }) => sum + bytes, 0));
}
