export { modelCard } from './model-card.js';
export { reportFiles } from './report-files.js';
export { reportHtml } from './report-html.js';
export type { ReportInput } from './report-input.js';
