import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readEncoder } from '../encoder/index.js';
import { typeFacts } from '../families/index.js';
import {
  CARD_FILE,
  type ClassFigures,
  CONFIG_FILE,
  EVALUATION_FILE,
  QUANTIZED_ONNX_FILE,
  type RecordedPart,
  type RecordedPrecision,
  readConfig,
  readModelReport,
  type TrainingRecord,
} from '../models/index.js';
import {
  asWords,
  classNames,
  counted,
  decimal,
  f1Name,
  judgedRows,
  macroF1,
  partsOf,
  percent,
  type ReportInput,
  rulesNote,
  scoresOf,
  whole,
} from './figures.js';

/** All but training.json. */
export function reportFiles(report: ReportInput): Map<string, string> {
  const { evaluation } = report;
  const files = new Map([[CARD_FILE, modelCard(report)]]);
  // On one line: a confusion matrix has thousands of numbers.
  if (evaluation !== undefined) files.set(EVALUATION_FILE, `${JSON.stringify(evaluation)}\n`);
  return files;
}

/** More labels are counted instead. */
const MAX_LISTED_LABELS = 100;

/** A name on the Hub, with or without a revision; other names are folders. */
const HUB_NAME = /^[\w.-]+\/[\w.-]+(?:@.*)?$/;

