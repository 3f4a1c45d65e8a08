import type { InferenceResult } from 'orchard-nlp';
import pc from 'picocolors';

const colours = [pc.cyan, pc.yellow, pc.magenta, pc.green, pc.blue, pc.red];
/** Types in the order in which they were first seen; each keeps its colour. */
const types: string[] = [];

/** The text with its entities in colour, each followed by its type and score. */
export function printEntities(query: string, result: InferenceResult): void {
  const { labels, scores, tokens = [], token_start_positions: starts = [] } = result;
  let line = '';
  let end = 0;
  for (const [index, token] of tokens.entries()) {
    const start = starts[index] ?? end;
    const type = labels[index] ?? '';
    const score = `${(100 * (scores[index] ?? 0)).toFixed(0)} %`;
    line += `${query.slice(end, start)}${pc.bold(colourOf(type)(token))} ${pc.dim(`[${type} ${score}]`)}`;
    end = start + token.length;
  }
  console.log(`  ${line}${query.slice(end)}`);
  if (tokens.length === 0) console.log(pc.dim('  no entities'));
}

function colourOf(type: string) {
  if (!types.includes(type)) types.push(type);
  return colours[types.indexOf(type) % colours.length] ?? pc.white;
}
