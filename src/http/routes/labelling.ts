import { Readable } from 'node:stream';
import * as z from 'zod';
import { MAX_MODEL_NAME_LENGTH, MODEL_NAME } from '../../contract/index.js';
import { otherType, requirePlain } from '../body.js';
import { type LabellingSets, MAX_LABEL_CHARACTERS, MAX_SET_LABELS } from '../labelling.js';
import { type Route, route } from '../route.js';
import { detailSchema, labellingListSchema, labellingSetSchema, noQuery, opinionSchema } from '../schemas.js';
import { hasRows, UPLOAD_TIMEOUT_MS } from '../uploads.js';

const PATH = '/page/labelling-sets';
const path = z.object({ set_id: z.string() });
const oneSet = z.object({ path, query: noQuery });
const oneText = z.strictObject({ text: z.int().min(0) });
const shared = { tag: 'page', failures: ['not_found'] } as const;

const labelsSchema = z
  .array(z.string().trim().min(1, 'a label is empty'))
  .min(2, 'give at least two labels')
  .max(MAX_SET_LABELS, `give at most ${MAX_SET_LABELS} labels`)
  .refine((labels) => new Set(labels).size === labels.length, 'a label is given twice; give each once')
  .refine(
    (labels) => labels.join('').length <= MAX_LABEL_CHARACTERS,
    `all labels together have at most ${MAX_LABEL_CHARACTERS} characters; shorten them`,
  );

/** What describes a new set: the body is its texts. */
const headerSchema = z.object({
  // Also the name of the models that are trained on it.
  'x-set-name': z
    .string('give the name of the set')
    .min(1, `give 1 to ${MAX_MODEL_NAME_LENGTH} characters of a–z, 0–9 and "-"`)
    .max(MAX_MODEL_NAME_LENGTH, `give at most ${MAX_MODEL_NAME_LENGTH} characters`)
    .regex(MODEL_NAME, 'use a–z, 0–9 and "-" only'),
  'x-labels': z
    .string('give the labels, as a JSON array that is percent-encoded')
    .transform((written, context) => {
      try {
        const labels: unknown = JSON.parse(decodeURIComponent(written));
        return labels;
      } catch {
        context.addIssue({ code: 'custom', message: 'give the labels as a JSON array that is percent-encoded' });
        return z.NEVER;
      }
    })
    .pipe(labelsSchema),
});

export function labellingRoutes(sets: LabellingSets): readonly Route[] {
  return [
    route({
      ...shared,
      method: 'GET',
      path: PATH,
      id: 'listLabellingSets',
      summary: 'The sets of texts that are being labelled, newest first',
      input: z.object({ query: noQuery }),
      output: labellingListSchema,
      answer: async (_, { account }) => ({ data: await sets.list(account) }),
    }),
    route({
      ...shared,
      method: 'POST',
      path: PATH,
      holds: 'uploads',
      id: 'createLabellingSet',
      summary: 'Create a set of texts to label from a file',
      input: z.object({ query: noQuery, header: headerSchema }),
      output: labellingSetSchema,
      answer: (_, { account, context }, { header }) => {
        const request = context.req.raw;
        if (!hasRows(request)) throw otherType('text/plain');
        requirePlain(request);
        const described = { name: header['x-set-name'], labels: header['x-labels'] };
        return sets.create(account, described, request, UPLOAD_TIMEOUT_MS);
      },
    }),
    route({
      ...shared,
      method: 'GET',
      path: `${PATH}/{set_id}`,
      id: 'getLabellingSet',
      summary: 'A set, and the text to label next',
      input: oneSet,
      output: labellingSetSchema,
      answer: (_, { account }, { path: { set_id } }) => sets.get(account, set_id),
    }),
    route({
      ...shared,
      method: 'DELETE',
      path: `${PATH}/{set_id}`,
      id: 'deleteLabellingSet',
      summary: 'Delete a set with its texts and labels; its models stay',
      input: oneSet,
      output: detailSchema,
      answer: async (_, { account }, { path: { set_id } }) => {
        await sets.remove(account, set_id);
        const msg = `set ${set_id} is deleted`;
        return { detail: [{ loc: ['path', 'set_id'], msg, type: 'labelling_set.deleted' }] };
      },
    }),
    route({
      ...shared,
      method: 'POST',
      path: `${PATH}/{set_id}/choices`,
      id: 'chooseLabel',
      summary: 'Label a text, or skip it',
      input: z.object({ path, query: noQuery, body: oneText.extend({ label: z.string().nullable() }) }),
      output: labellingSetSchema,
      answer: (_, { account }, { path: { set_id }, body: { text, label } }) =>
        sets.choose(account, set_id, text, label),
    }),
    route({
      ...shared,
      method: 'POST',
      path: `${PATH}/{set_id}/undo`,
      id: 'undoChoice',
      summary: 'Take the last choice back',
      input: z.object({ path, query: noQuery, body: oneText }),
      output: labellingSetSchema,
      answer: (_, { account }, { path: { set_id }, body: { text } }) => sets.undo(account, set_id, text),
    }),
    route({
      ...shared,
      method: 'POST',
      path: `${PATH}/{set_id}/opinions`,
      id: 'askAfterChoice',
      summary: 'The answer of the model to a text that was labelled',
      input: z.object({ path, query: noQuery, body: oneText }),
      output: opinionSchema,
      mostQueries: 1,
      inferenceCalls: () => 1,
      answer: async (_, { account, signal }, { path: { set_id }, body: { text } }) => ({
        data: (await sets.opinion(account, set_id, text, signal)) ?? null,
      }),
    }),
    route({
      ...shared,
      method: 'POST',
      path: `${PATH}/{set_id}/training`,
      id: 'noteTraining',
      summary: 'Record the job that trains on the labels; its model then answers for the set',
      input: z.object({ path, query: noQuery, body: z.strictObject({ model_id: z.string() }) }),
      output: labellingSetSchema,
      answer: (_, { account }, { path: { set_id }, body }) => sets.train(account, set_id, body.model_id),
    }),
    route({
      ...shared,
      method: 'POST',
      path: `${PATH}/{set_id}/order`,
      id: 'orderTexts',
      summary: 'Order the remaining texts, the most useful to label first',
      input: oneSet,
      output: labellingSetSchema,
      answer: (_, { account, signal }, { path: { set_id } }) => sets.order(account, set_id, signal),
    }),
    route({
      ...shared,
      method: 'GET',
      path: `${PATH}/{set_id}/rows`,
      holds: 'downloads',
      id: 'downloadLabelledRows',
      summary: 'The labelled rows, as JSON Lines',
      input: oneSet,
      answer: async (_, { account, context }, { path: { set_id } }) => {
        const rows = Readable.from(await sets.rows(account, set_id), { objectMode: false });
        const headers = { 'content-type': 'application/x-ndjson; charset=utf-8', 'cache-control': 'no-store' };
        return context.body(Readable.toWeb(rows), { headers });
      },
    }),
  ];
}
