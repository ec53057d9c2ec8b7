import { expect } from 'vitest'
import { z } from 'zod'
import type { Answer, TestMarket } from './control-plane.ts'

/** A challenge in the form of the door's answer. */
export const PasskeyAsked = z.object({
  challenge: z.string(),
  rp_id: z.string(),
  user: z.string().nullable(),
  exclude: z.array(z.string()),
})

/** The cookies that an answer sets, by name. */
function cookiesOf({ headers }: Answer): Map<string, string> {
  return new Map(
    headers.getSetCookie().map((line) => {
      const [name = '', value = ''] = line.split(';', 1)[0]?.split('=') ?? []
      return [name, value]
    }),
  )
}

export type PasskeyBrowser = ReturnType<typeof newPasskeyBrowser>

/** A browser on a page of a market. It keeps the cookies of every answer. */
export function newPasskeyBrowser(market: Pick<TestMarket, 'rest'>, origin: string) {
  const cookies = new Map<string, string>()
  /** The headers of the browser's next request. */
  const headers = () => ({
    cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    origin,
    'graphql-require-preflight': '1',
  })
  const send = async (method: string, path: string, body?: object) => {
    const answer = await market.rest(method, path, { headers: headers(), ...(body && { body }) })
    for (const [name, value] of cookiesOf(answer)) cookies.set(name, value)
    return answer
  }
  const challenge = async (purpose: 'sign_up' | 'sign_in' | 'add') => {
    const answer = await send('POST', '/v1/auth/passkeys/challenge', { purpose })
    expect(answer.status).toBe(200)
    return PasskeyAsked.parse(answer.body)
  }
  return { send, challenge, headers, cookies }
}
