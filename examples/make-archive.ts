/**
 * Makes a dataset archive out of a file of yours:
 * `npm run archive -- --input reviews.csv --type binary-text-classification --output reviews.zip`
 */
import { basename, extname } from 'node:path';
import { parseArgs } from 'node:util';
import {
  type ClassificationType,
  classificationTypes,
  createClassificationArchive,
  createRetrievalArchive,
  createSequenceArchive,
  type DatasetWarning,
  describeDatasetProblem,
  sequenceTypes,
} from 'orchard-nlp';

const USAGE = `Options:
  --input FILE           UTF-8: CSV, TSV or JSON Lines (by the ending) for classification and questions; for sequence
                         labelling CoNLL's columns: a word a line, its BIO tag in the last column, a blank line after
                         a sentence
  --output FILE.zip      where the archive goes
  --type TYPE            ${classificationTypes.join(', ')},
                         ${sequenceTypes.join(', ')}, question-answering
  --text-column NAME     classification; default: text
  --label-column NAME    classification; default: label; several labels of a row are separated by commas
  --question-column NAME question-answering; default: question
  --context-column NAME  question-answering: the passage that answers the question; default: context
  --dev FILE             rows to evaluate on, in the same format; default: a tenth of --input is set aside
  --dev-fraction X       another share to set aside
  --seed N               decides which rows are set aside; default: 0
  --name NAME            default: the name of --output
  --description TEXT     default: the name`;

const { values: given } = parseArgs({
  options: {
    input: { type: 'string' },
    output: { type: 'string' },
    type: { type: 'string' },
    'text-column': { type: 'string' },
    'label-column': { type: 'string' },
    'question-column': { type: 'string' },
    'context-column': { type: 'string' },
    dev: { type: 'string' },
    'dev-fraction': { type: 'string' },
    seed: { type: 'string' },
    name: { type: 'string' },
    description: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (given.help) {
  console.log(USAGE);
  process.exit(0);
}
const { input, output } = given;
const make = makerOf(given.type);
if (input === undefined || output === undefined || make === undefined) {
  console.error(USAGE);
  process.exit(2);
}

/** What is printed of an archive, whatever its type. */
interface Summary {
  readonly path: string;
  readonly train: number;
  readonly dev: number;
  readonly contents: string;
  readonly removedDuplicates: number;
  readonly respaced?: string | undefined;
  readonly warnings: readonly DatasetWarning[];
}

const options = {
  name: given.name ?? basename(output, extname(output)),
  description: given.description,
  devFraction: given['dev-fraction'] === undefined ? undefined : Number(given['dev-fraction']),
  seed: given.seed === undefined ? undefined : Number(given.seed),
};
type Options = typeof options;

function makerOf(type: string | undefined) {
  const classification = classificationTypes.find((each) => each === type);
  if (classification) return makeClassification(classification);
  if (sequenceTypes.some((each) => each === type)) return makeSequence;
  return type === 'question-answering' ? makeRetrieval : undefined;
}

/** The two files, read with the same settings. */
function sources<Settings extends object>(path: string, settings: Settings) {
  return {
    rows: { path, ...settings },
    devRows: given.dev === undefined ? undefined : { path: given.dev, ...settings },
  };
}

function makeClassification(type: ClassificationType) {
  const columns = { textColumn: given['text-column'], labelColumn: given['label-column'] };
  return (path: string, target: string, settings: Options) =>
    createClassificationArchive({ ...settings, type, ...sources(path, columns) }, target).map(
      ({ labels, respacedTexts, ...summary }): Summary => ({
        ...summary,
        contents: `${labels.length} labels`,
        respaced:
          respacedTexts > 0 ? `tabs and line breaks became spaces in ${respacedTexts} texts` : undefined,
      }),
    );
}

function makeSequence(path: string, target: string, settings: Options) {
  return createSequenceArchive({ ...settings, ...sources(path, {}) }, target).map(
    ({ entityTypes, respacedWords, ...summary }): Summary => ({
      ...summary,
      contents: `${entityTypes.length} types of entities (${entityTypes.join(', ')})`,
      respaced: respacedWords > 0 ? `${respacedWords} words with spaces became several, or none` : undefined,
    }),
  );
}

function makeRetrieval(path: string, target: string, settings: Options) {
  const columns = { questionColumn: given['question-column'], contextColumn: given['context-column'] };
  return createRetrievalArchive({ ...settings, ...sources(path, columns) }, target).map(
    ({ passages, ...summary }): Summary => ({ ...summary, contents: `${passages} passages` }),
  );
}

const made = await make(input, output, options);
made.match(
  ({ path, train, dev, contents, removedDuplicates, respaced, warnings }) => {
    console.log(`${path}: ${train} rows to train on, ${dev} to evaluate on, ${contents}`);
    if (removedDuplicates > 0) console.log(`${removedDuplicates} repeated rows were left out`);
    if (respaced) console.log(respaced);
    for (const { message } of warnings) console.log(`warning: ${message}`);
  },
  (error) => {
    const problems = error.code === 'dataset' ? error.problems.map(describeDatasetProblem) : [error.message];
    for (const problem of problems) console.error(problem);
    if (error.code === 'dataset' && error.total > problems.length)
      console.error(`${error.total} problems in all`);
    process.exitCode = 1;
  },
);
