export { asWords, classNames, decimal, partsOf, percent, type ReportInput, scoresOf, whole } from './figures.js';
export { cardWithRules, escapeMarkdown, languageCode, markdownTable, modelCard, reportFiles } from './model-card.js';
export { evaluationHtml, reportHtml } from './report-html.js';
