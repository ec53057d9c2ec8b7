import type OpenAI from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import { beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { Adapted, at, City } from './asked.ts'

type Running = { readonly chats: OpenAI; readonly provider: string }

const PATCH = 'Use the patch tool: "é" \\ 🌍\n+x'
const GRAMMAR = { type: 'grammar' as const, syntax: 'lark' as const, definition: 'start: /[^]+/' }
const SHELL = { type: 'object', properties: { command: { type: 'string' } } }

/** Custom tools through OpenAI's client, at a provider of either protocol. */
export function customTools(running: () => Running): void {
  let chats: OpenAI
  let provider: string
  beforeAll(() => {
    ;({ chats, provider } = running())
  })
  const model = 'gpt-5-mini'
  const messages = [{ role: 'user' as const, content: PATCH }]
  const custom = { type: 'custom' as const, custom: { name: 'apply_patch', description: 'Edits files.' } }
  const shell = { type: 'function' as const, function: { name: 'shell', parameters: SHELL } }

  it('is called in a chat, whole, by the choice of the model and by name', async () => {
    for (const tool_choice of ['auto' as const, { type: 'custom' as const, custom: { name: 'apply_patch' } }]) {
      const { choices, usage } = await chats.chat.completions.create(
        at(provider, { model, messages, tools: [shell, custom], tool_choice }),
      )
      const [call] = choices[0]?.message.tool_calls ?? []
      expect(call).toMatchObject({ type: 'custom', custom: { name: 'apply_patch', input: PATCH } })
      expect(call).not.toHaveProperty('function')
      expect(choices[0]?.finish_reason).toBe('tool_calls')
      expect(Adapted.parse({ usage }).usage.adapted_params).toContain('tools.custom')
    }
  })

  it('is called in a streamed chat', async () => {
    const stream = await chats.chat.completions.create(
      at(provider, { model, messages, tools: [shell, custom], stream: true as const }),
    )
    const Piece = z.object({
      id: z.string().optional(),
      type: z.literal('custom').optional(),
      custom: z.object({ name: z.string().optional(), input: z.string() }),
    })
    const pieces: z.infer<typeof Piece>[] = []
    let reason: unknown
    for await (const { choices } of stream) {
      reason = choices[0]?.finish_reason ?? reason
      for (const call of choices[0]?.delta.tool_calls ?? []) pieces.push(Piece.parse(call))
    }
    expect(pieces[0]).toMatchObject({ type: 'custom', custom: { name: 'apply_patch' } })
    expect(pieces.map((piece) => piece.custom.input).join('')).toBe(PATCH)
    expect(reason).toBe('tool_calls')
  })

  it('is part of the history of a chat, and functions stay functions', async () => {
    const call = { id: 'call_1', type: 'custom' as const, custom: { name: 'apply_patch', input: PATCH } }
    const answer = await chats.chat.completions.create(
      at(provider, {
        model,
        messages: [
          ...messages,
          { role: 'assistant' as const, tool_calls: [call] },
          { role: 'tool' as const, tool_call_id: 'call_1', content: 'Done.' },
          { role: 'assistant' as const, content: 'It is done.' },
          { role: 'user' as const, content: 'Now the shell.' },
        ],
        tools: [shell, custom],
      }),
    )
    const [next] = answer.choices[0]?.message.tool_calls ?? []
    expect(next?.type === 'function' ? next.function.name : undefined).toBe('shell')
    // A buyer may have removed the tool since.
    const later = await chats.chat.completions.create(
      at(provider, {
        model,
        messages: [
          ...messages,
          { role: 'assistant' as const, tool_calls: [call] },
          { role: 'tool' as const, tool_call_id: 'call_1', content: 'Done.' },
        ],
      }),
    )
    expect(later.choices[0]?.message.content).toBeTruthy()
  })

  it('is refused beside several answers or another tool of its name', async () => {
    const twice = at(provider, { model, messages, tools: [custom], n: 2 })
    await expect(chats.chat.completions.create(twice)).rejects.toMatchObject({ status: 400, param: 'n' })
    const named = { type: 'function' as const, function: { name: 'apply_patch', parameters: SHELL } }
    const same = at(provider, { model, messages, tools: [custom, named] })
    await expect(chats.chat.completions.create(same)).rejects.toMatchObject({ status: 400, param: 'tools[1]' })
  })

  /** An agent's request on the command line: instructions, tools of every kind, and no state between turns. */
  const agent = (input: OpenAI.Responses.ResponseInput) =>
    at(provider, {
      model,
      instructions: 'You edit files.',
      input,
      store: false,
      parallel_tool_calls: false,
      tools: [
        { type: 'function' as const, name: 'shell', strict: false, parameters: SHELL },
        { type: 'custom' as const, name: 'apply_patch', description: 'Edits files.', format: GRAMMAR },
        { type: 'web_search' as const },
        {
          type: 'namespace' as const,
          name: 'mcp__files',
          description: 'Files.',
          tools: [{ type: 'function' as const, name: 'search', parameters: SHELL }],
        },
      ],
      tool_choice: 'auto' as const,
      include: ['reasoning.encrypted_content' as const],
      prompt_cache_key: 'session',
    })
  const said = (content: string) => ({ type: 'message' as const, role: 'user' as const, content })

  it('carries an agent through its turns on the responses route, whole and streamed', async () => {
    for (const isStreamed of [false, true]) {
      const input: OpenAI.Responses.ResponseInput = [said(PATCH)]
      const ask = async () =>
        isStreamed ? chats.responses.stream(agent(input)).finalResponse() : chats.responses.create(agent(input))
      const first = await ask()
      const call = first.output.find((item) => item.type === 'custom_tool_call')
      expect(call).toMatchObject({ name: 'apply_patch', input: PATCH, status: 'completed' })
      expect(Adapted.parse(first).usage.adapted_params).toEqual(
        expect.arrayContaining(['tools.custom', 'tools.format', 'tools.web_search', 'tools.namespace']),
      )
      if (call?.type !== 'custom_tool_call') throw new Error('the answer has no call')
      input.push(call, { type: 'custom_tool_call_output', call_id: call.call_id, output: 'Done.' })
      input.push({ type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'x' } })
      input.push({ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' })
      const second = await ask()
      expect(second.output_text).not.toBe('')
      expect(Adapted.parse(second).usage.adapted_params).toContain('input.web_search_call')
      input.push({ role: 'assistant', content: second.output_text }, said('Call search, please.'))
      const third = await ask()
      const found = third.output.find((item) => item.type === 'function_call')
      expect(found).toMatchObject({ name: 'search', namespace: 'mcp__files' })
      if (found?.type !== 'function_call') throw new Error('the answer has no call')
      input.push(found, { type: 'function_call_output', call_id: found.call_id, output: 'a.txt' })
      expect((await ask()).output_text).not.toBe('')
    }
  })

  it('may be found by a search that the agent runs, whole and streamed', async () => {
    for (const isStreamed of [false, true]) {
      const input: OpenAI.Responses.ResponseInput = [said('Please search.')]
      const search = { type: 'tool_search' as const, execution: 'client' as const, description: 'Finds tools.' }
      const parameters = { type: 'object', properties: { query: { type: 'string' } } }
      const request = at(provider, { model, input, store: false, tools: [{ ...search, parameters }] })
      const ask = async () =>
        isStreamed ? chats.responses.stream(request).finalResponse() : chats.responses.create(request)
      const call = (await ask()).output.find((item) => item.type === 'tool_search_call')
      expect(call).toMatchObject({ execution: 'client', arguments: { query: 'Please search.' }, status: 'completed' })
      if (call?.type !== 'tool_search_call') throw new Error('the answer has no search')
      const list = { type: 'function' as const, name: 'list', parameters: SHELL }
      const found = { type: 'namespace' as const, name: 'mcp__files', description: 'Files.', tools: [list] }
      const output = { type: 'tool_search_output' as const, execution: 'client' as const, tools: [found] }
      input.push(call, { ...output, call_id: call.call_id })
      // A second search may return the same tool.
      input.push({ ...call, call_id: 'again' }, { ...output, call_id: 'again' })
      input.push({ role: 'assistant', content: 'Found.' }, said('Now list them.'))
      const listed = (await ask()).output.find((item) => item.type === 'function_call')
      expect(listed).toMatchObject({ name: 'list', namespace: 'mcp__files' })
    }
  })

  it('is called by name on the responses route, in events of its own', async () => {
    const tool_choice = { type: 'custom' as const, name: 'apply_patch' }
    const stream = await chats.responses.create({ ...agent([said(PATCH)]), tool_choice, stream: true })
    const events: OpenAI.Responses.ResponseStreamEvent[] = []
    for await (const event of stream) events.push(event)
    const types = new Set(events.map(({ type }) => type))
    expect(types).not.toContain('response.function_call_arguments.delta')
    const deltas = events.flatMap((event) =>
      event.type === 'response.custom_tool_call_input.delta' ? event.delta : [],
    )
    expect(deltas.join('')).toBe(PATCH)
    expect(events.find(({ type }) => type === 'response.custom_tool_call_input.done')).toMatchObject({ input: PATCH })
    const added = events.find(({ type }) => type === 'response.output_item.added')
    expect(added).toMatchObject({ item: { type: 'custom_tool_call', name: 'apply_patch', input: '' } })
  })

  it('can be combined with a requested format', async () => {
    const request = { ...agent([said(PATCH)]), text: { format: zodTextFormat(City, 'city') } }
    const called = await chats.responses.create({ ...request, tool_choice: { type: 'custom', name: 'apply_patch' } })
    expect(called.output.find((item) => item.type === 'custom_tool_call')).toMatchObject({ input: PATCH })
    const answered = await chats.responses.create({ ...request, tool_choice: 'none' })
    expect(City.parse(JSON.parse(answered.output_text))).toBeDefined()
  })

  it('leaves calls of tools that ran at the buyer in the history', async () => {
    const input: OpenAI.Responses.ResponseInput = [
      said('Look around.'),
      {
        type: 'local_shell_call',
        id: 'lsh_1',
        call_id: 'c1',
        status: 'completed',
        action: { type: 'exec', command: ['ls'], env: {} },
      },
      Object.assign({ type: 'local_shell_call_output' as const, id: 'lsh_2', output: 'a.txt' }, { call_id: 'c1' }),
      { type: 'shell_call', call_id: 'c2', action: { commands: ['pwd'] } },
      {
        type: 'shell_call_output',
        call_id: 'c2',
        output: [{ stdout: '/home', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
      },
      {
        type: 'apply_patch_call',
        call_id: 'c3',
        status: 'completed',
        operation: { type: 'delete_file', path: 'a.txt' },
      },
      { type: 'apply_patch_call_output', call_id: 'c3', status: 'completed' },
      { type: 'mcp_call', id: 'mcp_1', server_label: 'files', name: 'list', arguments: '{}', output: 'none' },
      { type: 'item_reference', id: 'rs_1' },
      said('What did you see?'),
    ]
    const { output_text: text, usage } = await chats.responses.create(agent(input))
    expect(text).not.toBe('')
    expect(Adapted.parse({ usage }).usage.adapted_params).toContain('input.item_reference')
  })
}
