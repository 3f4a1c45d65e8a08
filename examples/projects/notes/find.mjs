// Finds the paragraphs of your notes that answer a question: find.mjs <question> [folder], by default ./notes.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { search } from 'orchard-nlp';

const [question = '', folder = 'notes'] = process.argv.slice(2);
const names = (await readdir(folder, { recursive: true })).filter((name) => /\.(?:md|txt)$/.test(name));
const found = [];
for (const name of names)
  for (const paragraph of (await readFile(join(folder, name), 'utf8')).split(/\n\s*\n/))
    if (paragraph.trim() !== '') found.push({ name, paragraph: paragraph.trim() });

const made = await search([...new Set(found.map(({ paragraph }) => paragraph))]);
if (made.isErr()) throw made.error;
const index = made.value;
const answers = await index.search(question, { k: 3 });
await index.close();
if (answers.isErr()) throw answers.error;

const good = answers.value.filter(({ score }) => score >= 0.5);
for (const { passage, score } of good) {
  const { name } = found.find(({ paragraph }) => paragraph === passage) ?? {};
  console.log(`${score.toFixed(2)} ${name}\n  ${passage.replaceAll('\n', '\n  ')}`);
}
if (good.length === 0) console.log('Your notes do not say.');
