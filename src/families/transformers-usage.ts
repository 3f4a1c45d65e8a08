/** How transformers.js runs the encoder of a model, in Markdown for the model's card. */
export function transformersUsage(pipeline: string): string {
  return [
    'With transformers.js, the encoder alone, where it knows the `model_type` of config.json for this task:',
    '',
    '```js',
    "import { pipeline } from '@huggingface/transformers';",
    '',
    `const model = await pipeline('${pipeline}', '<this folder>', { dtype: 'fp32' });`,
    "console.log(await model('A text.'));",
    '```',
  ].join('\n');
}
