const [text, answer, scores, status] = ['text', 'answer', 'scores', 'status'].map((id) => document.getElementById(id));
const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });

let isBusy = true; // until the model is open
let asked = '';

worker.addEventListener('message', ({ data }) => {
  isBusy = false;
  if (data.isReady) ready();
  if (data.answer) show(data.answer);
  if (data.error) status.textContent = data.error;
  if (text.value !== asked) ask();
});
text.addEventListener('input', ask);

/** Asks about the text as it is now. While an answer is on its way, later texts wait, and only the last one is asked. */
function ask() {
  if (isBusy) return;
  asked = text.value;
  if (asked.trim() === '') {
    clear();
    return;
  }
  isBusy = true;
  worker.postMessage(asked);
}

function show({ label, score, scores: all }) {
  if (text.value.trim() === '') {
    clear();
    return;
  }
  answer.textContent = `${label}, ${percent(score)}`;
  // Sorted by name, so that labels keep their places while you type.
  const shown = all.slice(0, 5).sort((a, b) => a.label.localeCompare(b.label));
  scores.replaceChildren(...shown.map((each) => row(each, each.label === label)));
}

function row({ label, score }, isBest) {
  const item = document.createElement('li');
  const bar = document.createElement('progress');
  bar.value = score;
  bar.setAttribute('aria-label', label);
  const share = document.createElement('span');
  share.textContent = percent(score);
  item.classList.toggle('best', isBest);
  item.append(label, bar, share);
  return item;
}

function clear() {
  answer.textContent = '';
  scores.replaceChildren();
}

const percent = (share) => `${Math.round(100 * share)}%`;

async function ready() {
  status.textContent = 'Ready.';
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return;
  await navigator.serviceWorker.register('./service-worker.js');
  await navigator.serviceWorker.ready;
  status.textContent = 'Ready. This page also works offline.';
}
