import { describe, expect, it } from 'vitest'
import { readArgumentText } from '#shared/protocols/middle-form/argument-text.ts'
import { processorMs } from '#test/support/run/processor-ms.ts'

const PATCH = '*** Begin Patch\n@@ "quoted" \\ \u0001 é 🌍\t\r\n+}{"input":"x"}\n*** End Patch\n'

function readCut(text: string, size: number): { readonly whole: string; readonly pieces: readonly string[] } {
  const reader = readArgumentText('input')
  const pieces: string[] = []
  for (let at = 0; at < text.length; at += size) pieces.push(reader.take(text.slice(at, at + size)))
  pieces.push(reader.end())
  return { whole: pieces.join(''), pieces }
}

/** Writes every character as an escape, as some providers do for characters outside ASCII. */
function escaped(text: string): string {
  return [...Array(text.length).keys()].map((at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')
}

describe('the text argument of a call', () => {
  it.each([
    ['as JSON', JSON.stringify({ input: PATCH })],
    ['with spaces', ` { "input" : ${JSON.stringify(PATCH)} } `],
    ['in escapes', `{"input":"${escaped(PATCH)}"}`],
    ['before others', JSON.stringify({ input: PATCH, reason: 'none' })],
    ['behind others', JSON.stringify({ reason: 'none', input: PATCH })],
    ['bare', PATCH],
  ])('is the same wherever the pieces are cut: %s', (_name, text) => {
    for (let size = 1; size <= text.length; size++) {
      const { whole, pieces } = readCut(text, size)
      expect(whole).toBe(PATCH)
      // `encodeURIComponent` throws for half of a surrogate pair.
      expect(() => pieces.map(encodeURIComponent)).not.toThrow()
    }
  })

  it('is streamed while the provider still writes the call', () => {
    const { pieces } = readCut(JSON.stringify({ input: 'a'.repeat(100) }), 10)
    expect(pieces.filter((piece) => piece !== '').length).toBeGreaterThan(8)
  })

  it.each([
    ['nothing', '', ''],
    ['no arguments', '{}', ''],
    ['a value that is not a string', '{"input":{"a":1}}', '{"a":1}'],
    ['another member', '{"patch":"x"}', '{"patch":"x"}'],
    ['a string that was cut off', '{"input":"half a w', 'half a w'],
  ])('of %s', (_name, text, expected) => {
    expect(readCut(text, 3).whole).toBe(expected)
  })

  it('is found in time linear in its length', () => {
    const reader = readArgumentText('input')
    const takenMs = processorMs(() => {
      for (let at = 0; at < 20_000; at++) reader.take(' '.repeat(100))
      expect(reader.end().trim()).toBe('')
    })
    expect(takenMs).toBeLessThan(2_000)
  })
})
