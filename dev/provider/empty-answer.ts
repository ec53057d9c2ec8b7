import { readConverseCall } from './bedrock-call.ts'

/** An answer without content, in the protocol of a path. */
export function emptyAnswer(path: string): object {
  if (readConverseCall(path) !== undefined) {
    const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
    return { output: { message: { role: 'assistant', content: [] } }, stopReason: 'max_tokens', usage }
  }
  if (path === '/v1/messages') return { type: 'message', role: 'assistant', content: [] }
  return path === '/v1/responses'
    ? { object: 'response', status: 'completed', error: null, output: [] }
    : { choices: [] }
}
