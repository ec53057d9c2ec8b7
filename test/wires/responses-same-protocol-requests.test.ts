import { describe, expect, it } from 'vitest'
import { makerOf } from '#data-plane/wires/maker-of.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import { withSeal } from '#data-plane/wires/turn-seal.ts'
import { encryptedDetail } from '#shared/protocols/responses-form.ts'
import { buildRaw } from '#test/support/bytes/build-market.ts'
import { responsesPlan } from '#test/support/bytes/responses-plan.ts'
import { dataOf, offerOf } from '#test/support/bytes/wire-bytes.ts'

const SOLD = ['responses', 'azureresponses'] as const
const sent = (text: string, plan = responsesPlan()) => responses.read(buildRaw(text)).encode(plan)

/** Members and tools of the buyer, with bytes that a JSON reader and writer would not keep. */
const INPUT =
  '[ {"role":"user", "content":[{"type":"input_text","text":"caf\\u00e9 \\/ 1"}]},' +
  '{"type":"local_shell_call","call_id":"c1","action":{"type":"exec","command":["ls"],"env":{},"n":12345678901234567890},"status":"completed"},' +
  '{"type":"local_shell_call_output","call_id":"c1","output":"a\\tb"},' +
  '{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"So.","annotations":[],"logprobs":[]}]},' +
  '{"role":"developer","content":"Be brief."}, {"role":"user","content":"on"} ]'
const TOOLS =
  '[{"type":"local_shell"}, {"type":"apply_patch"},{"type":"shell","environment":{"type":"local"}},' +
  '{"type":"namespace","name":"docs","description":"d","tools":[{"type":"function","name":"find","parameters":{"type":"object","x":1.50}}]},' +
  '{"type":"custom","name":"c","format":{"type":"grammar","syntax":"lark","definition":"start: /x/"}}]'

describe.each(SOLD)('a request to a seller of %s', (apiFormat) => {
  it('is forwarded byte for byte, under the seller’s name of the model', () => {
    const text = `{"model":"gpt-5-mini","provider":"a","input":${INPUT},"tools":${TOOLS},"tool_choice":{"type":"custom","name":"c"},"metadata":{"k":"\\u0041"},"max_tool_calls":3,"text":{"verbosity":"low"},"max_output_tokens":400,"prompt_cache_key":"k","store":true}`
    const { body, adaptedParams, path } = sent(text, responsesPlan(apiFormat))
    expect(path).toBe('/responses')
    expect(adaptedParams).toEqual([])
    expect(body).toBe(
      `{"model":"our-name","input":[${INPUT.slice(1, -1)
        .trim()
        .replace(
          '}, {"role"',
          '},{"role"',
        )}],"tools":${TOOLS},"tool_choice":{"type":"custom","name":"c"},"metadata":{"k":"\\u0041"},"max_tool_calls":3,"text":{"verbosity":"low"},"prompt_cache_key":"k","max_output_tokens":400,"store":false,"include":["reasoning.encrypted_content"]}`,
    )
  })
})

