import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { toRestError } from '#control-plane/api/errors.ts'
import { parseInput } from '#control-plane/operation/parse-input.ts'
import { AppError } from '#shared/errors.ts'

const INPUT = z.object({
  name: z.string().min(1).max(4),
  baseUrl: z.string(),
  share: z.number().gt(0).max(100),
  count: z.int().min(2).optional(),
  kind: z.enum(['whole', 'part']).optional(),
  isLoud: z.boolean().optional(),
  tags: z.array(z.string()).min(2).max(3).optional(),
  wallet: z.string().regex(/^0x/).optional(),
  label: z.string().max(2, 'a label is short').optional(),
})
const GOOD = { name: 'a', baseUrl: 'b', share: 1 }

function refusalOf(raw: unknown): AppError {
  try {
    parseInput(INPUT, raw)
  } catch (error) {
    if (error instanceof AppError) return error
  }
  throw new Error('the input was accepted')
}

describe('the problem with an input', () => {
  it.each([
    [{ name: undefined }, 'name is required.'],
    [{ name: 5 }, 'name must be a text.'],
    [{ name: null }, 'name is required.'],
    [{ name: '' }, 'name must not be empty.'],
    [{ name: 'abcde' }, 'name must have at most 4 characters.'],
    [{ share: 101 }, 'share must be at most 100.'],
    [{ share: 0 }, 'share must be above 0.'],
    [{ count: 1 }, 'count must be at least 2.'],
    [{ count: 2.5 }, 'count must be a whole number.'],
    [{ kind: 'half' }, 'kind must be whole or part.'],
    [{ isLoud: 'yes' }, 'isLoud must be true or false.'],
    [{ tags: 'a' }, 'tags must be a list.'],
    [{ tags: ['a'] }, 'tags must have at least 2 entries.'],
    [{ tags: ['a', 5] }, 'tags.1 must be a text.'],
    [{ wallet: '1x' }, 'wallet is not valid.'],
    [{ label: 'long' }, 'a label is short'],
  ])('%j: %s', (part, sentence) => {
    expect(refusalOf({ ...GOOD, ...part }).message).toBe(sentence)
  })

  it('names the input itself when it is not an object', () => {
    expect(refusalOf('x')).toMatchObject({ code: 'invalid_request', message: 'The input must be an object.' })
  })

  it('spells names as REST does, in every problem over REST', () => {
    const { body } = toRestError(refusalOf({ ...GOOD, baseUrl: 5, isLoud: 1 }), 'seller', 'r')
    expect(body).toMatchObject({
      error: {
        message: 'base_url must be a text.',
        detail: {
          param: 'base_url',
          problems: [
            { param: 'base_url', message: 'base_url must be a text.' },
            { param: 'is_loud', message: 'is_loud must be true or false.' },
          ],
        },
      },
    })
  })
})
