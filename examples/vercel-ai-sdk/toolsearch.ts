// The tools of a conversation, chosen by a toolsearch server: HTTP in, a ToolSet of the AI SDK out.

import { dynamicTool, jsonSchema, type ToolSet } from 'ai';

/** What runs a tool. `ref` is `server/name@version`, whatever name the model called it by. */
export type Dispatch = (ref: string, args: unknown) => Promise<unknown>;

export interface ToolSearchOptions {
  /** Of the server, such as http://127.0.0.1:8765. */
  url: string;
  /** One id a conversation: its list of tools only grows, and its definitions stay as they were. */
  session: string;
  dispatch: Dispatch;
  /** Where the server has credentials. */
  apiKey?: string;
}

interface Answer {
  trace_id: string;
  outcome: 'candidates' | 'clarify' | 'no_tool';
  session: { tools_hash: string; appended: string[]; left: { ref: string }[] };
}

interface SessionTool {
  ref: string;
  api_name: string;
  definition: { name: string; description: string; inputSchema: Parameters<typeof jsonSchema>[0] };
}

type Status = 'success' | 'tool_error';

export class ToolSearch {
  readonly #options: ToolSearchOptions;
  #hash = '';
  #tools: ToolSet = {};
  #traceId = '';

  constructor(options: ToolSearchOptions) {
    this.#options = options;
  }

  /** Search for this turn, and return every tool of the conversation, in the order in which they came. */
  async tools(text: string): Promise<ToolSet> {
    const { session } = this.#options;
    const answer = await this.#send<Answer>('POST', '/v1/search', { text, session, format: 'mcp', detail: 'full' });
    this.#traceId = answer.trace_id;
    if (answer.session.tools_hash !== this.#hash) {
      const list = await this.#send<{ tools: SessionTool[]; tools_hash: string }>(
        'GET',
        `/v1/sessions/${encodeURIComponent(session)}`,
      );
      this.#tools = Object.fromEntries(list.tools.map(tool => [tool.api_name, this.#tool(tool)]));
      this.#hash = list.tools_hash;
    }
    return this.#tools;
  }

  #tool({ ref, definition }: SessionTool): ToolSet[string] {
    return dynamicTool({
      description: definition.description,
      inputSchema: jsonSchema(definition.inputSchema),
      execute: args => this.#run(ref, args),
    });
  }

  /** Run a tool, and tell the server how it went: reliability is a signal of later searches. */
  async #run(ref: string, args: unknown): Promise<unknown> {
    const started = performance.now();
    const traceId = this.#traceId;
    const report = (status: Status) =>
      this.#send('POST', '/v1/outcomes', {
        ref,
        status,
        trace_id: traceId,
        latency_ms: performance.now() - started,
      });
    let result: unknown;
    try {
      result = await this.#options.dispatch(ref, args);
    } catch (error) {
      await report('tool_error');
      throw error;
    }
    await report('success');
    return result;
  }

  async #send<T>(method: string, path: string, body?: unknown): Promise<T> {
    const { url, apiKey } = this.#options;
    const response = await fetch(new URL(path, url), {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (!response.ok) {
      // RFC 9457: `detail` says what was wrong and what to do.
      const problem = (await response.json()) as { code: string; detail: string };
      throw new Error(`toolsearch: ${problem.code}: ${problem.detail}`);
    }
    return (response.status === 204 ? undefined : await response.json()) as T;
  }
}
