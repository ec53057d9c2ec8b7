import { expect } from 'vitest'
import type { Receipt } from '#data-plane/call.ts'
import { microUsd } from '#shared/money.ts'

/** The charge of the answer. */
export const RECEIPT: Receipt = {
  chargeMicro: microUsd(38),
  listMicro: microUsd(75),
  listInputMicro: microUsd(25),
  usage: { input: 8, cacheRead: 4, output: 5, reasoning: 1 },
}

/** The frames of a stream, each parsed. The end mark stays a string. */
export function framesOf(text: string): unknown[] {
  return text
    .split('\n\n')
    .filter((part) => part !== '')
    .map((part) => {
      expect(part).toMatch(/^data: [^\n\r]*$/)
      return part === 'data: [DONE]' ? 'done' : JSON.parse(part.slice(6))
    })
}
