// A conversation of four turns, run by generateText. The model is the SDK's mock with a script, so no key is needed.
//
//   toolsearch serve indexes/starter --config indexes/starter/serve.toml
//   npm install && npm start -- http://127.0.0.1:8765

import { generateText, stepCountIs, type ModelMessage } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';

import { ToolSearch } from './toolsearch.ts';

const url = process.argv[2] ?? 'http://127.0.0.1:8765';

// What the user says, and which tool the model calls when it is there.
const script = [
  { text: 'Where is the parcel of order A1001?', call: 'orders_track_shipment', args: { order_id: 'A1001' } },
  { text: '杭州现在天气怎么样？', call: 'weather_current', args: { place: '杭州' } },
  { text: 'What was the status of that order again?', call: 'orders_get', args: { order_id: 'A1001' } },
  { text: 'Now translate your answer into German.', call: 'translate_text', args: { text: 'on its way', to: 'de' } },
];

const search = new ToolSearch({
  url,
  session: `vercel-ai-sdk-${process.pid}-${Date.now()}`,
  // A real harness calls its own functions, an MCP server or a queue here.
  dispatch: async (ref, args) => ({ ref, args, status: 'shipped' }),
});

type Generated = Awaited<ReturnType<MockLanguageModelV3['doGenerate']>>;

const usage: Generated['usage'] = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

/** Call the scripted tool; once its result is there, say so. */
function reply(turn: (typeof script)[number], prompt: { role: string }[], names: string[]): Generated {
  const done = prompt.at(-1)?.role === 'tool';
  if (done || !names.includes(turn.call)) {
    const text = done ? `Done with ${turn.call}.` : `I have no ${turn.call}.`;
    return { content: [{ type: 'text', text }], finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [] };
  }
  return {
    content: [
      { type: 'tool-call', toolCallId: `call-${turn.call}`, toolName: turn.call, input: JSON.stringify(turn.args) },
    ],
    finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
    usage,
    warnings: [],
  };
}

const messages: ModelMessage[] = [];
let block: string[] = [];
for (const turn of script) {
  messages.push({ role: 'user', content: turn.text });
  const model = new MockLanguageModelV3({
    doGenerate: async ({ prompt, tools }) => reply(turn, prompt, (tools ?? []).map(tool => tool.name)),
  });
  const { response, text, steps } = await generateText({
    model,
    messages,
    tools: await search.tools(turn.text),
    stopWhen: stepCountIs(4),
  });
  messages.push(...response.messages);

  // What the provider was sent as tools: it must begin with what it was sent before, byte for byte.
  const sent = model.doGenerateCalls.map(call => (call.tools ?? []).map(tool => JSON.stringify(tool)));
  const kept = sent.every(tools => block.every((definition, at) => tools[at] === definition));
  const added = (sent.at(-1) ?? []).slice(block.length).map(definition => JSON.parse(definition).name);
  block = sent.at(-1) ?? [];
  const called = steps.flatMap(step => step.toolResults).map(result => result.toolName);
  console.log(JSON.stringify({ user: turn.text, tools: block.length, added, kept, called, text }));
}