describe('a request to a seller of responses', () => {
  it.each([
    { type: 'web_search' },
    { type: 'web_search_preview' },
    { type: 'file_search', vector_store_ids: ['v'] },
    { type: 'code_interpreter', container: { type: 'auto' } },
    { type: 'image_generation' },
    { type: 'mcp', server_label: 's', server_url: 'https://s.example' },
    { type: 'computer_use_preview' },
    { type: 'shell', environment: { type: 'container_auto' } },
    { type: 'shell' },
    { type: 'tool_search' },
    { type: 'later_tool' },
    { type: 'namespace', name: 'n', description: 'd', tools: [{ type: 'web_search' }] },
  ])('has no tool that runs at the provider: $type', (tool) => {
    const own = { type: 'function', name: 'f', parameters: { type: 'object' } }
    const ask = { model: 'gpt-5-mini', input: 'hi', tools: [own, tool], tool_choice: { type: tool.type } }
    const { body, adaptedParams } = sent(JSON.stringify(ask))
    expect(JSON.parse(body)).toMatchObject({ tools: [own] })
    expect(JSON.parse(body)).not.toHaveProperty('tool_choice')
    expect(adaptedParams).toEqual(expect.arrayContaining(['tools', 'tool_choice']))
    const added = [
      { role: 'user', content: 'hi' },
      { type: 'additional_tools', tools: [tool] },
    ]
    expect(sent(JSON.stringify({ model: 'gpt-5-mini', input: added })).body).not.toContain(`"${tool.type}"`)
  })

  it('has no tool that waits to be found without a search for tools', () => {
    const later = { type: 'function', name: 'f', parameters: { type: 'object' }, defer_loading: true }
    const { defer_loading: _, ...atHand } = later
    const group = (inner: object) => ({ type: 'namespace', name: 'n', description: 'd', tools: [inner] })
    const asked = (tools: readonly object[]) => {
      const { body, adaptedParams } = sent(
        JSON.stringify({ model: 'gpt-5-mini', input: 'hi', tools, max_output_tokens: 400 }),
      )
      return [JSON.parse(body).tools, adaptedParams]
    }
    const hosted = { type: 'tool_search' }
    const left = ['tools', 'tools.tool_search', 'tools.defer_loading']
    expect(asked([hosted, later])).toEqual([[atHand], left])
    expect(asked([hosted, group(later)])).toEqual([[group(atHand)], left])
    expect(asked([later])).toEqual([[atHand], ['tools.defer_loading']])
    const own = { type: 'tool_search', execution: 'client', description: 'd', parameters: { type: 'object' } }
    expect(asked([own, later, group(later)])).toEqual([[own, later, group(later)], []])
    expect(asked([own, later, { type: 'web_search' }])).toEqual([
      [own, later],
      ['tools', 'tools.web_search'],
    ])
  })

  it.each([
    ['local_shell_call_output', 'output'],
    ['apply_patch_call_output', 'output'],
    ['function_call', 'content'],
    ['message', 'output'],
  ])('has no unread and uncounted parts of %s', (type, member) => {
    const part = { type: 'input_file', file_url: 'https://a.example/a.pdf', prompt_cache_breakpoint: { ttl: '12h' } }
    const item = { call_id: 'c', name: 'f', arguments: '{}', role: 'user', content: 'hi', type, [member]: [part] }
    const { body } = sent(JSON.stringify({ model: 'gpt-5-mini', input: [{ role: 'user', content: 'hi' }, item] }))
    expect(body).not.toContain('prompt_cache_breakpoint')
  })

  it.each([
    [{ prompt_cache_breakpoint: { ttl: '12h' } }, 'prompt_cache_breakpoint'],
    [{ cache_control: { type: 'ephemeral', ttl: '1h' } }, 'cache_control'],
  ])('has no mark of an unpriced prompt cache: %s', (mark, name) => {
    const part = { type: 'input_text', text: 'hi', ...mark }
    const inputs = [
      [{ role: 'user', content: [part] }],
      [{ role: 'user', content: 'hi', ...mark }],
      [
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: [part] },
      ],
    ]
    for (const input of inputs) expect(sent(JSON.stringify({ model: 'gpt-5-mini', input })).body).not.toContain(name)
    const tools = [{ type: 'function', name: 'f', parameters: { type: 'object' }, ...mark }]
    expect(sent(JSON.stringify({ model: 'gpt-5-mini', input: 'hi', tools })).body).not.toContain(name)
  })

  it.each([
    ['shell_call', { call_id: 'c', action: { commands: ['ls'] }, environment: { type: 'container_reference' } }],
    ['web_search_call', { id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } }],
    ['mcp_list_tools', { id: 'mcpl_1', server_label: 's', tools: [] }],
    ['item_reference', { id: 'rs_1' }],
  ])('has no item of a tool or a state at the provider: %s', (type, members) => {
    const input = [
      { role: 'user', content: 'hi' },
      { type, ...members },
    ]
    const { body } = sent(JSON.stringify({ model: 'gpt-5-mini', input }))
    expect(body).not.toMatch(/container_reference|web_search_call|mcp_list_tools|item_reference/)
  })

  it('has no part and no member of a part that the provider would refuse', () => {
    const chats = [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }]
    const { body } = sent(JSON.stringify({ model: 'gpt-5-mini', input: chats }))
    expect(dataOf(JSON.parse(body), 'input', '0', 'content')).not.toMatchObject([{ type: 'text' }])
    const part = { type: 'output_text', text: 'So.', annotations: [], logprobs: [] }
    const message = { type: 'message', role: 'assistant', content: [{ ...part, parsed: { a: 1 } }] }
    const input = [message, { role: 'user', content: 'on' }]
    expect(JSON.parse(sent(JSON.stringify({ model: 'gpt-5-mini', input })).body)).toMatchObject({
      input: [{ type: 'message', role: 'assistant', content: [part] }, input[1]],
    })
    expect(sent(JSON.stringify({ model: 'gpt-5-mini', input })).body).not.toContain('parsed')
  })

  it('has the output limit of its plan, which is below the buyer’s', () => {
    const { body, adaptedParams } = sent('{"model":"gpt-5-mini","input":"hi","max_output_tokens":9000}')
    expect(body.match(/max_output_tokens":\d+/g)).toEqual(['max_output_tokens":400'])
    expect(adaptedParams).toEqual(['max_output_tokens'])
  })

  it.each([
    ['priority', 'priority'],
    ['scale', undefined],
    ['auto', undefined],
  ])('has a tier only where its price is known: %s', (tier, heard) => {
    const { body } = sent(JSON.stringify({ model: 'gpt-5-mini', input: 'hi', service_tier: tier }))
    expect(JSON.parse(body).service_tier).toBe(heard)
  })

  it('has no seal of another maker in the id of a call', () => {
    const plan = responsesPlan()
    const callId = withSeal('c1', plan.seal.close('another', { kind: 'call', members: { secret: 'sig' } }))
    const input = [
      { type: 'function_call', call_id: callId, name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: callId, output: 'ok' },
    ]
    const { body, adaptedParams } = sent(JSON.stringify({ model: 'gpt-5-mini', input, max_output_tokens: 400 }), plan)
    expect(JSON.parse(body)).toMatchObject({ input: [{ call_id: 'c1' }, { call_id: 'c1' }] })
    expect(adaptedParams).toEqual(['input.function_call'])
  })

  it('leaves out and names unknown members, unless the seller allows them', () => {
    const text = JSON.stringify({
      model: 'gpt-5-mini',
      input: 'hi',
      later: { a: 1 },
      seed: 5,
      truncation: 'auto',
      max_output_tokens: 400,
    })
    const { body, adaptedParams } = sent(text)
    expect(JSON.parse(body)).not.toHaveProperty('later')
    expect(adaptedParams).toEqual(['later', 'seed', 'truncation'])
    const offer = offerOf({ apiFormat: 'responses', passes: ['unknown'] })
    const allowed = sent(text, responsesPlan('responses', { offer }))
    expect(JSON.parse(allowed.body)).toMatchObject({ later: { a: 1 } })
    expect(allowed.adaptedParams).toEqual(['seed', 'truncation'])
  })

  it('has the thoughts of its own account as that account sealed them, and no other’s', () => {
    const plan = responsesPlan()
    const seal = (maker: string) =>
      plan.seal.close(maker, { kind: 'thought', text: 't', details: [encryptedDetail('gAAA')] })
    const thought = (sealed: string) => ({ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: sealed })
    // A client adds its parsed members to a received item.
    const bare = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
    const call = { ...bare, id: 'fc_1', parsed_arguments: {} }
    const output = { type: 'function_call_output', call_id: 'c', output: 'ok' }
    const ask = (sealed: string) => {
      const input = [{ role: 'user', content: 'hi' }, thought(sealed), call, output, thought(sealed)]
      return sent(JSON.stringify({ model: 'gpt-5-mini', input, max_output_tokens: 400 }), plan)
    }
    const own = ask(seal(makerOf(plan.offer)))
    expect(own.adaptedParams).toEqual([])
    expect(dataOf(JSON.parse(own.body), 'input')).toEqual([
      { role: 'user', content: 'hi' },
      { type: 'reasoning', summary: [], encrypted_content: 'gAAA' },
      bare,
      output,
    ])
    for (const foreign of [seal('another'), 'gAAAA-of-somebody']) {
      const { body, adaptedParams } = ask(foreign)
      expect(body).not.toContain('"reasoning","')
      expect(adaptedParams).toEqual(['input.reasoning'])
    }
  })
})
