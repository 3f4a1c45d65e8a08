import * as z from 'zod';

/** The name of a pretrained model, as a request has it. */
export const pretrainedNameSchema = z.string().min(1, 'the name of the model is empty');
