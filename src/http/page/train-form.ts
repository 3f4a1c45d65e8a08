import { byId, clearProblems, element, type Fields, showProblems, unfold, whileBusy } from './elements.js';
import { type ColumnNames, FilePreview } from './file-preview.js';
import type { NewJob, Service } from './service.js';

const fields: Fields = {
  name: 'name',
  type: 'type',
  upload: 'file',
  body: 'file', // of the upload itself
  dataset_url: 'url',
  num_epochs: 'epochs',
  batch_size: 'batch-size',
  learning_rate: 'learning-rate',
};
const REST = 'train-problem';

/** Starts training jobs. @param onStarted called with the id and name of each */
export function startTrainForm(
  service: Service,
  names: ColumnNames,
  onStarted: (id: string, name: string) => Promise<void>,
): void {
  const form = byId('train-form', HTMLFormElement);
  const button = byId('train-button', HTMLButtonElement);
  const preview = new FilePreview(names);
  form.addEventListener('change', ({ target }) => {
    showSource();
    showFormat(modelConfig().family);
    if (target === byId('file', HTMLInputElement)) void showFile(preview);
    if (target === byId('type', HTMLSelectElement)) preview.fit(modelConfig().family);
  });
  const seeInvalid = ({ target }: Event) => target instanceof Element && unfold(target);
  form.addEventListener('invalid', seeInvalid, { capture: true }); // the event does not bubble
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void whileBusy(button, async () => {
      clearProblems(fields, REST);
      button.textContent = isUpload() ? 'Uploading…' : 'Starting…';
      try {
        const job: NewJob = { model_config: modelConfig(), training_config: trainingConfig() };
        const { id } = await start(service, job, preview);
        await onStarted(id, job.model_config.name);
      } catch (thrown) {
        showProblems(thrown, fields, REST);
      } finally {
        button.textContent = 'Start training';
      }
    });
  });
  showSource();
  showFormat(modelConfig().family);
}

/** Shows the first rows of the chosen file, and fills in the name and the task that follow from it. */
async function showFile(preview: FilePreview): Promise<void> {
  clearProblems(fields, REST);
  const file = chosenFile();
  const name = byId('name', HTMLInputElement);
  if (file !== undefined && name.value === '') name.value = modelNameOf(file);
  const type = await preview.show(file);
  if (file !== chosenFile()) return; // another was chosen in the meantime
  if (type !== undefined && !fits(type)) byId('type', HTMLSelectElement).value = type;
  preview.fit(modelConfig().family);
  showFormat(modelConfig().family);
}

const chosenFile = (): File | undefined => byId('file', HTMLInputElement).files?.item(0) ?? undefined;

/** Multilabel models can learn from rows with one label each, and sequences have two types. */
function fits(type: string): boolean {
  const chosen = modelConfig().type;
  return chosen === type || (chosen.startsWith('multilabel') && type.endsWith('text-classification'));
}

/** The name of a model may have 24 lower-case letters, digits and hyphens. */
function modelNameOf(file: File): string {
  const [stem = ''] = file.name.toLowerCase().split('.', 1);
  return stem
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, 24)
    .replace(/-$/, '');
}

function isUpload(): boolean {
  return document.querySelector<HTMLInputElement>('input[name=source]:checked')?.value === 'file';
}

/** Shows only the field of the chosen source. The other one is disabled, so that it need not be filled in. */
function showSource(): void {
  for (const [name, isChosen] of [
    ['file', isUpload()],
    ['url', !isUpload()],
  ] as const) {
    byId(`${name}-field`, HTMLElement).hidden = !isChosen;
    byId(name, HTMLInputElement).disabled = !isChosen;
  }
}

async function start(service: Service, job: NewJob, preview: FilePreview): Promise<{ id: string }> {
  if (!isUpload()) return service.trainOnUrl(byId('url', HTMLInputElement).value, job);
  const file = chosenFile();
  if (!file) throw new Error('choose a file');
  return service.trainOnUpload(await service.upload(file, job.model_config.type, preview.columns), job);
}

function modelConfig(): NewJob['model_config'] {
  const [type] = byId('type', HTMLSelectElement).selectedOptions;
  return {
    name: byId('name', HTMLInputElement).value,
    type: type?.value ?? '',
    family: type?.dataset.family ?? '',
    size: byId('size', HTMLSelectElement).value,
  };
}

function trainingConfig(): NewJob['training_config'] {
  return {
    ...setting('num_epochs', 'epochs'),
    ...setting('batch_size', 'batch-size'),
    ...setting('learning_rate', 'learning-rate'),
  };
}

function setting(name: keyof NewJob['training_config'], id: string): NewJob['training_config'] {
  const { value, valueAsNumber } = byId(id, HTMLInputElement);
  return value === '' ? {} : { [name]: valueAsNumber };
}

interface DatasetFormat {
  readonly about: string;
  readonly samples: Readonly<Record<string, string>>;
}

const datasetFormats: Readonly<Record<string, DatasetFormat>> = {
  Papaya: {
    about:
      'One row per text, with the columns “text” and “label”. Separate several labels by commas, or use an array in JSON Lines.',
    samples: {
      'reviews.csv': 'text,label\n"Works, as it should",positive\nBroke at once,negative\n',
      'reviews.jsonl':
        '{"text": "Works, as it should", "label": "positive"}\n{"text": "Broke at once", "label": "negative"}\n',
    },
  },
  Grapefruit: {
    about:
      'CoNLL columns: one word per line, then a tab or space and its tag: O, or B- and I- with the entity type. A blank line ends a sentence.',
    samples: { 'names.conll': 'Ada\tB-PER\nLovelace\tI-PER\nleft\tO\nParis\tB-LOC\n\nIt\tO\nrains\tO\n' },
  },
  Dragonfruit: {
    about: 'One row per question and the passage that answers it, with the columns “question” and “context”.',
    samples: {
      'questions.csv':
        'question,context\nHow heavy is the lamp?,The lamp weighs two kilograms.\nWhere is it made?,All lamps are made in Graz.\n',
      'questions.jsonl': '{"question": "How heavy is the lamp?", "context": "The lamp weighs two kilograms."}\n',
    },
  },
};

function showFormat(family: string): void {
  const format = datasetFormats[family];
  if (format === undefined) return;
  const samples = Object.entries(format.samples).map(([name, text]) => {
    const link = element('a', { href: dataUrl(text), download: name }, name);
    const sample = element('pre', { tabIndex: 0, ariaLabel: `A sample of ${name}` }, text);
    sample.setAttribute('role', 'region');
    return element('div', {}, element('p', {}, 'Example: ', link), sample);
  });
  byId('format-content', HTMLElement).replaceChildren(element('p', {}, format.about), ...samples);
}

function dataUrl(text: string): string {
  return `data:text/plain;charset=utf-8,${encodeURIComponent(text)}`;
}
