import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A text that was held out, and its label. */
export interface DevRow {
  readonly text: string;
  readonly label: string;
}

/** The held-out rows of a classification dataset's folder. */
export async function readDevRows(folder: string): Promise<DevRow[]> {
  const labels: Record<string, string> = JSON.parse(await readFile(join(folder, 'label_id.json'), 'utf8'));
  const [, ...lines] = (await readFile(join(folder, 'dev.tsv'), 'utf8')).trimEnd().split('\n');
  return lines.map((line) => {
    const [text = '', id = ''] = line.split('\t');
    return { text, label: labels[id] ?? id };
  });
}
