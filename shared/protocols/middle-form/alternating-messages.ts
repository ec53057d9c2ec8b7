import type { ConversationTurn } from './conversation.ts'

/**
 * The list of messages of a protocol that begins with the user and refuses two successive messages of one role, as JSON
 * text. `blocksOf` writes the parts of a turn, and returns none for an empty turn. `opening` is the user's block in
 * front of a conversation that is empty or begins with an answer.
 */
export function alternatingMessages(
  turns: readonly ConversationTurn[],
  opening: string,
  blocksOf: (turn: ConversationTurn, isLast: boolean) => string,
): string {
  const messages: { readonly role: string; blocks: string }[] = []
  if (turns[0]?.role === 'assistant') messages.push({ role: 'user', blocks: opening })
  for (const [index, turn] of turns.entries()) {
    const blocks = blocksOf(turn, index === turns.length - 1)
    if (blocks === '') continue
    const before = messages.at(-1)
    if (before?.role === turn.role) before.blocks += `,${blocks}`
    else messages.push({ role: turn.role, blocks })
  }
  // Such a protocol refuses a list without a message.
  if (messages.length === 0) messages.push({ role: 'user', blocks: opening })
  return `[${messages.map(({ role, blocks }) => `{"role":"${role}","content":[${blocks}]}`).join(',')}]`
}
