import { styleText } from 'node:util';
import type { AnswerExplanation } from '../../api/index.js';
import type { ExplainedAnswer, ExplainedWord } from '../../families/index.js';
import { command, UsageError } from '../command.js';
import { onOneLine } from '../format.js';
import { list, modelParameters, openModel, openTexts, option, rulesOption, textOptions } from '../parameters.js';

export const explainCommand = command({
  name: 'explain',
  summary: 'show which words of a text influenced the answer',
  details: `Prints a line for each answer: the answer, its score, and the text. After each word, in brackets, is its contribution to the
log-odds of the answer or, for a passage, to its score before the softmax; a negative contribution counts against it. On a
terminal, influential words are coloured instead: green counts towards the answer, red against it.

  orchard explain emotion-detection 'Slow delivery, but I love it.'`,
  parameters: {
    model: modelParameters.model,
    texts: list('[texts...]', 'texts to explain'),
    ...textOptions,
    label: option('--label <label>', 'classification: label to explain (default: the most probable one)'),
    rules: rulesOption,
    device: modelParameters.device,
    runtime: modelParameters.runtime,
    threads: modelParameters.threads,
  },
  async run({ settings, terminal, output }) {
    using input = await openTexts(settings, { terminal, output });
    const isColoured = output.isTerminal && !terminal.env.NO_COLOR;
    await using model = await openModel(settings);
    if (settings.label !== undefined && model.kind !== 'labels')
      throw new UsageError(`${model.name} is not a classifier; leave --label out`);
    for await (const each of input) {
      const explained = await model.explain(each.text, { label: settings.label });
      if (explained.isErr()) await input.problem(each.line, output.messageOf(explained.error));
      else {
        const lines = linesOf(each.text, explained.value, isColoured);
        await output.result({ ...each, ...explained.value }, lines);
      }
    }
  },
});

function linesOf(text: string, { explained }: AnswerExplanation, isColoured: boolean): readonly string[] {
  return explained.map((each) => {
    const { answer, score, rule } = each;
    if (rule !== undefined) {
      const by = `rule ${JSON.stringify(rule.name)} matches ${JSON.stringify(rule.text)}`;
      return `${onOneLine(answer)}\t${score.toFixed(4)}\t${onOneLine(text)}\t(${by})`;
    }
    return `${onOneLine(answer)}\t${score.toFixed(4)}\t${onOneLine(withWeights(text, each, isColoured))}`;
  });
}

function withWeights(text: string, { words }: ExplainedAnswer, isColoured: boolean): string {
  const most = Math.max(0, ...words.map(({ weight }) => Math.abs(weight)));
  let done = 0;
  const pieces = words.flatMap((each) => {
    const before = text.slice(done, each.start);
    done = each.start + each.word.length;
    return [before, isColoured ? coloured(each, most) : `${each.word}(${signed(each.weight)})`];
  });
  return [...pieces, text.slice(done)].join('');
}

function signed(weight: number): string {
  return `${weight < 0 ? '' : '+'}${weight.toFixed(2)}`;
}

/** Words with less than this share of the strongest weight stay uncoloured. */
const LEAST_SHARE = 0.2;

function coloured({ word, weight }: ExplainedWord, most: number): string {
  if (Math.abs(weight) <= LEAST_SHARE * most) return word;
  return styleText(weight > 0 ? 'green' : 'red', word, { validateStream: false });
}
