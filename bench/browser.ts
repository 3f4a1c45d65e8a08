import { parseArgs } from 'node:util';
import { chromium, type Page } from 'playwright-core';
import { TemporaryDirectory } from '../src/system/index.js';
import { executable } from '../test/http/a-browser.js';
import { askWorker, builtPage, servePage } from '../test/package/web-page.js';
import { machine, median, quantile } from './report.js';

/**
 * examples/projects/page in Chromium: the time from a reload, with all files kept by the service worker, to the first answer,
 * and how many short texts its Web Worker answers per second, one after another.
 *
 * Usage: `npm run bench -- browser [--rounds 10] [--texts 500]`. CHROMIUM names another browser than /usr/bin/chromium.
 */

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '10' }, texts: { type: 'string', default: '500' } },
});
if (executable === undefined) throw new Error('there is no /usr/bin/chromium; set CHROMIUM to the path of one');
const temporary = new TemporaryDirectory();
const folder = await builtPage(await temporary.path());
const served = await servePage(folder);
const browser = await chromium.launch({ executablePath: executable, args: ['--no-sandbox'] });
const page = await browser.newPage();
await page.goto(served.url);
await page.getByText('Ready. This page also works offline.').waitFor();

const firstAnswers: number[] = [];
const opened: number[] = [];
const perSecond: number[] = [];
const texts = shortTexts(Number(options.texts));
for (let round = 0; round < Number(options.rounds); round += 1) {
  firstAnswers.push(await firstAnswer(page));
  const { openMs, answersMs } = await askWorker(page, folder, texts);
  opened.push(openMs);
  perSecond.push((1000 * texts.length) / answersMs);
}
console.log(`${machine()}, Chromium ${browser.version()}; ${options.rounds} rounds, medians (least to most)\n`);
console.log(`| what | figure |\n| --- | --- |
| reload to first answer, ms | ${spread(firstAnswers)} |
| start of the worker to its open model, ms | ${spread(opened)} |
| answers per second in the worker, texts of 3 to 12 words | ${spread(perSecond)} |`);
await browser.close();
await served.stop();
await temporary.remove();

/** Types before the model is open, so that the answer comes as soon as it can. */
async function firstAnswer(on: Page): Promise<number> {
  await on.reload({ waitUntil: 'commit' });
  return on.evaluate<number>(`new Promise((resolve) => {
    const watch = () => {
      const text = document.querySelector('#text');
      if (text !== null && text.value === '') text.value = 'Works perfectly';
      if (document.querySelector('#answer')?.textContent) resolve(performance.now());
      else setTimeout(watch, 1);
    };
    watch();
  })`);
}

function shortTexts(count: number): string[] {
  const things = ['The lamp', 'This film', 'My order', 'The soup', 'Their support', 'The battery'];
  const verdicts = [
    'works perfectly',
    'broke at once',
    'was fine, if a little late and not quite what we had expected',
    'is lovely and worth every penny',
    'was cold, and nobody answered when I asked',
  ];
  return Array.from(
    { length: count },
    (_, at) => `${things[at % things.length]} ${verdicts[at % verdicts.length]}, ${at}.`,
  );
}

function spread(values: readonly number[]): string {
  const [middle, least, most] = [median(values), quantile(values, 0), quantile(values, 1)].map(Math.round);
  return `${middle} (${least} to ${most})`;
}
