import type { Reply } from './reply.ts'

/** The tool of the messages protocol that searches the web at the provider. */
export const SEARCH_TYPE = /^web_search_\d{8}$/

/** Tokens of the page that the sample search finds. */
const PAGE_TOKENS = 1_200
const OUTPUT_TOKENS = 18
const PAGE = { url: 'https://tides.example/today', title: 'Tides of today' }

/** An answer's own facts, and whether it streams. */
export type SearchCall = {
  readonly id: string
  readonly model: string
  readonly inputTokens: number
  readonly isStreamed: boolean
}

/** Responds to a request whose tools search: one search, its result, and a text that cites it. */
export async function serveSearch({ id, model, inputTokens, isStreamed }: SearchCall, reply: Reply): Promise<void> {
  const head = { id, type: 'message', role: 'assistant', model }
  const usage = {
    input_tokens: inputTokens + PAGE_TOKENS,
    output_tokens: OUTPUT_TOKENS,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
    server_tool_use: { web_search_requests: 1 },
  }
  const end = { stop_reason: 'end_turn', stop_sequence: null }
  if (!isStreamed) return reply.json(200, { ...head, content: CONTENT, ...end, usage })
  reply.openStream()
  const opening = { ...usage, output_tokens: 1, server_tool_use: undefined }
  await send(reply, 'message_start', { message: { ...head, content: [], stop_reason: null, usage: opening } })
  for (const [index, block] of CONTENT.entries()) {
    await send(reply, 'content_block_start', { index, content_block: openingOf(block) })
    for (const delta of deltasOf(block)) await send(reply, 'content_block_delta', { index, delta })
    await send(reply, 'content_block_stop', { index })
  }
  await send(reply, 'message_delta', { delta: end, usage })
  await send(reply, 'message_stop', {})
  reply.end()
}

const CITATION = {
  type: 'web_search_result_location',
  ...PAGE,
  encrypted_index: 'c2FtcGxlLWluZGV4',
  cited_text: 'High water is at six.',
}

const CONTENT = [
  { type: 'server_tool_use', id: 'srvtoolu_sample', name: 'web_search', input: { query: 'tides of today' } },
  {
    type: 'web_search_tool_result',
    tool_use_id: 'srvtoolu_sample',
    content: [{ type: 'web_search_result', ...PAGE, encrypted_content: 'c2FtcGxlLXBhZ2U=', page_age: null }],
  },
  { type: 'text', text: 'High water is at six.', citations: [CITATION] },
] as const
type SampleBlock = (typeof CONTENT)[number]

function openingOf(block: SampleBlock): object {
  switch (block.type) {
    case 'server_tool_use':
      return { ...block, input: {} }
    case 'text':
      return { ...block, text: '', citations: [] }
    default:
      return block
  }
}

function deltasOf(block: SampleBlock): readonly object[] {
  switch (block.type) {
    case 'server_tool_use':
      return [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }]
    case 'text':
      return [
        ...block.citations.map((citation) => ({ type: 'citations_delta', citation })),
        { type: 'text_delta', text: block.text },
      ]
    default:
      return []
  }
}

function send(reply: Reply, type: string, members: object): Promise<void> {
  return reply.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`)
}
