import { ModelChoice, startAskForm } from './ask-form.js';
import { byId, shownProblem, whileBusy } from './elements.js';
import type { ColumnNames } from './file-preview.js';
import { JobPanel, jobList } from './jobs.js';
import { LabelView } from './label-view.js';
import { hasEnded, Refused, Service } from './service.js';
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
  inTab((storage) => storage.removeItem(KEY));
  location.reload();
});

const kept = inTab((storage) => storage.getItem(KEY)) ?? '';
if (kept === '') askForKey();
else await enter(kept);

/** Browsers may forbid the storage of the tab, or have no room in it. Then the key is in memory alone, until a reload. */
function inTab<Result>(work: (storage: Storage) => Result): Result | undefined {
  try {
    return work(sessionStorage);
  } catch {
    return undefined;
  }
}

function askForKey(problem = '', isInvalid = false): void {
  byId('key-section', HTMLElement).hidden = false;
  byId('key-problem', HTMLElement).textContent = problem;
  keyInput.ariaInvalid = isInvalid ? 'true' : null;
  keyInput.focus();
}

/** Headers have no characters outside Latin-1. */
function isSendable(key: string): boolean {
  return [...key].every((character) => character <= '\u00ff');
}

async function enter(key: string): Promise<void> {
  if (!isSendable(key)) {
    return askForKey("This API key has a character that can't be sent in a request; copy the key again.", true);
  }
  const service = new Service(key);
  const models = new ModelChoice(service);
  let names: ColumnNames;
  try {
    ({ column_names: names } = await models.refresh());
  } catch (thrown) {
    const isInvalid = thrown instanceof Refused && [401, 403].includes(thrown.status);
    if (isInvalid) inTab((storage) => storage.removeItem(KEY));
    else keyInput.value = key; // so that the button tries again
    byId('forget-key', HTMLElement).hidden = isInvalid;
    return askForKey(shownProblem(thrown), isInvalid);
  }
  inTab((storage) => storage.setItem(KEY, key));
  byId('key-section', HTMLElement).hidden = true;
  byId('forget-key', HTMLElement).hidden = false;
  await startWork(service, models, names);
}

async function startWork(service: Service, models: ModelChoice, names: ColumnNames): Promise<void> {
  /** @returns whether the models could be listed; if not, `place` shows why */
  const refreshModels = async (place = 'models-problem', chosen?: string): Promise<boolean> => {
    const problem = byId(place, HTMLElement);
    problem.textContent = '';
    try {
      await models.refresh(chosen);
      return true;
    } catch (thrown) {
      problem.textContent = shownProblem(thrown);
      return false;
    }
  };
  const panel = new JobPanel({
    service,
    onChange: (job) => {
      void refreshList();
      if (job.status === 'READY') void refreshModels();
    },
    onDeleted: () => {
      void refreshList();
      void refreshModels();
    },
    onAsk: async (id) => {
      if (!(await refreshModels('job-problem', id))) return;
      byId('query', HTMLElement).focus({ preventScroll: true });
      byId('ask', HTMLElement).scrollIntoView(); // with the chosen model above the field
    },
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
      void refreshModels();
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
