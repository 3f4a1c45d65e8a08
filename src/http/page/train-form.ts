import { byId, whileBusy } from './elements.js';
import { showFormat } from './format-help.js';
import { clearProblems, type Fields, showProblems } from './problems.js';
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

/** Starts training jobs. @param onStarted told the id and name of each. */
export function startTrainForm(
  service: Service,
  onStarted: (id: string, name: string) => Promise<void>,
): void {
  const form = byId('train-form', HTMLFormElement);
  const button = byId('train-button', HTMLButtonElement);
  form.addEventListener('change', () => {
    showSource();
    showFormat(modelConfig().family);
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void whileBusy(button, async () => {
      clearProblems(fields, REST);
      button.textContent = isUpload() ? 'Uploading…' : 'Starting…';
      try {
        const job: NewJob = { model_config: modelConfig(), training_config: trainingConfig() };
        const { id } = await start(service, job);
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

function isUpload(): boolean {
  return document.querySelector<HTMLInputElement>('input[name=source]:checked')?.value === 'file';
}

/** Only the field of the chosen source is there; what is disabled need not be filled in. */
function showSource(): void {
  for (const [name, isChosen] of [
    ['file', isUpload()],
    ['url', !isUpload()],
  ] as const) {
    byId(`${name}-field`, HTMLElement).hidden = !isChosen;
    byId(name, HTMLInputElement).disabled = !isChosen;
  }
}

async function start(service: Service, job: NewJob): Promise<{ id: string }> {
  if (!isUpload()) return service.trainOnUrl(byId('url', HTMLInputElement).value, job);
  const file = byId('file', HTMLInputElement).files?.item(0);
  if (!file) throw new Error('choose a file');
  return service.trainOnUpload(await service.upload(file, job.model_config.type), job);
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
