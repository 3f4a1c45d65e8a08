import type { Mistake, WeighedWord } from '../../model-folder/index.js';
import { counted, decimal } from '../figures.js';
import { Html, html } from '../html.js';

/** The rows that the model got wrong, the most confident ones first. Often the dataset is wrong there. */
export function mistakes({ mistakes: listed }: { readonly mistakes: readonly Mistake[] }): Html {
  if (listed.length === 0) return html`<section><h2>Mistakes</h2><p>None on these rows.</p></section>`;
  return html`<section>
<h2>The most confident mistakes</h2>
<table class="texts"><thead><tr><th scope="col" class="text">Text</th><th scope="col" class="text">Expected</th>
<th scope="col" class="text">Predicted</th><th scope="col">Score</th></tr></thead>
<tbody>${listed.map(mistakeRow)}</tbody></table>
<p class="note">${counted(listed.length, 'mistake')}; where the model is sure but wrong, check the label first.${listed.some(({ words }) => words !== undefined) ? legend : undefined}</p>
</section>`;
}

function mistakeRow({ text, expected, predicted, score, words }: Mistake): Html {
  return html`<tr><td class="text" dir="auto">${coloured(text, words)}</td><td class="text" dir="auto">${expected.join(', ') || '–'}</td>
<td class="text" dir="auto">${predicted.join(', ') || '–'}</td><td>${decimal(score)}</td></tr>`;
}

const legend = html` In the first ones, words that speak <mark class="for" style="--strength: 45%">for</mark> what was predicted
are told from those that speak <mark class="against" style="--strength: 45%">against</mark> it; the fainter, the less.`;

/** Weights below this share of the heaviest are left uncoloured. */
const LEAST_SHARE = 0.15;
/** The heaviest word of a text has this much of its colour, so that it can still be read. */
const MOST_COLOUR = 45;

/** A text with each word in the colour of what it says, as strong as its weight beside the heaviest of the text. */
function coloured(text: string, words: readonly WeighedWord[] = []): Html {
  const heaviest = words.reduce((most, { weight }) => Math.max(most, Math.abs(weight)), 0);
  let end = 0;
  const pieces = words.flatMap((word) => {
    const share = heaviest === 0 ? 0 : Math.abs(word.weight) / heaviest;
    if (share < LEAST_SHARE) return [];
    const before = text.slice(end, word.start);
    end = word.end;
    const side = word.weight > 0 ? 'for' : 'against';
    const strength = `${Math.round(share * MOST_COLOUR)}%`;
    const said = `${word.weight > 0 ? '+' : '−'}${Math.abs(word.weight).toFixed(2)}`;
    return [
      html`${before}<mark class="${side}" style="--strength: ${strength}" title="${said}">${text.slice(word.start, end)}</mark>`,
    ];
  });
  return new Html(`${pieces.map((piece) => piece.text).join('')}${html`${text.slice(end)}`.text}`);
}
