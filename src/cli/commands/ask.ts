/** The commands that ask a model. */
import { answerFormats } from '../answers/format-names.js';
import type { CommandDefinition, OptionDefinition } from '../command-definition.js';
import { inputFormats } from '../input/texts.js';
import { columnOptions, deviceOption, modelArgument, threadsOption } from './shared-options.js';

const textOptions: readonly OptionDefinition[] = [
  { flags: '-i, --input <file>', description: 'a file of texts; - is standard input' },
  {
    flags: '--input-format <format>',
    description:
      "one text a line (text), or a field of each record (by the file's ending; text for standard input)",
    choices: inputFormats,
  },
  { flags: '--text-column <name>', description: 'the field that has the text (text)' },
];

export const predictDefinition: CommandDefinition = {
  name: 'predict',
  summary: 'answer texts: labels, entities or passages',
  details: `Texts come from the command line, else from --input, else from standard input, and are answered as they come. What
can't be read or answered is told with its line, the rest goes on, and the exit code is 1.

  orchard predict sentiment-classification 'Works perfectly!'
  orchard predict ./reviews-model --input reviews.csv --text-column review --format csv > answers.csv`,
  arguments: [modelArgument, { usage: '[texts...]', description: 'texts to answer' }],
  options: [
    ...textOptions,
    {
      flags: '-f, --format <format>',
      description: 'how answers are written: label, score and text with tabs; JSON Lines; CSV (text)',
      choices: answerFormats,
    },
    { flags: '-k, --top <number>', description: 'so many labels or passages of each text, best first' },
    {
      flags: '--none-of-these',
      description:
        'classification: - where none of the labels may fit, by a threshold that the training fitted',
    },
    deviceOption,
    threadsOption,
  ],
  run: async (run) => (await import('../actions/predict.js')).predict(run),
};

export const explainDefinition: CommandDefinition = {
  name: 'explain',
  summary: 'tell which words of a text moved the answer',
  details: `A line for each answer explained: the answer, its score, and the text, each word with what it adds to the answer's log-odds
in brackets; words below zero speak against it. On a terminal, words that move it are coloured instead.

  orchard explain sentiment-classification 'Slow delivery, but it works perfectly.'`,
  arguments: [modelArgument, { usage: '[texts...]', description: 'texts to explain' }],
  options: [
    ...textOptions,
    { flags: '--label <label>', description: 'classification: what to explain (the most probable label)' },
    deviceOption,
    threadsOption,
  ],
  run: async (run) => (await import('../actions/explain.js')).explain(run),
};

export const evaluateDefinition: CommandDefinition = {
  name: 'evaluate',
  summary: 'score a model on rows of yours: figures per class, confusions, intervals',
  details: `The rows are in the format that training takes: CSV, TSV or JSON Lines by the ending, CoNLL's columns for entities.
Intervals are at 95 %, by resampling the rows.

  orchard evaluate ./reviews-model test.csv --report report.html`,
  arguments: [modelArgument, { usage: '<rows>', description: 'a file of rows with their right answers' }],
  options: [
    { flags: '--report <file>', description: 'write an HTML page of it too' },
    ...columnOptions,
    { flags: '--resamples <number>', description: 'of the rows, for the intervals (1000)' },
    { flags: '--seed <number>', description: 'decides how rows are resampled (0)' },
    deviceOption,
    threadsOption,
  ],
  run: async (run) => (await import('../actions/evaluate.js')).evaluate(run),
};

export const suggestDefinition: CommandDefinition = {
  name: 'suggest',
  summary: 'tell which unlabelled texts to label next',
  details: `Texts that the model is unsure of and that differ from each other, the least sure first: uncertainty, line and text.

  orchard suggest ./reviews-model --input unlabelled.txt --count 50`,
  arguments: [modelArgument, { usage: '[texts...]', description: 'texts to choose from' }],
  options: [
    ...textOptions,
    { flags: '-n, --count <number>', description: 'how many (20)' },
    { flags: '--seed <number>', description: 'decides the draws (0)' },
    deviceOption,
    threadsOption,
  ],
  run: async (run) => (await import('../actions/suggest.js')).suggest(run),
};

export const embedDefinition: CommandDefinition = {
  name: 'embed',
  summary: 'print the vector of each text: its numbers, or JSON',
  details: `Vectors have the length 1, so their products are cosines. One text a line, its numbers separated by tabs.`,
  arguments: [{ usage: '[texts...]', description: 'texts' }],
  options: [
    ...textOptions,
    {
      flags: '-m, --model <model>',
      description: "a model's or backbone's folder or name (the English backbone)",
    },
    deviceOption,
  ],
  run: async (run) => (await import('../actions/embed.js')).embedTexts(run),
};

export const searchDefinition: CommandDefinition = {
  name: 'search',
  summary: 'find the passages that answer a question, without training',
  details: `One passage a line, or a field of each record. Without questions on the command line, standard input has one a line.

  orchard search passages.txt 'When does the library close?'
  orchard search passages.txt --save ./index        keeps the index: orchard search ./index takes it up`,
  arguments: [
    { usage: '<passages>', description: 'a file of passages, or the folder of an index' },
    { usage: '[questions...]', description: 'what to look for' },
  ],
  options: [
    {
      flags: '--input-format <format>',
      description: "of the passages: one a line (text), or a field of each record (by the file's ending)",
      choices: inputFormats,
    },
    { flags: '--text-column <name>', description: 'the field that has the passage (text)' },
    { flags: '-k, --top <number>', description: 'passages of each question (3)' },
    { flags: '-m, --model <model>', description: "a model's or backbone's folder or name (by the language)" },
    { flags: '--language <language>', description: 'of the passages, such as en or ja (en)' },
    { flags: '--save <folder>', description: 'keep the index there' },
    deviceOption,
  ],
  run: async (run) => (await import('../actions/search.js')).searchPassages(run),
};

export const exportDefinition: CommandDefinition = {
  name: 'export',
  summary: 'copy a model to a folder or zip, in fp32 for other libraries or in int8',
  details: `fp32: model.safetensors and onnx/model.onnx, which Python's libraries and transformers.js load; a model that has 8-bit weights
alone gets them by restoring its weights. int8: the 8-bit graph alone, a quarter of the size, which is all that Orchard needs.

  orchard export sentiment-classification ./sentiment-fp32
  orchard export ./reviews-model reviews.zip --precision int8`,
  arguments: [modelArgument, { usage: '<output>', description: 'a new folder, or a file that ends in .zip' }],
  options: [
    { flags: '--precision <precision>', description: 'which weights (fp32)', choices: ['fp32', 'int8'] },
  ],
  run: async (run) => (await import('../actions/export.js')).exportTo(run),
};
