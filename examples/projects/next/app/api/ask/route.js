import { folderModels, memoryStorage, Predictor } from 'orchard-nlp';

// One predictor for the process: it owns the threads and the models.
const modelLoader = process.env.MODELS === undefined ? undefined : folderModels(process.env.MODELS);
const predictor = new Predictor({ storage: memoryStorage(), ...(modelLoader && { modelLoader }) });

export async function GET(request) {
  const text = new URL(request.url).searchParams.get('text') ?? '';
  const answer = await predictor.predictPretrained(process.env.MODEL ?? 'sentiment-classification', text);
  return answer.match(
    ({ data }) => Response.json(data),
    ({ code, message }) => Response.json({ code, message }, { status: 500 }),
  );
}
