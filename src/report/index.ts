export { classNames } from './class-names.js';
export { type EvaluationPage, evaluationHtml } from './evaluation-html.js';
export { asWords, decimal, partsOf, percent, scoresOf, whole } from './figures.js';
export { languageCode } from './language-code.js';
export { escapeMarkdown, markdownTable } from './markdown.js';
export { modelCard } from './model-card.js';
export { reportFiles } from './report-files.js';
export { reportHtml } from './report-html.js';
export type { ReportInput } from './report-input.js';
