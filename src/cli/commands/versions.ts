import type { ResultAsync } from 'neverthrow';
import { LOCAL_ACCOUNT, type ModelVersion, type OrchardError, orThrow } from '../../contract/index.js';
import { counted, grouped } from '../../datasets/index.js';
import type { ModelVersions } from '../../jobs/index.js';
import { type Command, command, type Settings, UsageError } from '../command.js';
import { alignedLines } from '../format.js';
import { appId, argument, dataPlaceOf, flag, option, serviceDataOptions } from '../parameters.js';
import type { Output, Terminal } from '../terminal.js';

const name = argument('<name>', 'a name such as support@production: two parts of 1 to 24 characters of a–z, 0–9 and -');
const place = {
  appId: option('--app-id <name>', 'account of the models (default: local)', appId),
  ...serviceDataOptions,
};

const listCommand = command({
  name: 'list',
  summary: 'list the names and the models that they point to',
  parameters: place,
  async run({ settings, terminal, output }) {
    const found = await withVersions(settings, terminal, (versions) => orThrow(versions.list()));
    if (output.isJson) for (const each of found) await output.result(each, []);
    else if (found.length === 0) await output.line('there are no names yet; see orchard versions promote --help');
    else for (const line of tableOf(found)) await output.line(line);
  },
});

const showCommand = command({
  name: 'show',
  summary: 'show what a name points to, its history and how its shadow compares',
  parameters: { name, ...place },
  run: ({ settings, terminal, output }) =>
    show(settings, { terminal, output }, (versions) => versions.get(settings.name)),
});

const promoteCommand = command({
  name: 'promote',
  summary: 'point a name to a model; creates the name if it is new',
  parameters: { name, model: argument('<model>', 'id of a READY model'), ...place },
  run: ({ settings, terminal, output }) =>
    show(settings, { terminal, output }, (versions) => versions.promote(settings.name, settings.model)),
});

const rollbackCommand = command({
  name: 'rollback',
  summary: 'point a name to the model that it pointed to before',
  parameters: {
    name,
    from: option('--from <model-id>', 'model to roll back from; repeating the command then changes nothing'),
    ...place,
  },
  run: ({ settings, terminal, output }) =>
    show(settings, { terminal, output }, (versions) => versions.rollBack(settings.name, { from: settings.from })),
});

const shadowCommand = command({
  name: 'shadow',
  summary: 'compare the answers of a second model with those of a name, or end the comparison',
  parameters: {
    name,
    model: { ...argument('[model]', 'id of a READY model'), parse: (given: unknown) => optionalText(given) },
    clear: flag('--clear', 'end the comparison'),
    ...place,
  },
  run({ settings, terminal, output }) {
    const { name, model, clear } = settings;
    if (clear === (model !== undefined)) throw new UsageError('give the id of a model, or --clear');
    return show(settings, { terminal, output }, (versions) =>
      model === undefined ? versions.clearShadow(name) : versions.setShadow(name, model),
    );
  },
});

const deleteCommand = command({
  name: 'delete',
  summary: 'delete a name with its history; the models stay',
  parameters: { name, ...place },
  async run({ settings, terminal, output }) {
    await withVersions(settings, terminal, (versions) => orThrow(versions.delete(settings.name)));
    await output.result({ deleted: settings.name }, `${settings.name} is deleted`);
  },
});

export const versionsCommand: Command = {
  name: 'versions',
  summary: 'point names such as support@production to models of the service, roll back, compare',
  parameters: {},
  commands: [
    { ...listCommand, isDefault: true },
    showCommand,
    promoteCommand,
    rollbackCommand,
    shadowCommand,
    deleteCommand,
  ],
};

function optionalText(given: unknown): string | undefined {
  return given === undefined ? undefined : String(given);
}

async function withVersions<Value>(
  settings: Settings<typeof place>,
  terminal: Terminal,
  work: (versions: ModelVersions) => Promise<Value>,
): Promise<Value> {
  const [{ withStorage }, { ModelVersions }] = await Promise.all([
    import('../../http/index.js'),
    import('../../jobs/index.js'),
  ]);
  const { appId: app_id = LOCAL_ACCOUNT.app_id } = settings;
  return withStorage(dataPlaceOf(settings, terminal.env), (storage) =>
    work(new ModelVersions({ storage, account: { app_id, tier: 'pro' } })),
  );
}

async function show(
  settings: Settings<typeof place>,
  { terminal, output }: { readonly terminal: Terminal; readonly output: Output },
  call: (versions: ModelVersions) => ResultAsync<ModelVersion, OrchardError>,
): Promise<void> {
  const version = await withVersions(settings, terminal, (versions) => orThrow(call(versions)));
  await output.result(version, linesOf(version));
}

function tableOf(versions: readonly ModelVersion[]): readonly string[] {
  const rows = versions.map(({ name, model_id, history, shadow }) => [
    name,
    model_id,
    history[0]?.at ?? '',
    shadow?.model_id ?? '',
  ]);
  return alignedLines([['name', 'model', 'since', 'shadow'], ...rows]);
}

/** Most pairs of labels that are printed. */
const SHOWN_PAIRS = 10;

function linesOf({ name, model_id, history, shadow }: ModelVersion): readonly string[] {
  const lines = [
    `${name} points to ${model_id}`,
    ...alignedLines(
      history.map(({ at, action, model_id, from }) => [`  ${at}`, action, model_id, from ? `from ${from}` : '']),
    ),
  ];
  if (shadow === null) return lines;
  const { asked, agreed, errors, dropped, mean_score_difference: difference } = shadow;
  const share = asked === 0 ? '' : ` (${((100 * agreed) / asked).toFixed(1)} %)`;
  const score = difference === null ? '' : `, mean score difference ${difference.toFixed(4)}`;
  const differing = shadow.label_pairs.filter(({ answered, shadow }) => answered !== shadow);
  return [
    ...lines,
    `shadow ${shadow.model_id} since ${shadow.since}`,
    `  ${counted(asked, 'query', 'queries')}, ${grouped(agreed)} agreed${share}, ${counted(errors, 'error')}, ${grouped(dropped)} dropped${score}`,
    ...alignedLines(
      differing
        .slice(0, SHOWN_PAIRS)
        .map(({ answered, shadow, queries }) => [`  ${grouped(queries)}`, `${answered} → ${shadow}`]),
    ),
  ];
}
