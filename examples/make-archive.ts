/**
 * Makes a dataset archive, for text classification out of a CSV, TSV or JSON Lines file, for sequence labelling out of
 * a CoNLL file: `npx tsx examples/make-archive.ts --input reviews.csv --type binary-text-classification --output reviews.zip`
 */
import { basename, extname } from 'node:path';
import { parseArgs } from 'node:util';
import {
  type ClassificationType,
  classificationTypes,
  createClassificationArchive,
  createSequenceArchive,
  type DatasetWarning,
  describeDatasetProblem,
  sequenceTypes,
} from 'orchard-nlp';

const USAGE = `Options:
  --input FILE         UTF-8: CSV, TSV or JSON Lines (by the ending) for classification; for sequence labelling
                       CoNLL's columns: a word a line, its BIO tag in the last column, a blank line after a sentence
  --output FILE.zip    where the archive goes
  --type TYPE          ${classificationTypes.join(', ')},
                       ${sequenceTypes.join(', ')}
  --text-column NAME   classification; default: text
  --label-column NAME  classification; default: label; several labels of a row are separated by commas
  --dev FILE           rows to evaluate on, in the same format; default: a tenth of --input is set aside
  --dev-fraction X     another share to set aside
  --seed N             decides which rows are set aside; default: 0
  --name NAME          default: the name of --output
  --description TEXT   default: the name`;

const { values: given } = parseArgs({
  options: {
    input: { type: 'string' },
    output: { type: 'string' },
    type: { type: 'string' },
    'text-column': { type: 'string' },
    'label-column': { type: 'string' },
    dev: { type: 'string' },
    'dev-fraction': { type: 'string' },
    seed: { type: 'string' },
    name: { type: 'string' },
    description: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

const classificationType = classificationTypes.find((each) => each === given.type);
const sequenceType = sequenceTypes.find((each) => each === given.type);
if (given.help) {
  console.log(USAGE);
  process.exit(0);
}
if (
  given.input === undefined ||
  given.output === undefined ||
  (classificationType ?? sequenceType) === undefined
) {
  console.error(USAGE);
  process.exit(2);
}
const { input, output } = { input: given.input, output: given.output };

const options = {
  name: given.name ?? basename(output, extname(output)),
  description: given.description,
  devFraction: given['dev-fraction'] === undefined ? undefined : Number(given['dev-fraction']),
  seed: given.seed === undefined ? undefined : Number(given.seed),
};

/** What is printed of an archive, whatever its type. */
interface Summary {
  readonly path: string;
  readonly train: number;
  readonly dev: number;
  readonly labels: string;
  readonly removedDuplicates: number;
  readonly respaced: string | undefined;
  readonly warnings: readonly DatasetWarning[];
}

const made = await (classificationType ? makeClassification(classificationType) : makeSequence());

function makeClassification(type: ClassificationType) {
  const columns = { textColumn: given['text-column'], labelColumn: given['label-column'] };
  const rows = { path: input, ...columns };
  const devRows = given.dev === undefined ? undefined : { path: given.dev, ...columns };
  return createClassificationArchive({ ...options, type, rows, devRows }, output).map(
    ({ labels, respacedTexts, ...summary }): Summary => ({
      ...summary,
      labels: `${labels.length} labels`,
      respaced:
        respacedTexts > 0 ? `tabs and line breaks became spaces in ${respacedTexts} texts` : undefined,
    }),
  );
}

function makeSequence() {
  const devRows = given.dev === undefined ? undefined : { path: given.dev };
  return createSequenceArchive({ ...options, rows: { path: input }, devRows }, output).map(
    ({ entityTypes, respacedWords, ...summary }): Summary => ({
      ...summary,
      labels: `${entityTypes.length} types of entities (${entityTypes.join(', ')})`,
      respaced: respacedWords > 0 ? `${respacedWords} words with spaces became several, or none` : undefined,
    }),
  );
}

made.match(
  ({ path, train, dev, labels, removedDuplicates, respaced, warnings }) => {
    console.log(`${path}: ${train} rows to train on, ${dev} to evaluate on, ${labels}`);
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
