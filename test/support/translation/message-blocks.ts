import type Anthropic from '@anthropic-ai/sdk'
import { beforeAll, describe, expect, it } from 'vitest'
import { askedWith } from '#test/support/market/asked-with.ts'
import type { Network } from '#test/support/market/network.ts'
import { Adapted, at, SELLERS } from './asked.ts'

type Running = { readonly messages: Anthropic; readonly network: Network }
type Turn = Anthropic.MessageParam

const MODEL = 'gpt-5-mini'
const RESULT = {
  type: 'search_result' as const,
  source: 'https://a.invalid/rome',
  title: 'On Rome',
  content: [{ type: 'text' as const, text: 'Rome has seven hills.' }],
}
const CALL = { type: 'server_tool_use' as const, id: 'srvtoolu_1', name: 'web_search' as const, input: { query: 'x' } }
const FOUND = {
  type: 'web_search_tool_result' as const,
  tool_use_id: 'srvtoolu_1',
  content: [
    { type: 'web_search_result' as const, url: 'https://a.invalid', title: 'A', encrypted_content: 'sealed-content' },
  ],
}
const TOOL = { name: 'find_tool', input_schema: { type: 'object' as const } }

/** A conversation with a block of each kind. `word` distinguishes its requests from others. */
function turnsWith(word: string): Turn[] {
  return [
    { role: 'user', content: [{ type: 'text', text: `How many hills? ${word}` }, RESULT] },
    { role: 'assistant', content: [CALL, FOUND, { type: 'text', text: 'Seven.' }] },
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Which tool is there?' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'find_tool', input: {} }] },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 'toolu_1',
          content: [{ type: 'tool_reference', tool_name: 'get_weather' }, RESULT],
        },
      ],
    },
  ]
}

/** The blocks of the current client, at providers of both protocols. */
export function messageBlocks(running: () => Running): void {
  let messages: Anthropic
  let network: Network
  beforeAll(() => {
    ;({ messages, network } = running())
  })

  describe.each(SELLERS)('at %s', (provider) => {
    const isSame = provider === 'sandbox-e'

    it.each([false, true])('are accepted, streamed: %s', async (isStreamed) => {
      const word = `blocks-${provider}-${isStreamed}`
      const body = at(provider, { model: MODEL, max_tokens: 60, messages: turnsWith(word), tools: [TOOL] })
      const answer = isStreamed
        ? await messages.messages.stream(body).finalMessage()
        : await messages.messages.create(body)
      expect(answer.content.length).toBeGreaterThan(0)
      const [asked] = await askedWith(network, word)
      const text = JSON.stringify(asked?.body)
      expect(text).toContain('Rome has seven hills.')
      expect(text).toContain('https://a.invalid/rome')
      expect(text).toContain('Be brief.')
      for (const kept of ['server_tool_use', 'sealed-content', 'tool_reference', '"role":"system","content":"Be']) {
        if (isSame) expect(text).toContain(JSON.stringify(kept).slice(1, -1).replaceAll('\\"', '"'))
      }
      if (!isSame) expect(text).not.toContain('sealed-content')
      if (isStreamed) return
      const adapted = Adapted.parse(answer).usage.adapted_params ?? []
      for (const kind of ['server_tool_use', 'web_search_tool_result', 'tool_reference']) {
        expect(adapted.includes(`messages.${kind}`)).toBe(!isSame)
      }
    })

    it('are left out and named when only a beta version knows them', async () => {
      const beta: Anthropic.Beta.BetaMessageParam[] = [
        { role: 'user', content: 'Look it up.' },
        {
          role: 'assistant',
          content: [
            { type: 'compaction', content: 'They spoke of Rome.' },
            { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'look', server_name: 'files', input: {} },
            { type: 'mcp_tool_result', tool_use_id: 'mcptoolu_1', content: 'unseen' },
          ],
        },
        { role: 'user', content: `What did you find, beta-${provider}?` },
      ]
      const body = at(provider, { model: MODEL, max_tokens: 60, messages: beta })
      const answer = await messages.beta.messages.create(body)
      const adapted = Adapted.parse(answer).usage.adapted_params
      for (const kind of ['mcp_tool_use', 'mcp_tool_result', 'compaction'])
        expect(adapted).toContain(`messages.${kind}`)
      const [asked] = await askedWith(network, `beta-${provider}`)
      expect(JSON.stringify(asked?.body)).toContain('They spoke of Rome.')
      expect(JSON.stringify(asked?.body)).not.toContain('unseen')
    })

    it('are refused when they name a file of one account, or cannot be read', async () => {
      const refused = async (block: Anthropic.Beta.BetaContentBlockParam) => {
        const turns: Anthropic.Beta.BetaMessageParam[] = [{ role: 'user', content: [block] }]
        await expect(
          messages.beta.messages.create(at(provider, { model: MODEL, max_tokens: 60, messages: turns })),
        ).rejects.toMatchObject({ status: 400 })
      }
      await refused({ type: 'container_upload', file_id: 'file_1' })
      await refused({ type: 'compaction', content: null, encrypted_content: 'sealed' })
    })
  })
}
