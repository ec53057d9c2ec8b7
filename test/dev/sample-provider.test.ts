import { request as httpRequest } from 'node:http'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BEHAVIOURS } from '#dev/provider/behaviours.ts'
import type { SampleProvider } from '#dev/provider/server.ts'
import { createSampleProvider } from '#dev/provider/server.ts'

let provider: SampleProvider
let client: OpenAI

beforeAll(async () => {
  provider = await createSampleProvider({ host: '127.0.0.1', port: 0, name: 'sandbox' })
  client = new OpenAI({ apiKey: 'sk-dev', baseURL: provider.url, maxRetries: 0 })
})
afterAll(() => provider.close())

const ask = (model: string, content = 'Say something short.') =>
  client.chat.completions.create({ model, messages: [{ role: 'user', content }] })

async function streamText(model: string, content = 'Say something short.') {
  const stream = await client.chat.completions.create({
    model,
    messages: [{ role: 'user', content }],
    stream: true,
    stream_options: { include_usage: true },
  })
  let text = ''
  let usage: OpenAI.CompletionUsage | undefined
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? ''
    usage = chunk.usage ?? usage
  }
  return { text, usage }
}

/** The reply as bytes, with whether the connection broke. */
function rawPost(model: string, isStream: boolean) {
  return new Promise<{ status: number; headers: object; bytes: Buffer; isCut: boolean }>((resolve) => {
    const headers = { authorization: 'Bearer sk-dev', 'content-type': 'application/json' }
    const sent = httpRequest(`${provider.url}/chat/completions`, { method: 'POST', headers }, (reply) => {
      const chunks: Buffer[] = []
      const finish = () =>
        resolve({
          status: reply.statusCode ?? 0,
          headers: reply.headers,
          bytes: Buffer.concat(chunks),
          isCut: !reply.complete,
        })
      reply.on('data', (chunk: Buffer) => chunks.push(chunk))
      reply.on('error', () => undefined)
      reply.on('close', finish)
    })
    sent.on('error', () => resolve({ status: 0, headers: {}, bytes: Buffer.alloc(0), isCut: true }))
    sent.end(JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello there' }], stream: isStream }))
  })
}

describe('the sample provider', () => {
  it('answers the same request in the same way, whole and streamed, with equal usage', async () => {
    const whole = await ask('gpt-5-mini')
    const streamed = await streamText('gpt-5-mini')
    expect(streamed.text).toBe(whole.choices[0]?.message.content)
    expect(streamed.usage).toEqual(whole.usage)
    expect(whole.usage?.prompt_tokens).toBe(5)
  })

  it('obeys max_tokens, stop and a requested number of words', async () => {
    const messages = [{ role: 'user' as const, content: 'Write 500 words.' }]
    const long = await client.chat.completions.create({ model: 'm', messages })
    expect(long.choices[0]?.message.content?.split(' ')).toHaveLength(500)
    const short = await client.chat.completions.create({ model: 'm', messages, max_tokens: 7 })
    expect(short.choices[0]?.finish_reason).toBe('length')
    expect(short.usage?.completion_tokens).toBe(7)
    const stopped = await client.chat.completions.create({ model: 'm', messages, stop: ['500'] })
    expect(stopped.choices[0]?.message.content).not.toContain('500')
  })

  it('calls a required tool with arguments of the right types', async () => {
    const parameters = {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer' }, units: { enum: ['metric', 'imperial'] } },
    }
    const answer = await client.chat.completions.create({
      model: 'm',
      messages: [{ role: 'user', content: 'Oslo' }],
      tools: [{ type: 'function', function: { name: 'get_weather', parameters } }],
      tool_choice: 'required',
    })
    const call = answer.choices[0]?.message.tool_calls?.[0]
    expect(answer.choices[0]?.finish_reason).toBe('tool_calls')
    expect(call?.type === 'function' && JSON.parse(call.function.arguments)).toEqual({
      city: 'Oslo',
      days: 1,
      units: 'metric',
    })
  })

  it('returns as many choices as requested, with probabilities on request, whole and streamed', async () => {
    const fault = {
      model: 'm',
      messages: [{ role: 'user' as const, content: 'Hello there' }],
      n: 3,
      logprobs: true,
      top_logprobs: 2,
      max_tokens: 5,
    }
    const { choices, usage } = await client.chat.completions.create(fault)
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2])
    expect(usage?.completion_tokens).toBe(15)
    const content = choices[2]?.logprobs?.content ?? []
    expect(content.map(({ token }) => token).join('')).toBe(choices[2]?.message.content)
    expect(content[0]?.top_logprobs).toHaveLength(2)
    const texts = ['', '', '']
    let probable = 0
    for await (const chunk of await client.chat.completions.create({ ...fault, stream: true })) {
      for (const { index, delta, logprobs } of chunk.choices) {
        texts[index] += delta.content ?? ''
        probable += logprobs?.content?.length ?? 0
      }
    }
    expect(texts).toEqual(choices.map(({ message }) => message.content))
    expect(probable).toBe(15)
  })

  it('calls the tool of a choice also after the answer of a tool, and no tool without a name in the prompt', async () => {
    const call = { id: 'call_1', type: 'function' as const, function: { name: 'get_weather', arguments: '{}' } }
    const ask = async (tool_choice: OpenAI.ChatCompletionToolChoiceOption) => {
      const answer = await client.chat.completions.create({
        model: 'm',
        messages: [
          { role: 'user', content: 'Use the weather tool.' },
          { role: 'assistant', content: null, tool_calls: [call] },
          { role: 'tool', tool_call_id: 'call_1', content: '31 degrees' },
        ],
        tools: [
          { type: 'function', function: { name: 'get_weather', parameters: { type: 'object', properties: {} } } },
        ],
        tool_choice,
      })
      return answer.choices[0]?.finish_reason
    }
    expect(await ask({ type: 'function', function: { name: 'get_weather' } })).toBe('tool_calls')
    expect(await ask('required')).toBe('tool_calls')
    expect(await ask('auto')).toBe('stop')
  })

  it('refuses a model that it does not have, on every path', async () => {
    const few = await createSampleProvider({
      host: '127.0.0.1',
      port: 0,
      name: 'few',
      hasModel: (name) => name === 'gpt-5-mini',
    })
    const ask = async (path: string, model: string, fields: object) => {
      const answer = await fetch(few.url + path, {
        method: 'POST',
        headers: { authorization: 'Bearer sk-dev', 'x-api-key': 'sk-dev', 'anthropic-version': '2023-06-01' },
        body: JSON.stringify({ model, ...fields }),
      })
      return [answer.status, /model_not_found|not_found_error/.exec(await answer.text())?.[0]]
    }
    const messages = [{ role: 'user', content: 'Hello' }]
    for (const [path, fields, code] of [
      ['/chat/completions', { messages }, 'model_not_found'],
      ['/completions', { prompt: 'x' }, 'model_not_found'],
      ['/embeddings', { input: 'x' }, 'model_not_found'],
      ['/messages', { messages, max_tokens: 5 }, 'not_found_error'],
    ] as const) {
      expect([path, await ask(path, 'gpt-nothing', fields)]).toEqual([path, [404, code]])
      expect([path, await ask(path, 'gpt-5-mini', fields)]).toEqual([path, [200, undefined]])
      expect([path, await ask(path, 'sandbox/echo', fields)]).toEqual([path, [200, undefined]])
    }
    await few.close()
  })

  it('refuses a bad key and a missing one', async () => {
    const bad = new OpenAI({ apiKey: 'sk-bad-one', baseURL: provider.url, maxRetries: 0 })
    await expect(bad.models.list()).rejects.toMatchObject({ status: 401 })
    expect((await fetch(`${provider.url}/models`)).status).toBe(401)
  })

  it('remembers a long prompt', async () => {
    const prompt = 'All work and no play. '.repeat(400)
    const first = await ask('cache-test', prompt)
    const second = await ask('cache-test', `${prompt} More.`)
    expect(first.usage?.prompt_tokens_details?.cached_tokens).toBe(0)
    expect(second.usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThanOrEqual(1_024)
  })

  it('lets any model follow a behaviour for a number of calls, and shows its received requests', async () => {
    const admin = provider.url.replace('/v1', '/__sandbox')
    await fetch(`${admin}/reset`, { method: 'POST' })
    const fault = { model: 'gpt-5-mini', behaviour: 'rate-limited', times: 1 }
    expect((await fetch(`${admin}/behave`, { method: 'POST', body: JSON.stringify(fault) })).status).toBe(200)
    await expect(ask('gpt-5-mini')).rejects.toMatchObject({ status: 429 })
    await ask('gpt-5-mini')
    expect(provider.requests.count()).toBe(2)
    expect(provider.requests.list()[1]).toMatchObject({ method: 'POST', path: '/v1/chat/completions' })
  })

  it('names its behaviours and lists them as models', async () => {
    const listed = (await client.models.list()).data.map((model) => model.id)
    expect(listed).toEqual(expect.arrayContaining(Object.keys(BEHAVIOURS).map((name) => `sandbox/${name}`)))
  })

  it.each([
    ['rate-limited', 429],
    ['overloaded', 529],
    ['server-error', 500],
    ['unauthorized', 401],
    ['context-overflow', 400],
    ['bad-request', 400],
    ['redirect', 302],
    ['html-in-200', 200],
    ['error-in-200', 200],
  ])('sandbox/%s answers %i', async (name, status) => {
    expect((await rawPost(`sandbox/${name}`, false)).status).toBe(status)
  })

  it('survives a client that disconnects between the last words and the break', async () => {
    const left = await new Promise<boolean>((resolve) => {
      const headers = { 'x-api-key': 'sk-dev', 'anthropic-version': '2023-06-01', 'content-type': 'application/json' }
      const sent = httpRequest(`${provider.url}/messages`, { method: 'POST', headers }, (reply) => {
        reply.once('data', () => reply.destroy())
        reply.on('close', () => resolve(!reply.complete))
        reply.on('error', () => undefined)
      })
      const messages = [{ role: 'user', content: 'Hello there' }]
      sent.end(JSON.stringify({ model: 'sandbox/cut-mid-stream', max_tokens: 40, messages }))
    })
    expect(left).toBe(true)
    expect((await ask('sandbox/echo')).choices).toHaveLength(1)
  })

  it('misbehaves as documented', async () => {
    expect((await streamText('sandbox/echo', 'Grüße 🌍')).text).toBe('Grüße 🌍')
    expect((await streamText('sandbox/split-utf8')).text).toContain('你好，世界 🌍🚀')
    expect((await streamText('sandbox/empty')).text).toBe('')
    expect((await ask('sandbox/usage-missing')).usage).toBeUndefined()
    expect((await ask('sandbox/wrong-model')).model).toBe('some-other-model-9000')
    for (const isStream of [true, false]) {
      expect((await rawPost('sandbox/cut-mid-stream', isStream)).isCut).toBe(true)
      expect((await rawPost('sandbox/cut-before-content', isStream)).isCut).toBe(true)
      expect((await rawPost('sandbox/big-line', isStream)).bytes.length).toBeGreaterThan(1_048_576)
    }
    expect((await rawPost('sandbox/gzip-bomb', false)).headers).toHaveProperty('content-encoding', 'gzip')
    expect((await rawPost('sandbox/refuse-headers', false)).headers).toHaveProperty('x-mkt-buyer-cost-micro', '0')
    expect(String((await rawPost('sandbox/crlf-injection', true)).bytes)).toMatch(/retry: 0[\s\S]*after the end/)
  })

  it('stops an endless answer when the client disconnects', async () => {
    const controller = new AbortController()
    const reply = await fetch(`${provider.url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk-dev' },
      body: JSON.stringify({ model: 'sandbox/endless', stream: true, messages: [{ role: 'user', content: 'go' }] }),
      signal: controller.signal,
    })
    const reader = reply.body?.getReader()
    await reader?.read()
    controller.abort()
    await expect(reader?.read()).rejects.toThrow()
  })
})