/** The licence is `other`, for the publisher to change. @throws ModelFolderError if family or encoder is unknown */
export function modelCard(report: ReportInput): string {
  const { name } = report.training.model_config;
  const sections = [
    frontMatter(report),
    `# ${escapeMarkdown(name)}`,
    introduction(report),
    figures(report),
    labels(report),
    rulesSection(report),
    hyperparameters(report),
    usage(report),
    limits(report),
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}

const factsOf = ({ config }: ReportInput) => typeFacts[config.orchard.type].card;

function frontMatter(report: ReportInput): string {
  const { model_config, hyperparameters, backbone } = report.training;
  const { type, family } = model_config;
  const { modelType } = readEncoder(report.config, CONFIG_FILE);
  const code = languageCode(String(hyperparameters.language ?? ''));
  return [
    '---',
    'license: other',
    // Quoted, since YAML reads a bare `no` (Norwegian) as false.
    ...(code === undefined ? [] : [`language: "${code}"`]),
    'library_name: orchard-nlp',
    ...(backbone !== undefined && HUB_NAME.test(backbone.name)
      ? [`base_model: ${backbone.name.replace(/@.*/, '')}`]
      : []),
    `pipeline_tag: ${factsOf(report).pipeline}`,
    'tags:',
    ...['orchard', family.toLowerCase(), type, modelType, 'onnx', 'safetensors'].map((tag) => `  - ${tag}`),
    '---',
  ].join('\n');
}

/** Whether the model was made from its labels alone. */
const hasNoRows = ({ dataset }: TrainingRecord): boolean => dataset?.train_rows === 0;

function introduction(report: ReportInput): string {
  const { config, training } = report;
  const { family, size, type } = training.model_config;
  const { hyperparameters, dataset, backbone } = training;
  const start = backbone === undefined ? '' : ` from the backbone ${escapeMarkdown(backbone.name)}`;
  const isFromNames = hasNoRows(training);
  const made = isFromNames ? 'made' : 'trained';
  const trainedOn = dataset === undefined ? '' : ` on ${counted(dataset.train_rows, 'row')}`;
  const rows = isFromNames ? ', from the names or meanings of its labels' : trainedOn;
  const { architecture, layers, width } = readEncoder(config, CONFIG_FILE);
  const article = /^(?:[AEIOU]|MP)/u.test(architecture) ? 'an' : 'a';
  return `A ${family} model of size ${size} (${article} ${architecture} encoder with ${layers} layers of width ${width}) for ${type}: it ${factsOf(report).does}. It was ${made} with Orchard (the npm package orchard-nlp)${start}${rows}, in ${escapeMarkdown(String(hyperparameters.language ?? 'a language not recorded'))}.`;
}

function figures(report: ReportInput): string {
  const { training, evaluation } = report;
  const measured = partsOf(training);
  const [first] = measured;
  if (first === undefined) return '';
  const { name, rows, note } = judgedRows({ training, ...(evaluation && { evaluation }) });
  const scores = scoresOf(first.figures, f1Name(report)).map((score) => escapeMarkdown(score.name));
  const header = [name, ...scores, 'calibration error'];
  const cells = (part: RecordedPart) => [
    ...scoresOf(part, f1Name(report)).map(({ value }) => value),
    part.calibration_error === undefined ? '' : decimal(part.calibration_error.after),
  ];
  return [
    '## Figures',
    `Split: ${name}${rows === undefined ? '' : `, ${counted(rows, 'row')}`}. ${note}`,
    markdownTable(
      header,
      measured.map((part) => [part.name, ...cells(part.figures)]),
    ),
    ...macroF1(report).map(({ name, value }) => `The ${name} of the blend, over both labels, is ${value}.`),
    'Orchard answers with the blend. Other libraries run the encoder alone, whose raw scores are not calibrated.',
    ...(training.precision === undefined ? [] : [weightsUsed(training.precision)]),
  ].join('\n\n');
}

function weightsUsed({ float32, int8, answers }: RecordedPrecision): string {
  const [used, other] =
    answers === 'int8'
      ? [`8-bit weights (\`${QUANTIZED_ONNX_FILE}\`)`, 'float32 weights']
      : ['float32 weights', '8-bit weights'];
  const [own, others] = answers === 'int8' ? [int8, float32] : [float32, int8];
  return `Orchard answers with ${used}: the main figure is ${percent(own)} with them and ${percent(others)} with ${other}.`;
}

function labels({ config, training, evaluation }: ReportInput): string {
  const { noun, names } = classNames(config);
  if (names.length === 0) return '';
  const heading = `## ${noun.slice(0, 1).toUpperCase()}${noun.slice(1)}s`;
  if (names.length > MAX_LISTED_LABELS) {
    return `${heading}\n\n${whole(names.length)}, listed in \`config.json\`.`;
  }
  const byClass = evaluation?.classes ?? [];
  if (byClass.length === 0) return `${heading}\n\n${names.map(escapeMarkdown).join(', ')}`;
  const row = ({ label, precision, recall, f1, support }: ClassFigures) => [
    escapeMarkdown(label),
    percent(precision),
    percent(recall),
    percent(f1),
    whole(support),
  ];
  const header = [noun, 'precision', 'recall', 'F1', 'support'];
  const rows = judgedRows({ training }).name === 'dev' ? 'the dev rows' : 'the cross-validated rows';
  return `${heading}\n\nThe figures of the blend on ${rows}:\n\n${markdownTable(header, byClass.map(row))}`;
}

/** What is said of the rules of a model; empty if it has none. */
function rulesSection({
  config,
  training,
}: Pick<ReportInput, 'config'> & { readonly training?: TrainingRecord }): string {
  const note = rulesNote(config, training);
  return note === undefined ? '' : `${RULES_HEADING}\n\n${note} Other libraries don't apply them.`;
}

const RULES_HEADING = '## Rules';

/** Updates the card of a model whose rules are no longer those of its training. @throws ModelFolderError */
export async function cardWithRules(directory: string): Promise<void> {
  const file = join(directory, CARD_FILE);
  const card = await readFile(file, 'utf8').catch(() => undefined);
  if (card === undefined) return;
  const config = await readConfig(directory);
  const report = await readModelReport(directory).catch(() => undefined);
  const section = rulesSection({ config, ...(report && { training: report.training }) });
  const known = new RegExp(`^${RULES_HEADING}\\n[\\s\\S]*?(?=^## |(?![\\s\\S]))`, 'mu');
  const changed = known.test(card) ? card.replace(known, () => `${section}\n\n`) : `${card.trimEnd()}\n\n${section}\n`;
  await writeFile(file, changed);
}

function hyperparameters({ training }: ReportInput): string {
  const rows = Object.entries({ ...training.hyperparameters, seed: training.seed });
  const header = ['hyperparameter', 'value'];
  return `## Training\n\n${markdownTable(
    header,
    rows.map(([name, value]) => [asWords(name), escapeMarkdown(String(value))]),
  )}`;
}

function usage(report: ReportInput): string {
  const { config } = report;
  const text = config.orchard.parts === 'pair' ? "{ text: 'A text.', text2: 'Another.' }" : "'A text.'";
  const blocks = [
    '## How to use it',
    `With Orchard:\n\n${code(
      "import { loadModel, orThrow } from 'orchard-nlp';",
      '',
      "const model = await orThrow(loadModel('<this folder>'));",
      `console.log(await orThrow(model.predict(${text})));`,
      'await model.close();',
    )}`,
    factsOf(report).usage,
    'With any ONNX runtime: `onnx/model.onnx`, tokenized by `tokenizer.json`.',
  ];
  if (config.orchard.token_types === 'capitals') {
    blocks.push(
      'It reads capitals through `token_type_ids`: 1 for each piece with a capital letter, else 0. Other libraries always pass 0; the model then reads texts as if they were in lower case.',
    );
  }
  return blocks.join('\n\n');
}

const code = (...lines: readonly string[]): string => ['```js', ...lines, '```'].join('\n');

function limits({ config, training, evaluation }: ReportInput): string {
  const [origin, learned] = hasNoRows(training)
    ? ['It has seen no examples, only the names or meanings of its labels. Check its answers to texts of your own.', '']
    : [
        'It was trained on one dataset. Expect lower figures on texts of another kind, time or language.',
        'It learned what its dataset says, including mistakes and prejudices. ',
      ];
  const unseen = evaluation?.classes?.filter(({ support }) => support === 0).length ?? 0;
  const { max_tokens } = config.orchard;
  return [
    '## Limits',
    [
      `- ${origin}`,
      `- It reads ${whole(max_tokens)} tokens at once.`,
      `- ${learned}It has not been checked for fairness.`,
      ...(unseen === 0
        ? []
        : [
            `- ${counted(unseen, classNames(config).noun)} ${unseen === 1 ? 'has' : 'have'} no ${judgedRows({ training }).name} row, so it is unknown how well such texts are recognized.`,
          ]),
    ].join('\n'),
  ].join('\n\n');
}

const letters = [...'abcdefghijklmnopqrstuvwxyz'];

/** ISO 639-1; undefined if it has none. @param language its English name, as in Unicode's CLDR, or the code itself. */
export function languageCode(language: string): string | undefined {
  const wanted = language.trim().toLowerCase();
  const names = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' });
  const codes = letters.flatMap((first) => letters.map((second) => first + second));
  return codes.find((code) => {
    const name = names.of(code)?.toLowerCase();
    return name !== undefined && (code === wanted || name === wanted);
  });
}

/** Puts the text on one line, too. */
export const escapeMarkdown = (text: string): string =>
  text.replace(/\s+/g, ' ').replace(/[\\`*_[\]<>|~#&!$]/g, (mark) => `\\${mark}`);

/** @param rows cells that are already escaped. */
export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}
