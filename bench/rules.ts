/**
 * Time of rules next to a model: to prepare terms, and to match terms and patterns in a text.
 *
 *   npm run bench -- rules
 */
import { RuleSet } from '../src/families/index.js';
import type { Rule } from '../src/models/index.js';
import { Random, runToEnd } from '../src/system/index.js';
import { withTimeLimit } from '../src/text/index.js';

const random = Random.fromSeed(1);
const pick = (words: readonly string[]) => words[random.integer(words.length)] ?? '';
const syllables = 'ka ro mi tan vel os bri den lu far sho pix qua zen mor dal'.split(' ');
const fillers = 'on monday we went to the shop near my house and then a friend took it with us from there'.split(' ');
const TEXTS = 5000;
const WORDS = 20;

/** One to three made-up words, each with a capital. */
function term(): string {
  const words = Array.from({ length: 1 + random.integer(3) }, () => {
    const word = Array.from({ length: 2 + random.integer(3) }, () => pick(syllables)).join('');
    return word.slice(0, 1).toUpperCase() + word.slice(1);
  });
  return words.join(' ');
}

const all = new Set<string>();
while (all.size < 200_000) all.add(term());
const terms = [...all];
/** One word in eight is a term. */
const text = () => Array.from({ length: WORDS }, () => pick(random.integer(8) === 0 ? terms : fillers)).join(' ');
const texts = Array.from({ length: TEXTS }, text);
const characters = texts.reduce((sum, { length }) => sum + length, 0);

const patterns: readonly Rule[] = [
  { type: 'ORDER', pattern: 'A-\\d{5}' },
  { type: 'EMAIL', pattern: '[\\w.+-]+@[\\w-]+\\.[\\w.]+' },
];
const cases: readonly (readonly [name: string, rules: readonly Rule[]])[] = [
  ...[1000, 10_000, 100_000, 200_000].map(
    (count) => [`${count} terms`, [{ type: 'THING', terms: terms.slice(0, count) }]] as const,
  ),
  ['200000 terms, any case', [{ type: 'THING', terms, ignoreCase: true }]],
  ['2 patterns', patterns],
  ['100 patterns', Array.from({ length: 50 }, () => patterns).flat()],
];

console.log(`${TEXTS} texts of ${Math.round(characters / TEXTS)} characters on average`);
for (const [name, rules] of cases) {
  const startedAt = performance.now();
  const set = runToEnd(RuleSet.build(rules, withTimeLimit));
  const built = performance.now();
  const measured: number[] = [];
  let matches = 0;
  for (let pass = 0; pass < 3; pass += 1) {
    const from = performance.now();
    for (const each of texts) matches += set.matches(each).length;
    measured.push((1000 * (performance.now() - from)) / TEXTS);
  }
  const best = Math.min(...measured).toFixed(0);
  console.log(`${name}: prepared in ${(built - startedAt).toFixed(0)} ms, ${best} µs a text, ${matches / 3} matches`);
}
