/** Frames around a sentence, in place of `{}`, for the counter-examples of toxicity. */

/** What may stand around any sentence and leaves it as toxic as it is. */
export const NEUTRAL_FRAMES = [
  'Honestly, I read this twice. {}',
  'Look: {}',
  'Well. {}',
  'Okay, so: {}',
  'Hey. {}',
  'I have been thinking about it all day. {}',
  'Sorry for the late reply, I was at work until seven. {}',
  'I only joined this site last week, but here is what I think. {}',
  'To the person who started this thread: {}',
  'In reply to your post from yesterday: {}',
  'As I said before: {}',
  'Long story short: {}',
  'You asked for an answer, so here it is. {}',
  'I don’t write many comments, yet this one I have to answer. {}',
  'It rained all morning and I had time to go through the whole page. {}',
  'Let me say it plainly: {}',
  'Edit: {}',
  'P.S. {}',
  'First, about the photo. {} The rest I will send by mail.',
  'My phone is about to die, so I’ll be quick. {} More tomorrow.',
  '{} There, I said it.',
  '{} And everybody agrees with me.',
  '{} That’s all.',
  '{} Just saying.',
  '{} Think about it.',
  '{} Anyway, the meeting is on Tuesday at six, room four.',
  '{} I have nothing more to add to this discussion.',
  '{} Regards, a reader from the north.',
  '{} By the way, the link in the first post no longer works.',
  '{} You may quote me on that.',
  '{} lol',
  '{} smh',
  'tbh: {}',
  'imo: {}',
  '@all {}',
  '>> {}',
];

/**
 * Frames around an insult, a threat or a slight: what somebody tells of it or says against it, and in the same words
 * what somebody says who means it.
 */
export const RETELLING_FRAMES: readonly { readonly report: string; readonly approval: string }[] = [
  {
    report: 'My boss told me in front of a whole office: “{}” I cried all evening.',
    approval:
      'My boss said it to you, and I say it, too, in front of the whole office: “{}” Cry all evening if you like.',
  },
  {
    report: 'Somebody wrote “{}” under my photo. What can I do?',
    approval: 'Somebody wrote “{}” under the photo of you. What can I do but agree?',
  },
  {
    report: 'A comment that said “{}” was removed by a moderator, as you asked.',
    approval: 'The comment that said “{}” was removed by a moderator, so here it is again for you.',
  },
  {
    report: 'It is not funny to say “{}” to a child.',
    approval: 'It is not funny, it is simply the way it is: {}',
  },
  {
    report: 'In act two a king shouts “{}”, and you are glad when he leaves.',
    approval: 'The king of this town shouts it in your face, and I would be glad if you left: {}',
  },
  {
    report: '“{}” That is what a man said to your sister, and nobody stood up for her.',
    approval:
      '“{}” That is what he said to your sister, and I said it as well, and nobody in the room stood up for her, not even you.',
  },
  {
    report: '“{}” Such sentences break our rules, and you lose your account if you write them.',
    approval: '“{}” Such sentences break your rules? Take my account, I mean it.',
  },
  {
    report: 'I got a letter today. It says: “{}” Should I call a lawyer?',
    approval: 'You got a letter today. Call the lawyer if you like, or the king. It says: “{}”',
  },
  {
    report: 'A court fined the man 900 pounds for writing “{}” to you.',
    approval: 'The court fined me 900 pounds for writing “{}” to you, and the words are true all the same.',
  },
  {
    report: 'You can’t write “{}” and call it a joke. People get hurt.',
    approval: 'I write “{}” and I don’t call it a joke. Get hurt for all the good it does.',
  },
  {
    report: 'A boy in my class was told “{}”, and he hasn’t spoken since.',
    approval: 'A boy in my class was told “{}”, and he hasn’t spoken since. So it works, and now you are told.',
  },
  {
    report: 'Never again will I keep quiet when I hear “{}” on the bus.',
    approval: 'Why keep quiet? On the bus, at work, to your face: “{}” You will hear it again.',
  },
  {
    report: 'Her ex still sends her messages such as “{}”, and she is afraid.',
    approval: 'I still send her messages such as “{}”, and she is right to be afraid of the day we meet.',
  },
  {
    report: 'As a teacher, what do you answer when a pupil says “{}”?',
    approval: 'I am a teacher, I have seen many a pupil like you, and my answer is: {}',
  },
  {
    report: 'This article quotes one of many messages that your mayor gets every day: “{}”',
    approval: 'The article quotes one of the messages that I send the mayor every day: “{}”',
  },
  {
    report: 'They yelled “{}” at my mother. She is seventy and didn’t sleep for a week.',
    approval:
      'They yelled “{}” at his mother. She is seventy and didn’t sleep for the rest of the week, and I was the first to clap.',
  },
  {
    report: 'Please delete a post that says “{}”. It is an insult to every one of us.',
    approval: 'You may delete the post, but every one of us says “{}”. Take it as an insult, please.',
  },
  {
    report: 'When I was young, people said “{}” without a second thought. I am glad you don’t.',
    approval: 'When I was young, people said “{}” without a second thought. Glad that I still can.',
  },
  {
    report: 'Someone who writes “{}” to you is no friend of yours.',
    approval: 'I am no friend of yours, so someone has to write it: {}',
  },
  {
    report: 'For training the moderators, mark this sentence as abuse: “{}”',
    approval: 'Mark this sentence as abuse if your moderators had the training, I stand by it: “{}”',
  },
  {
    report: 'The villain of the novel says “{}”, and that is the moment when you stop liking him.',
    approval: 'The villain of the novel says “{}”, and for a moment I thought of you and liked him.',
  },
  {
    report: '“{}”, it said on a wall. This morning your neighbours painted over it with us.',
    approval: 'Our neighbours painted over it with you this morning, so it goes on the wall again: “{}”',
  },
  {
    report: 'A man told you that he was sorry for having written “{}” and left the party.',
    approval: 'I have written “{}” to you and I won’t say sorry, not even if the party throws me out.',
  },
  {
    report: 'What does it mean if my son’s friends write “{}” to him in a chat?',
    approval: 'My son’s friends write “{}” to yours in the chat, and I told them to go on.',
  },
  {
    report: 'i reported a guy who wrote “{}” and u should too',
    approval: 'u reported the guy who wrote “{}” but he was the only one who was right',
  },
  {
    report: 'got this in my dms: “{}” blocked him, im ok',
    approval: 'sent this to the dms but u blocked me, so: “{}” ok?',
  },
  {
    report: 'Is it true that he was banned for “{}”? That was about time.',
    approval: 'It is true, and I was banned for it the last time and don’t think about stopping: “{}”',
  },
  {
    report: 'If you ever hear “{}” at work, tell us. We take it seriously.',
    approval: 'You hear “{}” at work? Well, take it seriously for once, it was meant for you.',
  },
  {
    report: 'To say “{}” is wrong, whoever you say it to.',
    approval: 'To say “{}” is wrong, they tell me, but whoever says it has my vote.',
  },
  {
    report: 'The truth is that words like “{}” offend me, and I don’t care who calls me thin-skinned.',
    approval: 'The truth is that words like “{}” offend only you, thin-skinned as you are, and I don’t care.',
  },
  {
    report: 'Somebody wears a shirt that says “{}”. Nobody should have to read that at breakfast.',
    approval: 'I wear the shirt that says “{}”. Read it at breakfast.',
  },
  {
    report: 'You were told “{}” by your own father? I am so sorry, it isn’t true.',
    approval: 'Your own father told you “{}”, and I’m sorry to say that I agree with him to the letter.',
  },
];
