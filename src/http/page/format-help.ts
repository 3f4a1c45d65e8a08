import { datasetFormats } from './dataset-formats.js';
import { byId, element } from './elements.js';

/** Shows how a dataset for the chosen type of model looks, and which files the upload takes. */
export function showFormat(family: string): void {
  const format = datasetFormats[family];
  if (format === undefined) return;
  byId('file', HTMLInputElement).accept = format.accept;
  const samples = Object.entries(format.samples).map(([name, text]) => {
    const link = element('a', { href: dataUrl(text), download: name }, name);
    const sample = element('pre', { tabIndex: 0, ariaLabel: `A sample of ${name}` }, text);
    sample.setAttribute('role', 'region');
    return element('div', {}, element('p', {}, 'For instance ', link, ':'), sample);
  });
  byId('format-content', HTMLElement).replaceChildren(element('p', {}, format.about), ...samples);
}

function dataUrl(text: string): string {
  return `data:text/plain;charset=utf-8,${encodeURIComponent(text)}`;
}
