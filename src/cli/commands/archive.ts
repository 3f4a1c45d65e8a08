import { basename, extname } from 'node:path';
import { modelTypes, orThrow } from '../../contract/index.js';
import { counted, grouped } from '../../datasets/index.js';
import { command, nameOf, type Settings, UsageError } from '../command.js';
import { requireNotRead } from '../overwriting.js';
import { argument, choice, columnOptions, devFractionOption, option, required, seedOption } from '../parameters.js';

const parameters = {
  input: argument('<input>', 'file of rows'),
  type: required(choice('--type <type>', 'task that the dataset is for', modelTypes)),
  output: option('-o, --output <file>', 'zip to write (default: next to the input)'),
  ...columnOptions,
  dev: option('--dev <file>', 'rows to evaluate on, in the same format (default: a tenth of the input is set aside)'),
  devFraction: devFractionOption,
  seed: seedOption,
  name: option('--name <name>', 'name of the dataset (default: the name of the output file)'),
  description: option('--description <text>', 'description of the dataset (default: its name)'),
};

export const archiveCommand = command({
  name: 'archive',
  summary: 'create a dataset archive from a file, with the same checks as training',
  details: `The input is UTF-8. For classification and question answering: CSV, TSV, JSON or JSON Lines, as detected from the
content. For sequence labelling: CoNLL columns, with one word per line, its BIO tag in the last column, and a blank line
after each sentence. Several labels of a row are separated by commas.`,
  parameters,
  async run({ settings, output }) {
    const { contents, respaced, ...summary } = await write(settings);
    const { path, train, dev, removedDuplicates, warnings } = summary;
    await output.result(
      { ...summary, contents },
      `${path}: ${counted(train, 'row')} to train on, ${grouped(dev)} to evaluate on, ${contents}`,
    );
    if (output.isJson) return;
    if (removedDuplicates > 0) output.warn(`left out ${counted(removedDuplicates, 'repeated row')}`);
    if (respaced !== undefined) output.warn(respaced);
    output.warnings(warnings);
  },
});

/** @throws UsageError for the name of a column that rows of the type do not have */
function requireColumns(
  settings: Settings<typeof parameters>,
  fields: readonly ('text' | 'label' | 'question' | 'passage')[],
): void {
  for (const field of ['text', 'label', 'question', 'passage'] as const) {
    if (settings[`${field}Column`] === undefined || fields.includes(field)) continue;
    throw new UsageError(
      `${nameOf(columnOptions[`${field}Column`])}: does not apply to ${settings.type}; leave it out`,
    );
  }
}

async function write(settings: Settings<typeof parameters>) {
  const families = await import('../../families/index.js');
  const { type, input, dev, description, devFraction, seed } = settings;
  const target = settings.output ?? `${input.slice(0, input.length - extname(input).length)}.zip`;
  await requireNotRead({ path: target, flag: '--output', inputs: [input, dev] });
  const name = settings.name ?? basename(target, extname(target));
  const options = { name, description, devFraction, seed };
  const sources = <Columns extends object>(columns: Columns) => ({
    rows: { path: input, ...columns },
    devRows: dev === undefined ? undefined : { path: dev, ...columns },
  });
  const classification = families.classificationTypes.find((each) => each === type);
  const isSequence = families.sequenceTypes.some((each) => each === type);
  requireColumns(settings, classification ? ['text', 'label'] : isSequence ? [] : ['question', 'passage']);
  if (classification !== undefined) {
    const { textColumn, labelColumn } = settings;
    const rows = sources({ textColumn, labelColumn });
    const created = families.createClassificationArchive({ ...options, ...rows, type: classification }, target);
    const { labels, respacedTexts, ...summary } = await orThrow(created);
    const respaced = `tabs and line breaks became spaces in ${counted(respacedTexts, 'text')}`;
    return {
      ...summary,
      contents: counted(labels.length, 'label'),
      respaced: respacedTexts > 0 ? respaced : undefined,
    };
  }
  if (isSequence) {
    const created = families.createSequenceArchive({ ...options, ...sources({}) }, target);
    const { entityTypes, respacedWords, ...summary } = await orThrow(created);
    const contents = `${counted(entityTypes.length, 'entity type')} (${entityTypes.join(', ')})`;
    const respaced = `split or removed ${counted(respacedWords, 'word')} with spaces`;
    return { ...summary, contents, respaced: respacedWords > 0 ? respaced : undefined };
  }
  const columns = { questionColumn: settings.questionColumn, contextColumn: settings.passageColumn };
  const created = families.createRetrievalArchive({ ...options, ...sources(columns) }, target);
  const { passages, ...summary } = await orThrow(created);
  return { ...summary, contents: counted(passages, 'passage'), respaced: undefined };
}
