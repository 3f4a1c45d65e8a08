import { openModel } from 'orchard-nlp/web';

const opened = openModel(new URL('./model.orchard', import.meta.url));

opened.match(
  () => postMessage({ isReady: true }),
  ({ message }) => postMessage({ error: message }),
);

// One text at a time: the page sends the next one when it has the answer.
addEventListener('message', async ({ data: text }) => {
  const answer = await opened.andThen((model) => model.predict(text));
  postMessage(answer.isOk() ? { answer: answer.value } : { error: answer.error.message });
});
