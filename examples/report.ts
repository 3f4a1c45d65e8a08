import { writeFile } from 'node:fs/promises';
import { fileStorage, Trainer } from 'orchard-nlp';

await using trainer = new Trainer({ storage: fileStorage('./models') });
const models = await trainer.listModels({ trainingStatus: 'READY', limit: 1 });
if (models.isErr()) throw models.error;
for (const { id, name } of models.value.data) {
  const page = await trainer.report(id);
  if (page.isErr()) throw page.error;
  await writeFile(`${name}.html`, page.value);
}
