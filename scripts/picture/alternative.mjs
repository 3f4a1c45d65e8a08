/** What the picture of a session says, for those who don't see it: README's alternative text. */
export function alternativeOf(session) {
  const [train, predict, evaluate] = session;
  const [label, score] = predict.lines[0].split('\t');
  const [, accuracy] = /^accuracy +(\S+ .*)$/m.exec(evaluate.lines.join('\n')) ?? [];
  const trained = train.lines.find((line) => line.includes('rows trained on'));
  const parts = [
    `${train.command} prints: ${trained}.`,
    `${predict.command} prints: ${label} ${score}.`,
    `${evaluate.command} prints precision, recall and F1 of each label, accuracy ${accuracy.replaceAll(/ +/g, ' ')}, and the calibration error.`,
  ];
  return `A terminal. ${parts.join(' ')}`.replaceAll('"', '&quot;');
}
