import { ModelChoice, startAskForm } from './ask-form.js';
import { byId, shownProblem, whileBusy } from './elements.js';
import type { ColumnNames } from './file-preview.js';
import { JobPanel, jobList } from './jobs.js';
import { LabelView } from './label-view.js';
import { hasEnded, Service } from './service.js';
import { startTrainForm } from './train-form.js';

const KEY = 'orchard-api-key';

const keyForm = byId('key-form', HTMLFormElement);
const keyInput = byId('key', HTMLInputElement);

keyForm.addEventListener('submit', (event) => {
  event.preventDefault();
  const button = keyForm.querySelector('button');
  if (button) void whileBusy(button, () => enter(keyInput.value.trim()));
});
byId('forget-key', HTMLButtonElement).addEventListener('click', () => {
  sessionStorage.removeItem(KEY);
  location.reload();
});

const kept = sessionStorage.getItem(KEY);
if (kept === null) askForKey();
else await enter(kept);

function askForKey(problem = ''): void {
  byId('key-section', HTMLElement).hidden = false;
  byId('key-problem', HTMLElement).textContent = problem;
  keyInput.ariaInvalid = problem === '' ? null : 'true';
  keyInput.focus();
}

async function enter(key: string): Promise<void> {
  const service = new Service(key);
  const models = new ModelChoice(service);
  let names: ColumnNames;
  try {
    ({ column_names: names } = await models.refresh());
  } catch (thrown) {
    sessionStorage.removeItem(KEY);
    return askForKey(shownProblem(thrown));
  }
  sessionStorage.setItem(KEY, key);
  byId('key-section', HTMLElement).hidden = true;
  byId('forget-key', HTMLElement).hidden = false;
  await startWork(service, models, names);
}

async function startWork(service: Service, models: ModelChoice, names: ColumnNames): Promise<void> {
  const panel = new JobPanel({
    service,
    onChange: (job) => {
      void refreshList();
      if (job.status === 'READY') void models.refresh();
    },
    onDeleted: () => {
      void refreshList();
      void models.refresh();
      byId('jobs-heading', HTMLElement).focus();
    },
    onAsk: (id) =>
      void models.refresh(id).then(() => {
        const query = byId('query', HTMLElement);
        query.focus({ preventScroll: true });
        byId('ask', HTMLElement).scrollIntoView(); // with the chosen model above the field
      }),
  });
  const watch = (id: string, name: string) => {
    void panel.watch(id, name);
    byId('job-heading', HTMLElement).focus(); // scrolls there, for screen readers too
  };
  const refreshList = jobList(service, watch);
  startAskForm(service, models);
  startTrainForm(service, names, async (id, name) => {
    await refreshList();
    watch(id, name);
  });
  startViews(
    new LabelView(service, () => {
      void refreshList();
      void models.refresh();
    }),
  );
  const unfinished = (await refreshList()).find((job) => !hasEnded(job));
  if (unfinished) void panel.watch(unfinished.model.id, unfinished.model.name);
}

/** Shows the view that the address names: `#label`, `#label/<id of a set>`, or the models. */
function startViews(labelling: LabelView): void {
  const show = () => {
    const [name = '', set] = location.hash.slice(1).split('/');
    if (!['', 'models', 'label'].includes(name)) return; // a place in the current view
    const isLabel = name === 'label';
    byId('work', HTMLElement).hidden = isLabel;
    byId('labelling', HTMLElement).hidden = !isLabel;
    byId('view-models', HTMLElement).ariaCurrent = isLabel ? null : 'page';
    byId('view-label', HTMLElement).ariaCurrent = isLabel ? 'page' : null;
    if (!isLabel) byId('model', HTMLElement).focus();
    void (isLabel ? labelling.show(set) : labelling.leave());
  };
  byId('views', HTMLElement).hidden = false;
  addEventListener('hashchange', show);
  show();
}
